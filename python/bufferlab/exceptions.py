"""Exceptions of the package. ``except BufferlabError`` catches every exception of the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._caller import caller_in

if TYPE_CHECKING:
    from .sweeps import Sweep

__all__ = [
    "ArgumentError",
    "BufferlabError",
    "BufferlabWarning",
    "ClassifierError",
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
    """Base class of every error of this package.

    Attributes
    ----------
    message
        Description of the problem.
    help
        Advice to the user; may be empty.

    A traceback ends with a note about the :attr:`caller` (from Python 3.11).
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message, help)
        self.message = message
        self.help = help

    @property
    def caller(self) -> str | None:
        """The line of the user's code whose call of the package failed: ``file:line``, or the cell
        and line of a notebook.

        The line is ``None`` for an error that was not raised, and if no code of a user made the
        call. The pickle of an error contains the line.
        """
        found: str | None = vars(self).get("_caller")
        return caller_in(self.__traceback__) if found is None else found

    def _forget_caller(self) -> None:
        """Forgets the line in a worker's process, because the line of the call in this process
        follows from the traceback."""
        vars(self).pop("_caller", None)

    @property
    def __notes__(self) -> list[str]:
        # The traceback, and so the note, is complete only when Python prints the error.
        notes: list[str] = vars(self).setdefault("_notes", [])
        caller = self.caller
        if caller is not None and (note := f"called at {caller}") not in notes:
            notes.append(note)
        return notes

    @__notes__.setter
    def __notes__(self, notes: list[str]) -> None:
        vars(self)["_notes"] = notes

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self.args, self._state())

    def _state(self) -> dict[str, Any]:
        """The attributes of a pickled error. The note about the caller is written anew."""
        caller = self.caller
        notes = [note for note in vars(self).get("_notes", []) if note != f"called at {caller}"]
        known = {name: value for name, value in (("_caller", caller), ("_notes", notes)) if value}
        return {**{name: value for name, value in vars(self).items() if name != "_notes"}, **known}

    def __str__(self) -> str:
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message


class ArgumentError(BufferlabError, TypeError, ValueError):
    """An argument has a wrong type, is out of range or is an unknown name. The call has started no
    run.

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
        """Name of the argument that has a wrong value."""


class UnknownNameError(ArgumentError, KeyError):
    """The name of a policy, metric or experiment is unknown. The help suggests a similar name.

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
    """A mistake in a scenario, or a warning to check before you trust the scenario's numbers."""

    message: str
    """Description of the problem in the scenario, without the key."""
    key: str
    """The dotted key that has the mistake (``switch.policy``, ``workload.0.load``); empty without a
    key."""
    file: str | None
    """The file with the mistake; ``None`` if :meth:`Scenario.set` set the key.

    For a scenario from a dictionary or text, the name of the scenario in angle brackets.
    """
    line: int | None
    """The line of the mistake in :attr:`file`, from 1."""
    help: str | None
    """Advice on how to solve the problem, or ``None``."""
    unknown: str | None = None
    """The kind of the unknown name (``policy``); ``None`` for other problems."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        head = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{head}\nhelp: {self.help}" if self.help else head


class ScenarioError(BufferlabError):
    """A scenario cannot be read. The error lists all mistakes in the scenario, with their places.

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
        """All mistakes of the scenario, in the order of the file."""

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
        """The file that contains the first problem of the scenario."""
        return self._first().file

    @property
    def line(self) -> int | None:
        """Number of the first problem's line, from 1."""
        return self._first().line

    @property
    def key(self) -> str:
        """The dotted scenario key of the first problem."""
        return self._first().key


class RunError(BufferlabError):
    """A valid scenario cannot run, or its run failed."""


class PolicyError(RunError):
    """A custom policy failed during a run: it raised an exception, or returned an invalid value.

    The ``__cause__`` is the exception that the policy raised, so Python shows its traceback first.
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
        """Name of the policy that failed."""
        self.switch = switch
        """Name of the switch whose policy failed."""
        self.port = port
        """Egress port of the queue in the call; ``None`` for a call without a queue."""
        self.priority = priority
        """Priority of the queue in the call; ``None`` for a call without a queue."""
        self.time_ps = time_ps
        """Simulated time at which the policy failed (ps)."""
        self.method = method
        """Name of the policy's method that raised the error."""
        self.traceback = traceback
        """Traceback of the policy's exception as text, also from another process; empty without
        such an exception."""


class MarkingError(RunError):
    """A custom marking rule failed during a run: it raised an exception, or returned no boolean.

    The ``__cause__`` is the exception of the marking rule, so Python shows its traceback first.
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
        """Name of the marking rule that failed."""
        self.switch = switch
        """Name of the switch whose marking rule failed."""
        self.port = port
        """Egress port of the packet in the failed call."""
        self.priority = priority
        """Priority of the packet's queue in the failed call."""
        self.time_ps = time_ps
        """Simulated time at which the marking rule failed (ps)."""
        self.traceback = traceback
        """Traceback of the marking rule's exception as text, also from another process; empty
        without an exception."""


class ClassifierError(RunError):
    """A custom classifier failed during a run. It raised an exception, or returned no queue of the
    port.

    The ``__cause__`` is the exception of the classifier, so Python shows its traceback first.
    """

    def __init__(
        self,
        message: str,
        help: str = "",
        classifier: str = "",
        switch: str = "",
        flow: int | None = None,
        src: str = "",
        dst: str = "",
        time_ps: int = 0,
        traceback: str = "",
    ) -> None:
        super().__init__(message, help)
        self.args = (message, help, classifier, switch, flow, src, dst, time_ps, traceback)
        self.classifier = classifier
        """Name of the classifier that failed."""
        self.switch = switch
        """Name of the switch whose classifier failed."""
        self.flow = flow
        """Number of the packet's flow, as in the table ``flows``; ``None`` if the failure concerns
        no flow."""
        self.src = src
        """Name of the host that sends the flow."""
        self.dst = dst
        """Name of the host that receives the flow."""
        self.time_ps = time_ps
        """Simulated time at which the classifier failed (ps)."""
        self.traceback = traceback
        """Traceback of the classifier's exception as text, also from another process; empty without
        an exception."""


class ControlError(RunError):
    """A custom congestion control failed during a run. It raised an exception, or set an invalid
    window.

    The ``__cause__`` is the exception of the congestion control, so Python shows its traceback
    first.
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
        """Name of the congestion control that failed."""
        self.flow = flow
        """Number of the flow, as in the table ``flows``."""
        self.src = src
        """Name of the host that sends the flow."""
        self.dst = dst
        """Name of the host that receives the flow."""
        self.time_ps = time_ps
        """Simulated time at which the congestion control failed (ps)."""
        self.method = method
        """Name of the congestion control's method that raised the error."""
        self.traceback = traceback
        """Traceback of the congestion control's exception as text, also from another process; empty
        without such an exception."""


class WorkloadError(RunError):
    """A custom workload failed: it raised an exception, or yielded an invalid flow.

    The ``__cause__`` is the exception that the workload raised.
    """

    def __init__(self, message: str, help: str = "", workload: str = "", traceback: str = "") -> None:
        super().__init__(message, help)
        self.args = (message, help, workload, traceback)
        self.workload = workload
        """Name of the workload that failed."""
        self.traceback = traceback
        """Traceback of the workload's exception as text; empty without an exception."""


class ConformanceError(BufferlabError):
    """A policy violates a claim of the conformance suite."""


class ResultsError(BufferlabError):
    """A folder of results cannot be read, or would be overwritten without permission."""


class SweepError(BufferlabError):
    """Some or all runs of a sweep failed; all other runs are complete."""

    def __init__(self, failed: Sequence[str], sweep: Sweep | None = None, help: str = "") -> None:
        super().__init__(f"{len(failed)} {'run' if len(failed) == 1 else 'runs'} failed:\n" + "\n".join(failed), help)
        self.args = (tuple(failed), None, help)
        self.failed = tuple(failed)
        """The failed runs of the sweep, each with the reason."""
        self.sweep = sweep
        """The sweep with its complete runs; ``None`` in a pickled error with too many results."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Every error can be pickled, so a pickled error omits results that are too large.
        travels = self.sweep is not None and self.sweep._parcel().fits()
        sweep = self.sweep if travels else None
        return (type(self), (self.failed, sweep, self.help), {**self._state(), "sweep": sweep})


class DomainError(BufferlabError, ValueError):
    """An input of a calculator is outside the range for which the theory has an answer."""

    def __init__(self, input: str, value: float, valid: str) -> None:
        super().__init__(f"{input} is {value:g}, expected {valid}")
        self.args = (input, value, valid)
        self.input = input
        """Name of the calculator's argument that is wrong."""
        self.value = value
        """Value of the wrong argument of the calculator, in its base unit."""
        self.valid = valid
        """The values that the calculator's argument may have."""


class ConfigurationError(BufferlabError):
    """A configuration of a switch cannot be read, or a request about the configuration is
    invalid."""


class MissingExtraError(BufferlabError, ImportError):
    """An optional Python library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed", f"pip install 'bufferlab[{extra}]'")
        self.args = (library, extra)


class BufferlabWarning(UserWarning):
    """A warning about a run's numbers, to check before you trust these numbers."""
