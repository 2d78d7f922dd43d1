"""What can go wrong: one base class, so that ``except BufferlabError`` catches everything that this package raises on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .sweeps import Sweep

__all__ = [
    "ArgumentError",
    "BufferlabError",
    "BufferlabWarning",
    "ConfigurationError",
    "ConformanceError",
    "ControlError",
    "DomainError",
    "MarkingError",
    "MissingExtraError",
    "PolicyError",
    "Problem",
    "ResultsError",
    "RunError",
    "ScenarioError",
    "SweepError",
    "UnknownNameError",
    "WorkloadError",
]


class BufferlabError(Exception):
    """Base of every error of this package.

    Attributes
    ----------
    message
        What is wrong.
    help
        What to do about it; empty where there is nothing to say.
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message


class ArgumentError(BufferlabError, TypeError, ValueError):
    """An argument of a call is wrong: its type, its range, or a name that nothing has. Nothing was begun.

    >>> import bufferlab
    >>> try:
    ...     bufferlab.repeat("scenarios/star-incast.toml", seeds=-1)
    ... except bufferlab.ArgumentError as error:
    ...     print(error)
    seeds is -1 (int), expected a whole number, 1 or more
    """

    def __init__(self, message: str, help: str = "", argument: str = "") -> None:
        super().__init__(message, help)
        self.args = (message, help, argument)
        self.argument = argument
        """Name of the argument."""


class UnknownNameError(ArgumentError, KeyError):
    """A name that nothing has: of a policy, a metric, an experiment. The help says which one is near.

    >>> import bufferlab
    >>> try:
    ...     bufferlab.policy_info("amb")
    ... except bufferlab.UnknownNameError as error:
    ...     print(error)
    name: there is no policy "amb"
    help: did you mean "abm"?
    """


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario, or to be checked before trusting its numbers."""

    message: str
    """What is wrong, without the key."""
    key: str
    """The dotted key (``switch.policy``, ``workload.0.load``); empty where no key is at fault."""
    file: str | None
    """The file that it is about; ``None`` where it was changed by :meth:`Scenario.set`. A scenario of a dictionary or a text stands in no file: its name in angle
    brackets."""
    line: int | None
    """The line in :attr:`file`, from 1."""
    help: str | None
    """What to do about it."""
    unknown: str | None = None
    """The kind of the name that nothing has (``policy``), where that is what is wrong."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        head = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{head}\nhelp: {self.help}" if self.help else head


class ScenarioError(BufferlabError):
    """A scenario cannot be read: every mistake that one pass can find, each with its place.

    >>> import bufferlab
    >>> try:
    ...     bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="1 parsec").check()
    ... except bufferlab.ScenarioError as error:
    ...     print(error.key)
    duration
    """

    def __init__(self, message: str, help: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, help)
        self.args = (message, help, problems)
        self.problems = problems
        """Everything that is wrong, in the order of the file."""

    @classmethod
    def _of(
        cls, plain: Iterable[tuple[str, str, str | None, int | None, str | None, str | None]]
    ) -> ScenarioError:
        problems = tuple(Problem(*fields) for fields in plain)
        return cls("\n".join(str(problem) for problem in problems), "", problems)

    def _first(self) -> Problem:
        return self.problems[0] if self.problems else Problem(self.message, "", None, None, None)

    @property
    def file(self) -> str | None:
        """The file of the first problem."""
        return self._first().file

    @property
    def line(self) -> int | None:
        """The line of the first problem, from 1."""
        return self._first().line

    @property
    def key(self) -> str:
        """The dotted key of the first problem."""
        return self._first().key


class RunError(BufferlabError):
    """A scenario that was read cannot run, or its run broke off."""


class PolicyError(RunError):
    """An own policy failed while a scenario ran: it raised, answered nonsense, or asked for what no switch can do.

    What it raised is the cause (``__cause__``), so that Python shows its traceback above this one.
    """

    def __init__(
        self,
        message: str,
        help: str = "",
        policy: str = "",
        switch: str = "",
        port: int | None = None,
        priority: int | None = None,
        time_ps: int = 0,
        method: str = "",
        traceback: str = "",
    ) -> None:
        super().__init__(message, help)
        self.args = (message, help, policy, switch, port, priority, time_ps, method, traceback)
        self.policy = policy
        """Its name."""
        self.switch = switch
        """Name of the switch."""
        self.port = port
        """Egress port of the queue that it was called for; ``None`` where the call was about no queue."""
        self.priority = priority
        """Priority of that queue."""
        self.time_ps = time_ps
        """Simulated time (ps)."""
        self.method = method
        """Which of its methods it was."""
        self.traceback = traceback
        """What it raised, as text: it survives the way from another process. Empty if it raised nothing."""


class MarkingError(RunError):
    """An own marking rule failed while a scenario ran: it raised, or answered neither ``True`` nor ``False``.

    What it raised is the cause (``__cause__``), so that Python shows its traceback above this one.
    """

    def __init__(
        self,
        message: str,
        help: str = "",
        rule: str = "",
        switch: str = "",
        port: int = 0,
        priority: int = 0,
        time_ps: int = 0,
        traceback: str = "",
    ) -> None:
        super().__init__(message, help)
        self.args = (message, help, rule, switch, port, priority, time_ps, traceback)
        self.rule = rule
        """Its name."""
        self.switch = switch
        """Name of the switch."""
        self.port = port
        """Egress port of the packet that it was asked about."""
        self.priority = priority
        """Priority of that packet's queue."""
        self.time_ps = time_ps
        """Simulated time (ps)."""
        self.traceback = traceback
        """What it raised, as text: it survives the way from another process. Empty if it raised nothing."""


class ControlError(RunError):
    """An own congestion control failed while a scenario ran: it raised, or left what is no window.

    What it raised is the cause (``__cause__``), so that Python shows its traceback above this one.
    """

    def __init__(
        self,
        message: str,
        help: str = "",
        control: str = "",
        flow: int = 0,
        src: str = "",
        dst: str = "",
        time_ps: int = 0,
        method: str = "",
        traceback: str = "",
    ) -> None:
        super().__init__(message, help)
        self.args = (message, help, control, flow, src, dst, time_ps, method, traceback)
        self.control = control
        """Its name."""
        self.flow = flow
        """Number of the flow, as in its table."""
        self.src = src
        """Name of the sending host."""
        self.dst = dst
        """Name of the receiving host."""
        self.time_ps = time_ps
        """Simulated time (ps)."""
        self.method = method
        """Which of its methods it was."""
        self.traceback = traceback
        """What it raised, as text: it survives the way from another process. Empty if it raised nothing."""


class WorkloadError(RunError):
    """An own workload could not say what it sends: it raised, or yielded what no network can carry.

    What it raised is the cause (``__cause__``).
    """

    def __init__(self, message: str, help: str = "", workload: str = "", traceback: str = "") -> None:
        super().__init__(message, help)
        self.args = (message, help, workload, traceback)
        self.workload = workload
        """Its name."""
        self.traceback = traceback
        """What it raised, as text. Empty if it raised nothing."""


class ConformanceError(BufferlabError):
    """A policy breaks a promise that every policy keeps."""


class ResultsError(BufferlabError):
    """A folder of results cannot be read, or must not be replaced."""


class SweepError(BufferlabError):
    """Some runs of a sweep failed, or all of them; the others are complete."""

    def __init__(self, failed: Sequence[str], sweep: Sweep | None = None, help: str = "") -> None:
        super().__init__(f"{len(failed)} {'run' if len(failed) == 1 else 'runs'} failed:\n" + "\n".join(failed), help)
        self.args = (tuple(failed), None, help)
        self.failed = tuple(failed)
        """What failed, and why."""
        self.sweep = sweep
        """What is there nevertheless; ``None`` after the error was pickled, if its runs are more than a pickled object carries."""

    def __reduce__(self) -> tuple[Any, ...]:
        # An error must arrive: without results, if they are too large to travel.
        travels = self.sweep is not None and self.sweep._parcel().fits()
        return (type(self), (self.failed, self.sweep if travels else None, self.help))


class DomainError(BufferlabError, ValueError):
    """An input for which the theory has no answer."""

    def __init__(self, input: str, value: float, valid: str) -> None:
        super().__init__(f"{input} is {value:g}, expected {valid}")
        self.args = (input, value, valid)
        self.input = input
        """The argument."""
        self.value = value
        """Its value in the base unit."""
        self.valid = valid
        """The values for which there is an answer."""


class ConfigurationError(BufferlabError):
    """A configuration of a switch cannot be read, or has no answer to a question."""


class MissingExtraError(BufferlabError, ImportError):
    """A library that only some people need is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed", f"pip install 'bufferlab[{extra}]'")
        self.args = (library, extra)


class BufferlabWarning(UserWarning):
    """To be checked before trusting the numbers."""
