"""Own buffer policies: a class with ``admit``, usable wherever a registered name is.

>>> import bufferlab
>>> from bufferlab import Arrival, Buffer, Policy, Verdict
>>> @bufferlab.register
... class HalfOfFree(Policy):
...     \"\"\"A queue may hold a fixed part of what is free.\"\"\"
...
...     name = "half-of-free"
...     part: float = 0.5
...
...     def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
...         if not buffer.fits(arrival.size):
...             return Verdict.FULL
...         if buffer.queue_bytes(arrival.queue) + arrival.size > self.part * buffer.free:
...             return Verdict.DROP
...         return Verdict.ADMIT
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="1 ms")
>>> bufferlab.run(star.set("switch.policy", {"name": "half-of-free", "part": 0.25})).policy
'half-of-free'

``docs/own-policies.md`` has the whole story.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from . import _bufferlab
from ._bufferlab import Arrival, Buffer, Departure, Verdict, Weight

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "Arrival",
    "Buffer",
    "Departure",
    "Policy",
    "Switch",
    "Trial",
    "Verdict",
    "Weight",
    "own_policies",
    "param",
    "register",
    "trial",
]


@dataclass(frozen=True)
class Switch:
    """What a policy may know of the switch when it is built."""

    capacity: int
    """The shared buffer B (bytes)."""
    port_rates: tuple[int, ...]
    """Rate of every port (bits per second)."""
    queues_per_port: int
    """Queues, which are priorities, per port."""
    max_packet: int
    """Largest packet that will be charged (bytes)."""
    profile: Literal["paper", "artifact"]
    """How under-specified details are read."""
    seed: int
    """Seed for a policy that draws random numbers."""
    lossless: tuple[bool, ...]
    """By priority: whether it is lossless (PFC)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "port_rates", tuple(self.port_rates))
        object.__setattr__(self, "lossless", tuple(self.lossless))

    @property
    def ports(self) -> int:
        """Number of ports."""
        return len(self.port_rates)

    @property
    def queues(self) -> int:
        """Number of egress queues; queue = port * queues per port + priority."""
        return self.ports * self.queues_per_port


@dataclass(frozen=True)
class _Parameter:
    default: Any
    doc: str = ""
    min: float | None = None
    max: float | None = None
    unit: Literal["bytes", "time"] | None = None
    choices: tuple[str, ...] = ()


def param(
    default: float | int | bool | str,
    *,
    doc: str = "",
    min: float | None = None,
    max: float | None = None,
    unit: Literal["bytes", "time"] | None = None,
    choices: Iterable[str] = (),
) -> Any:
    """A parameter of a policy, where a plain default does not say enough.

    ``unit="bytes"`` and ``unit="time"`` are written with their unit (``"100 KB"``, ``"80 us"``), in the class and in scenarios; the policy sees
    bytes and picoseconds. A word has ``choices``. Numbers are at least 0 unless ``min`` says otherwise; ``min`` of a size is in bytes, of a time
    in picoseconds.
    """
    return _Parameter(default, doc, min, max, unit, tuple(choices))


class Policy:
    """Base class of own policies. A subclass has a :attr:`name` and :meth:`admit`; everything else is optional.

    Annotated attributes with a default are its parameters: ``alpha: float = 0.5`` is set by ``policy = { name = "mine", alpha = 1.0 }`` in a
    scenario, checked there, and found as ``self.alpha``. See :func:`param` for sizes, times, words and ranges.

    A method that is not defined is never called. ``buffer`` shows the state before the event that is reported, except where a method says
    otherwise, and can be read within the call only. A policy must be deterministic: no clock, no random numbers but from ``self.switch.seed``.
    """

    name: ClassVar[str]
    """Name in scenarios: lower-case letters and digits joined by ``-``."""
    title: ClassVar[str] = ""
    """Name in full; the class's own if not given."""
    summary: ClassVar[str] = ""
    """What it does, in a line; the first line of the docstring if not given."""

    switch: Switch
    """The switch that it decides for."""

    def __init__(self, switch: Switch, **parameters: Any) -> None:
        self.switch = switch
        for name, value in parameters.items():
            setattr(self, name, value)
        self.start()

    def start(self) -> None:
        """Called once, when the switch is built: parameters and :attr:`switch` are there."""

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        """Decides on one arrival. Called again after each eviction that it asked for (``arrival.evictions``)."""
        raise NotImplementedError(f"{type(self).__name__} has no admit")

    def on_enqueue(self, arrival: Arrival, buffer: Buffer) -> None:
        """``arrival`` was stored; ``buffer`` already contains it."""

    def on_dequeue(self, departure: Departure, buffer: Buffer) -> None:
        """A packet left for the wire; ``buffer`` no longer contains it."""

    def on_drop(self, arrival: Arrival, reason: str, buffer: Buffer) -> None:
        """``arrival`` was refused."""

    def on_evict(self, now_ps: int, queue: int, size: int, buffer: Buffer) -> None:
        """A stored packet was evicted or expelled; ``buffer`` no longer contains it."""

    def on_empty_visit(self, now_ps: int, queue: int) -> None:
        """A round-robin scheduler passed ``queue`` because it was empty."""

    def next_timeout(self) -> int | None:
        """When :meth:`handle_timeout` wants to be called next (ps).

        Asked when the switch is built, after every ``handle_timeout``, and after every arrival for as long as the answer is ``None``.
        """
        return None

    def handle_timeout(self, now_ps: int, buffer: Buffer) -> None:
        """Time has reached :meth:`next_timeout`. An early call does nothing; a late one advances the deadline."""

    def poll_expulsion(self, now_ps: int, buffer: Buffer) -> tuple[int, str] | None:
        """A queue to shorten now although nothing has arrived, and from which end (``"head"``, ``"tail"``); asked until it is ``None``."""
        return None

    def pause_demand(self, now_ps: int, ingress: int, buffer: Buffer) -> bool | None:
        """Whether the sender behind an ingress queue stops (``True``), goes on (``False``) or stays as it is (``None``)."""
        return None

    def classify(self, now_ps: int, flow: int, priority: int, size: int) -> int:
        """Which queue of its port a packet joins, from 0, before :meth:`admit` is asked; by default the one of its priority."""
        return priority

    def threshold(self, queue: int, tags: list[str], buffer: Buffer) -> int | None:
        """The limit in force for a packet with these marks (bytes), for traces, reports and the conformance suite; never in the hot path."""
        return None


_HOOKS = (
    "on_enqueue",
    "on_dequeue",
    "on_drop",
    "on_evict",
    "on_empty_visit",
    "next_timeout",
    "handle_timeout",
    "poll_expulsion",
    "pause_demand",
    "classify",
    "threshold",
)

PolicyClass = TypeVar("PolicyClass", bound="type[Policy]")
PolicyLike = Union[str, "type[Policy]"]
"""A registered name, or the class of an own policy."""

_registered: dict[str, type[Policy]] = {}


def register(policy: PolicyClass) -> PolicyClass:
    """Makes an own policy usable by its name: in scenarios, comparisons, sweeps. A decorator.

    A class that is written again (in a notebook, after a reload) takes the place of its former self.

    Raises
    ------
    TypeError
        If the class is no :class:`Policy`, or lacks :attr:`~Policy.name` or ``admit``.
    ValueError
        If the name is taken or breaks the rules of names, or a parameter is declared wrong.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise TypeError(f"an own policy is a subclass of bufferlab.Policy, not {policy!r}")
    name = getattr(policy, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"{policy.__name__} has no name: add name = \"my-policy\" to the class")
    if policy.admit is Policy.admit:
        raise TypeError(f"{policy.__name__} does not define admit(self, arrival, buffer)")
    known = _registered.get(name)
    if known is policy:
        return policy
    if known is not None and (known.__module__, known.__qualname__) != (policy.__module__, policy.__qualname__):
        raise ValueError(
            f"the name \"{name}\" belongs to {known.__module__}.{known.__qualname__}; choose another for {policy.__qualname__}"
        )
    title = policy.title or policy.__name__
    document = inspect.cleandoc(policy.__dict__.get("__doc__") or "").partition("\n")[0]
    summary = policy.summary or document or f"{title}, an own policy."
    hooks = [hook for hook in _HOOKS if getattr(policy, hook) is not getattr(Policy, hook)]
    _bufferlab.register_policy(policy, name, title, summary, _parameters(policy), hooks)
    _registered[name] = policy
    return policy


def own_policies() -> dict[str, type[Policy]]:
    """The own policies of this process by their names, in the order of their registration."""
    return dict(_registered)


_PlainParameter = tuple[str, Any, str, Union[float, None], Union[float, None], list[str], str]


def _parameters(policy: type[Policy]) -> list[_PlainParameter]:
    """Annotated attributes with a default, those of base classes first."""
    found: dict[str, _PlainParameter] = {}
    for owner in reversed(policy.__mro__):
        if owner in (object, Policy) or not issubclass(owner, Policy):
            continue
        for name in _annotated(owner):
            if name.startswith("_") or name in ("name", "title", "summary", "switch") or name not in owner.__dict__:
                continue
            try:
                hint = get_type_hints(owner).get(name)
            except NameError:
                # A type that exists only for checkers says nothing here; the default does.
                hint = None
            if get_origin(hint) is ClassVar:
                continue
            found[name] = _parameter(policy, name, owner.__dict__[name], hint)
    return list(found.values())


def _annotated(owner: type) -> Iterable[str]:
    """Names that the class itself annotates."""
    if sys.version_info >= (3, 14):
        # Annotations are evaluated when they are asked for, and may name what exists for type checkers only.
        import annotationlib

        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)


def _parameter(policy: type[Policy], name: str, given: Any, hint: Any) -> _PlainParameter:
    declared = given if isinstance(given, _Parameter) else _Parameter(given)
    default, choices = declared.default, list(declared.choices)
    if not choices and get_origin(hint) is Literal:
        choices = list(get_args(hint))
    kind: str
    if declared.unit is not None:
        kind = declared.unit
    elif isinstance(default, bool):
        kind = "flag"
    elif isinstance(default, str):
        kind = "choice"
        if not choices:
            raise ValueError(
                f"{policy.__name__}.{name}: a word needs its choices: param({default!r}, choices=[...]), or unit=\"bytes\" or \"time\""
            )
    elif isinstance(default, int) and hint is not float:
        kind = "count"
    elif isinstance(default, (int, float)):
        kind, default = "ratio", float(default)
    else:
        raise ValueError(f"{policy.__name__}.{name}: a parameter is a number, a flag or a text, not {default!r}")
    return (name, default, kind, declared.min, declared.max, choices, declared.doc)


def policy_name(policy: PolicyLike) -> str:
    """The name of a policy; a class that is not registered yet is."""
    return policy if isinstance(policy, str) else register(policy).name


def pack(names: Iterable[str]) -> bytes | None:
    """The own policies among ``names``, for another process; ``None`` if there are none.

    A class of a module travels by its name, and the other process imports it. One that was written in a notebook or at the prompt travels
    whole, for which ``cloudpickle`` must be installed.
    """
    classes = [_registered[name] for name in dict.fromkeys(names) if name in _registered]
    if not classes:
        return None
    main = sys.modules.get("__main__")
    at_the_prompt = main is not None and not hasattr(main, "__file__")
    if not any("<locals>" in c.__qualname__ or (at_the_prompt and c.__module__ == "__main__") for c in classes):
        return pickle.dumps(classes)
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise pickle.PicklingError(
            f"{classes[0].__qualname__} cannot travel to another process: move it into a module, or pip install cloudpickle"
        ) from error
    packed: bytes = cloudpickle.dumps(classes)
    return packed


def unpack(packed: bytes | None) -> None:
    """Registers what :func:`pack` packed."""
    if packed is not None:
        for policy in pickle.loads(packed):
            register(policy)


@dataclass(frozen=True)
class Trial:
    """What a policy did with a stream of random arrivals."""

    verdicts: bytes
    """A byte per arrival: 0 if it was stored, another number for each reason of a drop."""
    seconds: float
    """CPU time that it took, the switch's own work included."""

    @property
    def ns_per_decision(self) -> float:
        """CPU time per arrival, the switch's own work included (some 100 ns)."""
        return self.seconds * 1e9 / max(len(self.verdicts), 1)

    @property
    def drops(self) -> int:
        """Arrivals that were refused."""
        return len(self.verdicts) - self.verdicts.count(0)

    def __repr__(self) -> str:
        return f"Trial({len(self.verdicts)} arrivals, {self.drops} dropped, {self.ns_per_decision:.0f} ns each)"


def trial(policy: PolicyLike, *, arrivals: int = 1_000_000, seed: int = 1, **parameters: Any) -> Trial:
    """Shows a policy random arrivals at one switch of 8 ports with 2 queues each and 200 KB, half of the traffic for two of the ports.

    The same seed brings the same arrivals, so that two policies can be compared verdict by verdict, and their cost per decision.

    >>> trial("dt", arrivals=1000).verdicts == trial("dt", arrivals=1000).verdicts
    True
    """
    verdicts, seconds = _bufferlab.run_trial(policy_name(policy), parameters, arrivals, seed)
    return Trial(verdicts, seconds)
