"""Own congestion controls: a class with ``on_ack``, usable wherever a registered name is.

>>> import bufferlab
>>> from bufferlab import Ack, CongestionControl, Window
>>> @bufferlab.register
... class Gentle(CongestionControl):
...     \"\"\"One segment per round trip more, a chosen part of the window less.\"\"\"
...
...     name = "gentle"
...     decrease: float = 0.5
...
...     def on_ack(self, ack: Ack, window: Window) -> None:
...         if ack.may_grow:
...             window.grow(ack.delivered)
...
...     def on_congestion(self, event: str, flight: int, now_ps: int, window: Window) -> None:
...         window.slow_start_threshold = max(2.0, (1 - self.decrease) * window.size)
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> bufferlab.run(star.set("transport.0.congestion_control", {"name": "gentle", "decrease": 0.25})).flows.num_rows > 0
True

``docs/how-to/custom-policies.md`` has the whole story.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from . import _bufferlab
from ._bufferlab import Ack, Hop, Window
from ._own import Own, _PlainParameter, registered

__all__ = ["Ack", "CongestionControl", "Hop", "Path", "Window", "own_congestion_controls"]


@dataclass(frozen=True)
class Path:
    """What a congestion control may know of its flow's transport and path."""

    line_rate_bps: int
    """Rate of the sender's own link."""
    base_rtt_ps: int
    """The round trip on an empty network, of a full segment and its ACK."""
    segment_bytes: int
    """A full segment as windows count it."""
    initial_window: int
    """The first window (segments)."""


class CongestionControl(Own):
    """Base class of own congestion controls. A subclass has a :attr:`name` and :meth:`on_ack`; an instance is the control of one flow.

    Annotated attributes with a default are its parameters, as those of a :class:`~bufferlab.Policy`:
    ``congestion_control = { name = "mine", gain = 0.1 }`` below ``[[transport]]``.

    Windows are in segments. ``window`` shows the flow's window; what a method writes into it holds when the method returns. A method that is
    not defined is never called, but for :meth:`on_congestion`. A control must be deterministic: no clock, no random numbers.
    """

    name: ClassVar[str]
    """Name in scenarios: lower-case letters and digits joined by ``-``."""
    uses_ecn: ClassVar[bool] = False
    """Whether it wants its packets marked rather than dropped."""
    wants_telemetry: ClassVar[bool] = False
    """Whether every switch on the way must report its queue (:attr:`Ack.telemetry`)."""
    governs_window: ClassVar[bool] = False
    """Whether it alone sets the window: losses change it only as far as the control wants. Queue pairs (RDMA) take such controls only."""
    starts_at_line_rate: ClassVar[bool] = False
    """Whether a flow begins with one bandwidth-delay product in flight, where the scenario does not say otherwise."""

    path: Path
    """Transport and path of its flow."""

    def __init__(self, path: Path, window: Window, **parameters: Any) -> None:
        self.path = path
        for name, value in parameters.items():
            setattr(self, name, value)
        self.start(window)

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        wishes = {
            "uses_ecn": cls.uses_ecn,
            "wants_telemetry": cls.wants_telemetry,
            "governs_window": cls.governs_window,
            "starts_at_line_rate": cls.starts_at_line_rate,
        }
        if not cls.governs_window and "on_congestion" not in hooks:
            # Without any reaction a window would stay as large as it was in slow start.
            hooks = [*hooks, "on_congestion"]
        _bufferlab.register_congestion_control(cls, cls.name, title, summary, parameters, hooks, wishes)

    def start(self, window: Window) -> None:
        """Called once, when the flow begins, with its first window: parameters and :attr:`path` are there."""

    def on_ack(self, ack: Ack, window: Window) -> None:
        """An ACK has come. The window grows only if ``ack.may_grow``."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window) -> None:
        """The flow must slow down, with ``flight`` segments in the network: sets ``window.slow_start_threshold``.

        The window itself follows as the recovery demands, unless the class :attr:`governs_window`. By default, half as NewReno: of the flight
        after a loss or timeout, of the window after a mark, and at least two segments.
        """
        base = window.size if event == "mark" else float(flight)
        window.slow_start_threshold = max(base / 2.0, 2.0)

    def on_notification(self, now_ps: int, window: Window) -> None:
        """A congestion notification has come in a frame of its own (RDMA)."""

    def on_sent(self, now_ps: int, size: int, window: Window) -> None:
        """A packet of ``size`` bytes is about to be sent by a queue pair (RDMA)."""

    def begin_message(self, idle_ps: int) -> None:
        """A connection that stays open carries another message, whose segments count from 0, after it was idle for so long."""


CongestionControl._kind, CongestionControl._base = "congestion control", CongestionControl
CongestionControl._example = "my-control"
CongestionControl._required = ("on_ack", "self, ack, window")
CongestionControl._hooks = ("on_congestion", "on_notification", "on_sent", "begin_message")


def own_congestion_controls() -> dict[str, type[CongestionControl]]:
    """The own congestion controls of this process by their names, in the order of their registration."""
    found = registered("congestion control").items()
    return {name: own for name, own in found if issubclass(own, CongestionControl)}
