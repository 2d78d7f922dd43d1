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
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> bufferlab.run(star.set("switch.policy", {"name": "half-of-free", "part": 0.25})).policy
'half-of-free'

``docs/how-to/custom-policies.md`` has the whole story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union

from . import _arguments, _bufferlab
from ._bufferlab import Arrival, Buffer, Departure, Verdict, Weight
from ._own import Own, _PlainParameter, named, param, register, registered

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


class Policy(Own):
    """Base class of own policies. A subclass has a :attr:`name` and :meth:`admit`; everything else is optional.

    Annotated attributes with a default are its parameters: ``alpha: float = 0.5`` is set by ``policy = { name = "mine", alpha = 1.0 }`` in a
    scenario, checked there, and found as ``self.alpha``. See :func:`param` for sizes, times, words and ranges.

    A method that is not defined is never called. ``buffer`` shows the state before the event that is reported, except where a method says
    otherwise, and can be read within the call only. A policy must be deterministic: no clock, no random numbers but from ``self.switch.seed``.
    """

    name: ClassVar[str]
    """Name in scenarios: lower-case letters and digits joined by ``-``."""

    switch: Switch
    """The switch that it decides for."""

    def __init__(self, switch: Switch, **parameters: Any) -> None:
        self.switch = switch
        for name, value in parameters.items():
            setattr(self, name, value)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_policy(cls, cls.name, title, summary, parameters, hooks)

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


Policy._kind, Policy._base, Policy._example = "policy", Policy, "my-policy"
Policy._required = ("admit", "self, arrival, buffer")
Policy._hooks = (
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

ARRIVALS_MAX = 1 << 32
"""Most arrivals of a :func:`trial`: one byte of memory each."""

PolicyLike = Union[str, "type[Policy]"]
"""A registered name, or the class of an own policy."""


def own_policies() -> dict[str, type[Policy]]:
    """The own policies of this process by their names, in the order of their registration."""
    return {name: own for name, own in registered("policy").items() if issubclass(own, Policy)}


def policy_name(argument: str, policy: PolicyLike, others: tuple[str, ...] = ()) -> str:
    """The name of a policy; a class that is not registered yet is. ``others``: further words that the argument may be.

    Raises
    ------
    UnknownNameError
        If no policy is called so.
    """
    name = named(argument, policy)
    if name not in others and not _bufferlab.is_policy(name):
        known = [*others, *(info.name for info in _bufferlab.policies())]
        raise _arguments.unknown(argument, "policy", name, known, "see bufferlab.policies()")
    return name


def policy_names(policies: Sequence[PolicyLike]) -> list[str]:
    """The names of several policies, among which may be "all"."""
    given = _arguments.items("policies", policies, '["dt", "abm"]')
    return [policy_name(f"policies[{place}]", policy, ("all",)) for place, policy in enumerate(given)]


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
    name = policy_name("policy", policy)
    arrivals = _arguments.whole("arrivals", arrivals, most=ARRIVALS_MAX)
    seed = _arguments.whole("seed", seed)
    verdicts, seconds = _bufferlab.run_trial(name, parameters, arrivals, seed)
    return Trial(verdicts, seconds)
