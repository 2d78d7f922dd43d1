"""Custom buffer policies: a class with ``admit``, which scenarios use by its name.

>>> import bufferlab
>>> from bufferlab import Arrival, Buffer, Policy, Verdict
>>> @bufferlab.register
... class HalfOfFree(Policy):
...     \"\"\"Limits every queue to a fixed fraction of the free buffer.\"\"\"
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

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union

from . import _arguments, _bufferlab
from ._bufferlab import Arrival, Buffer, Departure, Verdict, Weight
from ._custom import Custom, _PlainParameter, named, param, register, registered

__all__ = [
    "Arrival",
    "Buffer",
    "Departure",
    "Policy",
    "Switch",
    "Trial",
    "Verdict",
    "Weight",
    "custom_policies",
    "param",
    "register",
    "trial",
]


@dataclass(frozen=True)
class Switch:
    """The properties of a switch that a policy sees when the switch is built."""

    capacity: int
    """Size of the shared buffer B (bytes)."""
    port_rates: tuple[int, ...]
    """Rate of each port of the switch (bits per second)."""
    queues_per_port: int
    """Number of queues (priorities) per port of the switch."""
    max_packet: int
    """Largest number of bytes that the buffer charges for a packet."""
    profile: Literal["paper", "artifact"]
    """Profile of the scenario, which decides details that the policies' papers leave open."""
    seed: int
    """Seed of the switch, for a policy that draws random numbers."""
    lossless: tuple[bool, ...]
    """Whether each priority is lossless (PFC)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "port_rates", tuple(self.port_rates))
        object.__setattr__(self, "lossless", tuple(self.lossless))

    @property
    def ports(self) -> int:
        """Number of ports of the switch."""
        return len(self.port_rates)

    @property
    def queues(self) -> int:
        """Number of egress queues; the number of a queue is port * queues per port + priority."""
        return self.ports * self.queues_per_port


class Policy(Custom):
    """Base class of custom policies. A subclass has a :attr:`name` and :meth:`admit`.

    All other methods are optional; a method that the class does not define is never called.

    Annotated attributes with a default are parameters. A scenario sets ``alpha:
    float = 0.5`` with ``policy = { name = "mine", alpha = 1.0 }``; the loader checks the value,
    and the policy reads it as ``self.alpha``. See :func:`param` for sizes, times, words and ranges.

    ``buffer`` shows the state before the reported event unless the method states otherwise.
    ``buffer`` can be read only during the call. A policy must be deterministic:
    no clock, and no random numbers except from ``self.switch.seed``.
    """

    name: ClassVar[str]
    """Name of the policy in scenarios: lower-case letters and digits joined by ``-``."""

    switch: Switch
    """The switch whose packets the policy admits."""

    def __init__(self, switch: Switch, **parameters: Any) -> None:
        self.switch = switch
        self._set(parameters)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_policy(cls, cls.name, title, summary, parameters, hooks)

    def start(self) -> None:
        """Called once when the switch is built. The parameters and :attr:`switch` are already
        set."""

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        """Decides on one arriving packet.

        The method is called again after each eviction that the policy requested
        (``arrival.evictions``).
        """
        raise NotImplementedError(f"{type(self).__name__} has no admit")

    def on_enqueue(self, arrival: Arrival, buffer: Buffer) -> None:
        """Called after the switch stored ``arrival``; ``buffer`` already contains the packet."""

    def on_dequeue(self, departure: Departure, buffer: Buffer) -> None:
        """Called after a packet was dequeued for transmission; ``buffer`` no longer contains it."""

    def on_drop(self, arrival: Arrival, reason: str, buffer: Buffer) -> None:
        """Called after the switch dropped ``arrival``; ``reason`` is the reason of the drop."""

    def on_evict(self, now_ps: int, queue: int, size: int, buffer: Buffer) -> None:
        """Called after an eviction or expulsion; ``buffer`` no longer contains the packet."""

    def on_empty_visit(self, now_ps: int, queue: int) -> None:
        """Called when a round-robin scheduler skipped ``queue`` because it was empty."""

    def next_timeout(self) -> int | None:
        """The time of the next call of :meth:`handle_timeout` (ps); ``None`` if the policy needs no
        call.

        The method is called when the switch is built and after every ``handle_timeout``. While its
        result is ``None``, the method is also called after every arrival.
        """
        return None

    def handle_timeout(self, now_ps: int, buffer: Buffer) -> None:
        """Called when the simulated time of :meth:`next_timeout` is reached.

        A call before the deadline must change nothing; a later call must advance the deadline.
        """

    def poll_expulsion(self, now_ps: int, buffer: Buffer) -> tuple[int, str] | None:
        """The next packet that the switch expels without an arrival: a queue and an end of the
        queue (``"head"``, ``"tail"``).

        The method is called until the result is ``None``.
        """
        return None

    def pause_demand(self, now_ps: int, ingress: int, buffer: Buffer) -> bool | None:
        """Whether to pause the sender of an ingress queue.

        ``True`` pauses the sender, ``False`` resumes it, and ``None`` keeps the sender's state.
        """
        return None

    def classify(self, now_ps: int, flow: int, priority: int, size: int) -> int:
        """The queue (from 0) of the egress port that a packet joins; by default the packet's
        priority.

        The switch calls this method before :meth:`admit`.
        """
        return priority

    def threshold(self, queue: int, tags: list[str], buffer: Buffer) -> int | None:
        """The limit of ``queue`` for a packet with the given tags (bytes); ``None`` without a
        limit.

        Traces, reports and the conformance suite call this method; the switch never calls it.
        """
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
"""Maximum number of arrivals of a :func:`trial`; each arrival takes one byte of memory."""

PolicyLike = Union[str, "type[Policy]"]
"""The name of a registered policy, or the class of a custom policy."""


def custom_policies() -> dict[str, type[Policy]]:
    """The custom policies of this process by name, in order of registration."""
    return {name: own for name, own in registered("policy").items() if issubclass(own, Policy)}


def policy_name(argument: str, policy: PolicyLike, others: tuple[str, ...] = ()) -> str:
    """Returns the name of a policy, and registers a class; ``others`` are words other than policy
    names that are valid.

    Raises
    ------
    UnknownNameError
        If there is no policy of this name.
    """
    name = named(argument, policy)
    if name not in others and not _bufferlab.is_policy(name):
        known = [*others, *(info.name for info in _bufferlab.policies())]
        raise _arguments.unknown(argument, "policy", name, known, "see bufferlab.policies()")
    return name


def policy_names(policies: Sequence[PolicyLike]) -> list[str]:
    """Returns the names of several policies; the word ``"all"`` is valid, too."""
    given = _arguments.items("policies", policies, '["dt", "abm"]')
    return [policy_name(f"policies[{place}]", policy, ("all",)) for place, policy in enumerate(given)]


@dataclass(frozen=True)
class Trial:
    """The verdicts of a policy on random arrivals, and the CPU time of the verdicts."""

    verdicts: bytes
    """One byte per arrival: 0 if the packet was stored, otherwise the number of the drop reason,
    plus 1."""
    seconds: float
    """CPU time of the trial, including the work of the switch (s)."""

    @property
    def ns_per_decision(self) -> float:
        """CPU time per arrival (ns), including about 100 ns for the work of the switch."""
        return self.seconds * 1e9 / max(len(self.verdicts), 1)

    @property
    def drops(self) -> int:
        """Number of arrivals that the policy dropped."""
        return len(self.verdicts) - self.verdicts.count(0)

    def __repr__(self) -> str:
        return f"Trial({len(self.verdicts)} arrivals, {self.drops} dropped, {self.ns_per_decision:.0f} ns each)"


def trial(policy: PolicyLike, *, arrivals: int = 1_000_000, seed: int = 1, **parameters: Any) -> Trial:
    """Runs a policy on random arrivals at one switch, and measures its cost per decision.

    The switch has 8 ports, 2 queues per port and a buffer of 200 KB. Half of the traffic goes to
    two of the ports. Equal seeds give equal arrivals, so a caller can compare the verdicts of two
    policies one by one.

    >>> trial("dt", arrivals=1000).verdicts == trial("dt", arrivals=1000).verdicts
    True
    """
    name = policy_name("policy", policy)
    arrivals = _arguments.whole("arrivals", arrivals, most=ARRIVALS_MAX)
    seed = _arguments.whole("seed", seed)
    verdicts, seconds = _bufferlab.run_trial(name, parameters, arrivals, seed)
    return Trial(verdicts, seconds)
