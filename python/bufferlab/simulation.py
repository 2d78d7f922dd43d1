"""Simulations that a Python program advances, inspects, changes and copies.

>>> import bufferlab
>>> simulation = bufferlab.Simulation("star-incast")
>>> simulation.run_until("2 ms")
>>> simulation.now_ps, simulation.is_finished
(2000000000, False)
>>> other = simulation.fork()
>>> other.set_policy("cs")
>>> one, two = simulation.finish(), other.finish()
>>> one == bufferlab.run("star-incast")
True
>>> one.summary["switches.lost_percent"] > two.summary["switches.lost_percent"]
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arguments, _bufferlab
from ._folders import TemporaryFolder
from .exceptions import MissingExtraError
from .explanations import seconds
from .policy import PolicyLike, policy_name
from .runs import Run, warn
from .scenario import ScenarioLike, as_scenario

if TYPE_CHECKING:
    import numpy

__all__ = ["Event", "Flows", "Queues", "Simulation", "SwitchState"]

_TIME_MAX = (1 << 63) - 1
_NO_LIMIT = (1 << 64) - 1
_RATE_MAX = 1e14


def numpy_module() -> Any:
    """Imports NumPy, which only the arrays of queues and flows need."""
    try:
        import numpy
    except ImportError as error:
        raise MissingExtraError("numpy", "plot") from error
    return numpy


class Event(NamedTuple):
    """One event of a simulation, and its consequences at the event's switch."""

    time_ps: int
    """Time of the event (ps)."""
    kind: str
    """Kind of the event: ``"arrival"`` of a packet at a node, ``"transmission"`` (a port has sent a
    packet and sends the next waiting packet), ``"flow"`` (a flow starts), or ``"loss"`` of a packet
    on a cable that went down.

    Other kinds are timers: ``"sender"``, ``"pace"``, ``"delayed-ack"``, ``"connection"``,
    ``"policy"``, ``"rate-limit"``, ``"pause"``, ``"cable"``, ``"query"``, ``"schedule"``,
    ``"sample"``, ``"duration"``.
    """
    node: str | None
    """Name of the host or switch of the event; ``None`` for an event of the whole network."""
    port: int | None
    """Port of the switch: ingress of an arrival, egress of a transmission."""
    flow: int | None
    """Number of the flow, as in the table of flows."""
    packet: str | None
    """Kind of the arriving packet: ``"data"``, ``"ack"``, ``"syn"`` or ``"syn-ack"``."""
    bytes: int | None
    """Size on the wire of the arriving packet."""
    dropped: int
    """Number of packets that the switch refused in this event."""
    evicted: int
    """Number of packets that the switch stored earlier and removed in this event."""
    marked: int
    """Number of packets that the switch marked in this event."""


@dataclass(frozen=True)
class SwitchState:
    """State of a switch at one moment of a simulation."""

    name: str
    """Name of the switch in the scenario's topology."""
    policy: str
    """Name of the policy that the switch has."""
    capacity: int
    """Size of the shared buffer (bytes)."""
    occupancy: int
    """Number of bytes in the shared buffer."""
    ports: int
    """Number of ports of the switch."""
    queues_per_port: int
    """Number of queues that each port has."""


@dataclass(frozen=True, eq=False)
class Queues:
    """The queues of a switch at one time of a simulation: arrays of ports × queues per port."""

    occupancy: numpy.ndarray[Any, Any]
    """Number of stored bytes, by queue."""
    threshold: numpy.ndarray[Any, Any]
    """Limit of the policy for the length of each queue (bytes); NaN without a limit."""
    arrived: numpy.ndarray[Any, Any]
    """Number of packets that arrived for each queue."""
    dropped: numpy.ndarray[Any, Any]
    """Number of packets that the switch refused, by queue."""
    evicted: numpy.ndarray[Any, Any]
    """Number of packets that the switch stored and then removed, by queue."""
    marked: numpy.ndarray[Any, Any]
    """Number of packets that the switch marked, by queue."""
    departed: numpy.ndarray[Any, Any]
    """Number of packets that the switch sent, by queue."""


@dataclass(frozen=True, eq=False)
class Flows:
    """The live flows at one time of a simulation: arrays with an entry per flow."""

    number: numpy.ndarray[Any, Any]
    """Number of the flow, as in the table of flows."""
    class_index: numpy.ndarray[Any, Any]
    """Index of the flow's class in :attr:`Simulation.classes`."""
    src: numpy.ndarray[Any, Any]
    """Number of the host that sends the flow."""
    dst: numpy.ndarray[Any, Any]
    """Number of the host that receives the flow."""
    size: numpy.ndarray[Any, Any]
    """Payload of the flow (bytes)."""
    start_ps: numpy.ndarray[Any, Any]
    """Time at which the flow started (ps)."""
    delivered: numpy.ndarray[Any, Any]
    """Payload of the flow that has arrived (bytes)."""
    sent: numpy.ndarray[Any, Any]
    """Number of segments that the flow sent, with retransmissions."""
    retransmitted: numpy.ndarray[Any, Any]
    """Number of segments that the flow retransmitted."""
    timeouts: numpy.ndarray[Any, Any]
    """Number of the flow's retransmission timeouts."""
    window: numpy.ndarray[Any, Any]
    """Congestion window (segments); NaN for a flow without a window."""
    in_flight: numpy.ndarray[Any, Any]
    """Segments sent and not acknowledged; NaN for a flow without a window."""
    slow_start_threshold: numpy.ndarray[Any, Any]
    """Window below which the flow doubles its window (segments); NaN for a flow without a
    window."""
    acknowledged: numpy.ndarray[Any, Any]
    """Segments that the sender knows to have arrived without gaps; NaN without acknowledgements."""
    rtt: numpy.ndarray[Any, Any]
    """Smoothed round-trip time (s); NaN before the first sample and for queue pairs (RDMA)."""
    rate: numpy.ndarray[Any, Any]
    """Rate of the flow's pace on the wire (b/s); NaN for a flow without a pace."""

    def __len__(self) -> int:
        return len(self.number)


class Simulation:
    """A simulation run that the caller advances step by step.

    Iteration handles one event at a time and yields the :class:`Event`. The loop may inspect and
    change the simulation. An event takes two to three microseconds in a loop, and about 0.15
    microseconds in :meth:`run_until` (development build).

    If the caller changes nothing, :meth:`finish` returns a run whose files equal those of
    :func:`run`. A simulation uses one thread. Other Python threads continue meanwhile, and Ctrl-C
    ends the call of the simulation.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, the path of a file, or a dictionary.
    seed
        Seed of the run; by default the seed of the scenario.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read.
    RunError
        If the simulation cannot run the scenario.
    """

    def __init__(self, scenario: ScenarioLike, *, seed: int | None = None) -> None:
        scenario = as_scenario(scenario)
        seed = _arguments.optional_whole("seed", seed)
        if seed is not None:
            scenario = scenario.set("seed", seed)
        warn(scenario)
        self.scenario = scenario
        """The scenario with which the simulation began."""
        self._run = _bufferlab.Stepper(scenario._load())
        self.classes, self.hosts = map(tuple, self._run.names())
        """Names of the flow classes, and names of the hosts, by number."""

    @property
    def now_ps(self) -> int:
        """Time that the simulation has reached (ps)."""
        return self._run.times()[0]

    @property
    def now(self) -> float:
        """Time that the simulation has reached (s)."""
        return self.now_ps / 1e12

    @property
    def end(self) -> float:
        """Latest time at which the simulation ends (s)."""
        return self._run.times()[1] / 1e12

    @property
    def is_finished(self) -> bool:
        """Whether the simulation has no event left, so that only :meth:`finish` remains."""
        return self._run.is_finished()

    @property
    def events(self) -> int:
        """Number of events that the simulation has handled."""
        return self._run.counts()[0]

    @property
    def packet_hops(self) -> int:
        """Number of times that a packet has crossed a link so far."""
        return self._run.counts()[1]

    def run_until(self, time: str | float) -> None:
        """Handles all events until ``time`` (included). The time is a text with a unit, or a number
        of seconds.

        If ``time`` is before :attr:`now`, the simulation does not change.
        """
        self._run.run_until(picoseconds("time", time))

    def step(self, count: int = 1) -> None:
        """Handles the next ``count`` events: arrivals at a node, ends of transmissions, timers,
        starts of flows."""
        self._run.step(_arguments.whole("count", count))

    def __iter__(self) -> Iterator[Event]:
        """Handles the events until the end of the run, and yields each event after it happened.

        >>> drops = [event for event in Simulation("star-incast") if event.dropped]
        >>> drops[0].kind, drops[0].node, drops[0].packet
        ('arrival', 'switch', 'data')
        """
        while (event := self._run.next_event()) is not None:
            yield Event(*event[:7], *event[7])

    @property
    def cables(self) -> tuple[tuple[str, str], ...]:
        """Names of the nodes at both ends of every cable, by the cable's number."""
        return tuple(self._run.cables())

    @property
    def switches(self) -> tuple[SwitchState, ...]:
        """The current states of all switches."""
        return tuple(SwitchState(*plain) for plain in self._run.switches())

    def queues(self, switch: int | str = 0) -> Queues:
        """Returns the current queues of a switch, as NumPy arrays of ports × queues per port."""
        np = numpy_module()
        index = self._switch(switch)
        state = self.switches[index]
        rows = np.frombuffer(self._run.queues(index), dtype=np.uint64).reshape(state.ports, state.queues_per_port, 7)
        columns = [rows[:, :, column] for column in range(7)]
        limits = columns[1].astype(np.float64)
        limits[columns[1] == _NO_LIMIT] = np.nan
        return Queues(columns[0], limits, *columns[2:])

    def flows(self) -> Flows:
        """Returns the flows that are live at the current time with their transports, as NumPy
        arrays."""
        np = numpy_module()
        whole, real = self._run.flows()
        rows = np.frombuffer(whole, dtype=np.uint64).reshape(-1, 10)
        reals = np.frombuffer(real, dtype=np.float64).reshape(-1, 6)
        return Flows(*(rows[:, column] for column in range(10)), *(reals[:, column] for column in range(6)))

    def set_policy(self, policy: PolicyLike, *, switch: int | str | None = None, **parameters: Any) -> None:
        """Replaces the policy of a switch, or of all switches, from the current time on.

        Stored packets stay in the buffer. The switch reports these packets to the new policy as if
        they had just been stored. The new policy knows no other earlier event, even if only the
        parameters change.

        >>> simulation = Simulation("star-incast")
        >>> simulation.run_until("1 ms")
        >>> simulation.set_policy("dt", alpha=2)
        """
        name = policy_name("policy", policy)
        for index in self._switches(switch):
            self._run.set_policy(index, name, parameters)

    def set_alphas(self, alphas: float | Sequence[float] | numpy.ndarray[Any, Any], *, switch: int | str = 0) -> None:
        """Sets the alphas of all queues of a switch: one number, or ports × queues per port
        numbers.

        From the current time on, the switch has Dynamic Thresholds with these alphas.
        """
        np = numpy_module()
        index = self._switch(switch)
        state = self.switches[index]
        try:
            given = np.asarray(alphas, dtype=np.float64)
        except (TypeError, ValueError):
            raise _arguments.refuse("alphas", alphas, "numbers") from None
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise _arguments.refuse("alphas", alphas, "finite numbers, 0 or more")
        shape = (state.ports, state.queues_per_port)
        if given.size not in (1, shape[0] * shape[1]):
            raise _arguments.refuse("alphas", alphas, f"one number or {shape[0]} × {shape[1]} numbers")
        full = np.full(shape, given.reshape(())) if given.size == 1 else given.reshape(shape)
        self._run.set_alphas(index, full.tobytes())

    def start_flow(self, src: int | str, dst: int | str, size: int, *, class_index: int = 0) -> int:
        """Starts a flow of ``size`` bytes at the current time, and returns its number in the table
        of flows.

        Hosts are names or numbers. The class selects the transport. Flows can start until the end
        of the scenario's ``duration``.
        """
        source, target = self._host("src", src), self._host("dst", dst)
        size = _arguments.whole("size", size, least=1)
        class_index = _arguments.whole("class_index", class_index, most=(1 << 16) - 1)
        return self._run.start_flow(source, target, size, class_index)

    def set_cable(self, cable: int, *, up: bool) -> None:
        """Sets a cable down or up; ``cable`` is its number in the order of the topology's cables.
        Packets on a cable that goes down are lost, and routes change immediately."""
        self._run.set_cable(_arguments.whole("cable", cable), _arguments.flag("up", up))

    def set_rate(self, cable: int, rate: str | float) -> None:
        """Sets the rate of a cable in both directions: text such as ``"5 Gb/s"``, or a number of
        bits per second. The argument ``cable`` is the number in :attr:`cables`.

        A transmission that has begun keeps its rate, and telemetry reports the new rate. Policies,
        transports and the tables of results refer to the rate in the scenario.

        Raises
        ------
        RunError
            If a switch of the network cuts through, or the rate is too low.
        """
        cable = _arguments.whole("cable", cable)
        if isinstance(rate, str):
            rate = _bufferlab.quantity("rate", _arguments.text("rate", rate), "rate")
        self._run.set_rate(cable, round(_arguments.number("rate", rate, least=1.0, most=_RATE_MAX)))

    def fork(self) -> Simulation:
        """Returns a copy of the simulation in its current state. If a program calls both alike,
        copy and original have equal results.

        Custom policies, marking rules and congestion controls in Python are copied by
        ``copy.deepcopy``.

        Raises
        ------
        RunError
            If a custom policy cannot be copied; the message names it.
        """
        copy = Simulation.__new__(Simulation)
        copy.scenario, copy.classes, copy.hosts = self.scenario, self.classes, self.hosts
        copy._run = self._run.fork()
        return copy

    snapshot = fork

    def finish(self, *, out: str | os.PathLike[str] | None = None, replace: bool = False) -> Run:
        """Runs the simulation to its end and returns the finished run. Then the simulation no
        longer exists.

        The arguments ``out`` and ``replace`` are the arguments of :func:`run`. A run that the
        caller changed has a caveat, and its ``scenario.toml`` begins with the changes.
        """
        out, replace = _arguments.optional_path("out", out), _arguments.flag("replace", replace)
        keep = TemporaryFolder() if out is None else None
        folder = out if keep is None else keep.path / "run"
        assert folder is not None
        [job], *_ = _bufferlab.plan(self.scenario._source(), [], [], 1, folder, replace, False, None, None)
        self._run.finish(job)
        result = Run(folder, keep=keep)
        if out is not None:
            result.report()
        return result

    def __reduce__(self) -> Any:
        raise _arguments.not_copied("Simulation", "take a copy with fork(), or keep what finish() returns")

    def __repr__(self) -> str:
        return f"Simulation({self.scenario.name}, {self.now * 1e6:g} us)"

    def _switches(self, switch: int | str | None) -> Sequence[int]:
        return range(len(self.switches)) if switch is None else [self._switch(switch)]

    def _switch(self, switch: int | str) -> int:
        if isinstance(switch, int) and not isinstance(switch, bool) and switch == 0:
            return 0
        return _index("switch", "switch", switch, [state.name for state in self.switches])

    def _host(self, argument: str, host: int | str) -> int:
        return _index(argument, "host", host, self.hosts)


def _index(argument: str, kind: str, value: int | str, names: Sequence[str]) -> int:
    """Returns the number of the switch or host with this name or number."""
    if isinstance(value, str):
        if value not in names:
            raise _arguments.unknown(argument, kind, value, names)
        return list(names).index(value)
    return _arguments.whole(argument, value, most=len(names) - 1)


def picoseconds(argument: str, time: str | float) -> int:
    """Converts a time to picoseconds; the time is text such as ``"10 us"``, or a number of
    seconds."""
    found = round(seconds(argument, time) * 1e12)
    if found > _TIME_MAX:
        raise _arguments.refuse(argument, time, "a time below 106 days")
    return found
