"""What the papers prove, for your switch: calculators that show their derivation, and the papers' analytical figures.

Quantities are text with a unit (``"4 MB"``, ``"10 Gb/s"``, ``"80 us"``) or numbers in base units: bytes, bits per second, seconds. Every
calculator answers a :class:`Derivation`: print it, or take a number out of it.

>>> from bufferlab import theory
>>> answer = theory.burst_tolerance(policy="dt", ports=32, queues=8, congested=4)
>>> round(answer["arrived"])
3430486
>>> print(answer.lines[0].name, answer.lines[0].result)
buffer 4 MB
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _bufferlab
from .exceptions import DomainError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Answer",
    "Axis",
    "Derivation",
    "Figure",
    "Line",
    "Series",
    "alpha",
    "burst_tolerance",
    "chips",
    "drain_time",
    "ecn",
    "figure",
    "figures",
    "guarantees",
    "headroom",
    "shares",
    "tdt_parameters",
]

Quantity = Union[str, float]
"""Text with a unit, or a number in the base unit."""


@dataclass(frozen=True)
class Line:
    """One step of a derivation."""

    name: str
    """What is computed."""
    formula: str
    """The formula in words and symbols."""
    substituted: str
    """The formula with the numbers in it; empty if there is nothing to compute."""
    result: str
    """The result with its unit."""
    source: str
    """The paper and equation, or the standard; empty for arithmetic."""


@dataclass(frozen=True)
class Answer:
    """A final answer."""

    name: str
    """What it is."""
    value: float
    """Its value in the base unit (bytes, seconds, bits/s or a plain number); infinite if unbounded."""
    text: str
    """With its unit, for people."""


@dataclass(frozen=True)
class Derivation:
    """How an answer came about; ``print`` shows all of it as the command line does."""

    title: str
    """The question."""
    lines: tuple[Line, ...]
    """The steps."""
    columns: tuple[str, ...]
    """Heads of the table, if values stand side by side."""
    rows: tuple[tuple[str, ...], ...]
    """Its rows."""
    answers: tuple[Answer, ...]
    """The answers."""
    notes: tuple[str, ...]
    """Under which conditions they hold, and what to keep in mind."""
    text: str
    """All of it."""

    def __getitem__(self, name: str) -> float:
        """The value of an answer in its base unit."""
        for answer in self.answers:
            if answer.name == name:
                return answer.value
        raise KeyError(f"{name}: answers are {', '.join(answer.name for answer in self.answers) or 'none'}")

    def __str__(self) -> str:
        return self.text


def _base(name: str, value: Quantity, dimension: Literal["size", "rate", "time"]) -> float:
    if not isinstance(value, str):
        return float(value)
    try:
        return _bufferlab.quantity(value, dimension)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _size(name: str, value: Quantity) -> float:
    return _base(name, value, "size")


def _rate(name: str, value: Quantity) -> float:
    return _base(name, value, "rate")


def _time(name: str, value: Quantity) -> float:
    return _base(name, value, "time")


def _maybe(
    convert: Callable[[str, Quantity], float], name: str, value: Quantity | None
) -> float | None:
    return None if value is None else convert(name, value)


#: Inputs of the closed forms whose argument has another name.
_ARGUMENTS: dict[str, str] = {
    "alpha_low": "others",
    "rate_gbps": "port_rate",
    "cable_metres": "cable",
    "lossless_mtu_bytes": "lossless_mtu",
    "port_mtu_bytes": "mtu",
    "small_packet_percent": "small_packets",
    "pipeline_latency_bytes": "pipeline_latency",
    "mac_phy_delay_bytes": "mac_phy_delay",
    "peer_response_quanta": "peer_response",
    "buffer_bytes": "buffer",
}


#: Inputs of the closed forms whose argument has another unit.
_FACTORS: dict[str, float] = {
    "pipeline_latency_bytes": 1.0 / 1024.0,
    "mac_phy_delay_bytes": 1.0 / 1024.0,
    "rate_gbps": 1e9,
}


def _derived(
    calculate: Callable[..., _bufferlab._Derivation], *inputs: Any, renamed: Mapping[str, str] | None = None
) -> Derivation:
    try:
        title, lines, table, answers, notes, text = calculate(*inputs)
    except DomainError as error:
        name = {**_ARGUMENTS, **(renamed or {})}.get(error.input, error.input)
        raise DomainError(name, error.value * _FACTORS.get(error.input, 1.0), error.valid) from None
    columns, rows = table or ([], [])
    return Derivation(
        title,
        tuple(Line(*line) for line in lines),
        tuple(columns),
        tuple(tuple(row) for row in rows),
        tuple(Answer(*answer) for answer in answers),
        tuple(notes),
        text,
    )


def burst_tolerance(
    *,
    policy: Literal["dt", "abm", "plasticine", "edt", "tdt", "losspass", "ideal"] | None = None,
    buffer: Quantity = "4 MB",
    port_rate: Quantity = "10 Gb/s",
    ports: int = 32,
    queues: int = 8,
    congested: int = 4,
    congested_queues: int = 1,
    priorities: int = 1,
    alpha: float = 0.5,
    rate: Quantity = "80 Gb/s",
    burst_alpha: float = 64.0,
    burst_ports: int = 1,
    queues_beside_burst: int = 0,
    same_priority: bool = False,
    tau: float = 0.95,
) -> Derivation:
    """How large a burst a policy absorbs without loss, and the state of the buffer that it meets; without ``policy`` all side by side.

    Parameters
    ----------
    policy
        The policy to derive.
    buffer, port_rate, ports, queues
        The switch: shared buffer, rate of every port, ports, queues of a port.
    congested, congested_queues, priorities, alpha
        What is congested when the burst comes: so many ports with so many queues each, spread over priorities, with this alpha.
    rate, burst_alpha, burst_ports, queues_beside_burst, same_priority
        The burst: arrival rate at each of its ports, its alpha, how many ports, congested queues on them, and whether it has the priority of
        the congested queues.
    tau
        LossPass: fraction of a full buffer that packets of large flows hold.

    >>> from bufferlab import theory
    >>> theory.burst_tolerance(congested=4).columns[0]
    'policy'
    """
    burst = {
        "buffer": _size("buffer", buffer),
        "port_rate": _rate("port_rate", port_rate),
        "ports": ports,
        "queues": queues,
        "congested": congested,
        "congested_queues": congested_queues,
        "priorities": priorities,
        "alpha": alpha,
        "rate": _rate("rate", rate),
        "burst_alpha": burst_alpha,
        "burst_ports": burst_ports,
        "queues_beside_burst": queues_beside_burst,
        "same_priority": same_priority,
        "tau": tau,
    }
    return _derived(_bufferlab.theory_burst_tolerance, burst, policy)


def alpha(
    *,
    rate: Quantity,
    duration: Quantity | None = None,
    burst: Quantity | None = None,
    buffer: Quantity = "4 MB",
    port_rate: Quantity = "10 Gb/s",
    others: Sequence[float] = (0.5,),
) -> Derivation:
    """Which alphas absorb a given burst (Plasticine).

    Parameters
    ----------
    rate
        Arrival rate of the burst.
    duration, burst
        How long it arrives, or how much; one of the two.
    buffer, port_rate
        The switch.
    others
        The largest alpha of every other priority.

    >>> from bufferlab import theory
    >>> theory.alpha(rate="80 Gb/s", burst="1 MB")["alpha_low"] > 0
    True
    """
    if (duration is None) == (burst is None):
        raise TypeError("alpha() takes `duration` or `burst`")
    bits = _rate("rate", rate)
    seconds = (
        _time("duration", duration) if duration is not None else _size("burst", burst or 0.0) * 8.0 / bits
    )
    inputs = (_size("buffer", buffer), _rate("port_rate", port_rate), bits, seconds, list(others))
    try:
        return _derived(_bufferlab.theory_alpha, *inputs, renamed={"alpha": "others"})
    except DomainError as error:
        if burst is None or error.input != "duration":
            raise
        # A burst that was given as a size is refused as one.
        ratio = bits / inputs[1]
        most = inputs[0] * ratio / (ratio - 1.0)
        valid = f"more than 0, less than {most:.6g} bytes (then the burst fills the whole buffer)"
        raise DomainError("burst", _size("burst", burst), valid) from None


def shares(
    *,
    buffer: Quantity | None = None,
    queues: Sequence[int] = (1, 2, 4, 8, 32),
    alpha: float | None = None,
    share: float | None = None,
) -> Derivation:
    """Which share of the buffer an alpha gives, and the reverse.

    Parameters
    ----------
    buffer
        Shared buffer, to see sizes instead of percentages.
    queues
        Numbers of equal congested queues.
    alpha, share
        Convert this alpha into a share, or this share (0 to 1) into an alpha.

    >>> from bufferlab import theory
    >>> print(theory.shares(share=0.5).answers[0].text)
    1
    """
    return _derived(_bufferlab.theory_shares, _maybe(_size, "buffer", buffer), list(queues), alpha, share)


def guarantees(
    *, buffer: Quantity = "4 MB", alphas: Sequence[float] = (0.5, 0.5), gamma: float = 1.0
) -> Derivation:
    """What every priority gets at least and at most (ABM).

    Parameters
    ----------
    buffer
        Shared buffer.
    alphas
        Alpha of every priority that uses it.
    gamma
        Smallest drain rate of a congested queue, as a fraction of the port rate.

    >>> from bufferlab import theory
    >>> len(theory.guarantees(alphas=[0.5, 1.0]).rows)
    2
    """
    return _derived(
        _bufferlab.theory_guarantees,
        _size("buffer", buffer),
        list(alphas),
        gamma,
        renamed={"alpha": "alphas"},
    )


def drain_time(
    *,
    buffer: Quantity = "4 MB",
    alphas: Sequence[float] = (0.5, 0.5),
    port_rate: Quantity = "10 Gb/s",
    congested: int = 1,
) -> Derivation:
    """How long a queue takes to drain at most (ABM).

    Parameters
    ----------
    buffer, port_rate
        The switch.
    alphas
        Alpha of every priority that uses the buffer.
    congested
        Congested queues of the priority, on as many ports.

    >>> from bufferlab import theory
    >>> theory.drain_time(congested=2).columns[0]
    'priority'
    """
    return _derived(
        _bufferlab.theory_drain_time,
        _size("buffer", buffer),
        list(alphas),
        _rate("port_rate", port_rate),
        congested,
        renamed={"alpha": "alphas"},
    )


def ecn(
    *,
    port_rate: Quantity = "10 Gb/s",
    rtt: Quantity = "80 us",
    packet: Quantity = "1500 B",
    flows: int = 4,
    buffer: Quantity | None = None,
    threshold: Quantity | None = None,
    burst: Quantity | None = None,
    tau: float = 0.95,
) -> Derivation:
    """Where to mark (ECN's K), and which burst that leaves room for.

    Parameters
    ----------
    port_rate, rtt, packet
        Rate of the port, round trip without queues, size of a packet.
    flows
        Long flows that send at the same time.
    buffer
        Buffer of the port, to see the room for bursts.
    threshold, burst
        K that is set (the least for DCTCP by default), burst to leave room for; both need ``buffer``.
    tau
        LossPass: fraction of a full buffer that packets of large flows hold.

    >>> from bufferlab import theory
    >>> len(theory.ecn(rtt="100 us").lines) > 0
    True
    """
    if buffer is None and (threshold is not None or burst is not None):
        raise TypeError("ecn() takes `threshold` and `burst` together with `buffer`")
    asked = {
        "port_rate": _rate("port_rate", port_rate),
        "rtt": _time("rtt", rtt),
        "packet": _size("packet", packet),
        "flows": flows,
        "buffer": _maybe(_size, "buffer", buffer),
        "threshold": _maybe(_size, "threshold", threshold),
        "burst": _maybe(_size, "burst", burst),
        "tau": tau,
    }
    return _derived(_bufferlab.theory_ecn, asked)


def headroom(
    *,
    rate: Quantity = "100 Gb/s",
    cable: float = 40.0,
    mtu: Quantity = "9100 B",
    cell: Quantity = "144 B",
    lossless_mtu: Quantity = "1024 B",
    small_packets: float = 50.0,
    pipeline_latency: float = 18.0,
    mac_phy_delay: float = 0.8,
    gearbox_delay: float = 0.0,
    lanes: int = 4,
    generation: Literal["spectrum-1-to-3", "spectrum-4", "spectrum-5", "spectrum-6"] = "spectrum-1-to-3",
    shared_headroom_pool: bool = False,
    peer_response: float | None = None,
    interface_bits: float | None = None,
    response_bits: float | None = None,
) -> Derivation:
    """PFC headroom by every formula in use, side by side.

    Parameters
    ----------
    rate, cable, mtu, cell
        The link: rate, cable in metres, largest frame of the port, cell of the buffer.
    lossless_mtu, small_packets, pipeline_latency, mac_phy_delay, gearbox_delay, lanes, generation, shared_headroom_pool
        SONiC: largest lossless frame, share of 64 B packets (percent), latency of the pipeline (KiB), delay of MAC and PHY (KiB), of a gearbox
        (ns), lanes of the port, generation of the chip, whether the switch shares a headroom pool.
    peer_response
        SONiC: pause quanta that the peer still sends, for a speed that is not tabulated.
    interface_bits, response_bits
        IEEE: delays of one end in bit times, for a speed that is not tabulated; both or none.

    >>> from bufferlab import theory
    >>> theory.headroom(rate="100 Gb/s")["SONiC xoff"] > 0
    True
    """
    if (interface_bits is None) != (response_bits is None):
        raise TypeError("headroom() takes `interface_bits` and `response_bits` together")
    link = {
        "rate": _rate("rate", rate),
        "cable": cable,
        "mtu": _size("mtu", mtu),
        "cell": _size("cell", cell),
        "lossless_mtu": _size("lossless_mtu", lossless_mtu),
        "small_packets": small_packets,
        "pipeline_latency": pipeline_latency * 1024.0,
        "mac_phy_delay": mac_phy_delay * 1024.0,
        "gearbox_delay": gearbox_delay,
        "lanes": lanes,
        "generation": generation,
        "shared_headroom_pool": shared_headroom_pool,
        "peer_response": peer_response,
        "interface_bits": interface_bits,
        "response_bits": response_bits,
    }
    return _derived(_bufferlab.theory_headroom, link)


def chips(
    *, ports: int = 32, port_rate: Quantity = "10 Gb/s", buffer: Quantity | None = None
) -> Derivation:
    """Buffer per port and Gb/s of known chips; ``buffer`` places yours among them.

    >>> from bufferlab import theory
    >>> len(theory.chips().rows)
    5
    """
    return _derived(
        _bufferlab.theory_chips, ports, _rate("port_rate", port_rate), _maybe(_size, "buffer", buffer)
    )


def tdt_parameters(
    *, buffer: Quantity = "4 MB", packet: Quantity = "1500 B", ports: int = 32, burst_ratio: float = 2.0
) -> Derivation:
    """TDT's counters for a switch; ``burst_ratio`` is the slowest burst to recognise, in port rates.

    >>> from bufferlab import theory
    >>> len(theory.tdt_parameters().answers) > 0
    True
    """
    return _derived(
        _bufferlab.theory_tdt_parameters,
        _size("buffer", buffer),
        _size("packet", packet),
        ports,
        burst_ratio,
    )


@dataclass(frozen=True)
class Axis:
    """An axis of a figure."""

    title: str
    """With its unit."""
    logarithmic: bool
    """Otherwise linear."""


@dataclass(frozen=True)
class Series:
    """A line of a figure."""

    name: str
    """In the legend."""
    x: tuple[float, ...]
    """Where."""
    y: tuple[float, ...]
    """How much."""


@dataclass(frozen=True)
class Figure:
    """A panel of a paper's analytical figure, computed anew."""

    name: str
    """Of the panel."""
    title: str
    """What it shows."""
    note: str
    """What to keep in mind."""
    x: Axis
    """Horizontal axis."""
    y: Axis
    """Vertical axis."""
    series: tuple[Series, ...]
    """Lines, in the order of the legend."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it, as :mod:`bufferlab.plot` does."""
        from . import plot

        return plot.theory_figure(self, ax=ax)


def figures() -> dict[str, str]:
    """The figures that can be computed: name and what they show.

    >>> from bufferlab import theory
    >>> "abm-5" in theory.figures()
    True
    """
    return dict(_bufferlab.theory_figures())


def figure(name: str) -> tuple[Figure, ...]:
    """The panels of a figure.

    >>> from bufferlab import theory
    >>> len(theory.figure("abm-5"))
    8
    """

    def panel(plain: _bufferlab._Panel) -> Figure:
        name, title, note, x, y, series = plain
        lines = (Series(line, *zip(*points)) if points else Series(line, (), ()) for line, points in series)
        return Figure(name, title, note, Axis(*x), Axis(*y), tuple(lines))

    return tuple(panel(plain) for plain in _bufferlab.theory_figure(name))
