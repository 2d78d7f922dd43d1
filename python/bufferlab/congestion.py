"""Custom congestion controls: a class with ``on_ack``, which scenarios use by its name.

>>> import bufferlab
>>> from bufferlab import Ack, CongestionControl, Window
>>> @bufferlab.register
... class Gentle(CongestionControl):
...     \"\"\"Adds one segment per round trip, and cuts a fraction of the window.\"\"\"
...
...     name = "gentle"
...     decrease: float = 0.5
...
...     def on_ack(self, ack: Ack, window: Window) -> None:
...         if ack.may_grow:
...             window.grow(ack.delivered)
...
...     def on_congestion(
...         self, event: str, flight: int, now_ps: int, window: Window
...     ) -> None:
...         window.slow_start_threshold = max(2.0, (1 - self.decrease) * window.size)
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> gentle = {"name": "gentle", "decrease": 0.25}
>>> bufferlab.run(star.set("transport.0.congestion_control", gentle)).flows.num_rows > 0
True

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from . import _bufferlab
from ._bufferlab import Ack, Hop, Window
from ._custom import Custom, _PlainParameter, registered

__all__ = ["Ack", "CongestionControl", "Hop", "Path", "Window", "custom_congestion_controls"]


@dataclass(frozen=True)
class Path:
    """The transport and path of a flow, which its congestion control can read."""

    line_rate_bps: int
    """Rate of the sender's link (bits per second)."""
    base_rtt_ps: int
    """Round-trip time of a full segment and its ACK on an empty network (ps)."""
    segment_bytes: int
    """Size of a full segment as windows count it (bytes)."""
    initial_window: int
    """Congestion window of a new flow (segments)."""


class CongestionControl(Custom):
    """Base class of custom congestion controls. A subclass has a :attr:`name` and :meth:`on_ack`.

    Every flow has a separate instance of the class.

    Annotated attributes with a default are parameters, as for a :class:`~bufferlab.Policy`:
    ``congestion_control = { name = "mine", gain = 0.1 }`` below ``[[transport]]``.

    Windows are in segments. ``window`` is the window of the flow; changes take effect when the
    method returns. A method that is not defined is never called, except :meth:`on_congestion`.
    A congestion control must be deterministic: no clock, no random numbers.
    """

    name: ClassVar[str]
    """Name of the congestion control in scenarios: lower-case letters
    and digits joined by ``-``."""
    uses_ecn: ClassVar[bool] = False
    """Whether the flow's packets are ECN-capable, so that switches mark the packets instead of
    dropping them."""
    wants_telemetry: ClassVar[bool] = False
    """Whether every switch on the path reports its queue length (:attr:`Ack.telemetry`)."""
    governs_window: ClassVar[bool] = False
    """Whether the congestion control alone sets the window, also during recovery from losses.

    After a timeout, the window is still one segment until the next ACK. Queue pairs (RDMA) accept
    only congestion controls that set the window alone.
    """
    starts_at_line_rate: ClassVar[bool] = False
    """Whether the default initial window is one bandwidth-delay product, so that flows start at
    line rate."""

    path: Path
    """Transport and path of the controlled flow."""

    def __init__(self, path: Path, window: Window, **parameters: Any) -> None:
        self.path = path
        self._set(parameters)
        self.start(window)

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        wishes = {
            "uses_ecn": cls.uses_ecn,
            "wants_telemetry": cls.wants_telemetry,
            "owns_window": cls.governs_window,
            "starts_at_line_rate": cls.starts_at_line_rate,
        }
        if not cls.governs_window and "on_congestion" not in hooks:
            # Without a reaction to congestion, the window would never shrink after the slow start.
            hooks = [*hooks, "on_congestion"]
        _bufferlab.register_congestion_control(cls, cls.name, title, summary, parameters, hooks, wishes)

    def start(self, window: Window) -> None:
        """Called once with the first congestion window, when the flow starts.

        The parameters of the class and :attr:`path` are already set.
        """

    def on_ack(self, ack: Ack, window: Window) -> None:
        """Called for every ACK of the flow. The window may grow only if ``ack.may_grow``."""
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window) -> None:
        """Called when the flow must slow down while ``flight`` segments are in the network.

        The method sets ``window.slow_start_threshold``. Loss recovery then sets the window itself,
        unless the class :attr:`governs_window`. By default, the threshold follows NewReno. After a
        loss or a timeout the threshold is half the flight. After a mark the threshold is half the
        window. The threshold is at least two segments.
        """
        base = window.size if event == "mark" else float(flight)
        window.slow_start_threshold = max(base / 2.0, 2.0)

    def on_notification(self, now_ps: int, window: Window) -> None:
        """Called for every congestion notification packet (RDMA)."""

    def on_sent(self, now_ps: int, size: int, window: Window) -> None:
        """Called before a queue pair sends a packet of ``size`` bytes (RDMA)."""

    def begin_message(self, idle_ps: int) -> None:
        """Called when an open connection sends another message after ``idle_ps`` (ps) without
        traffic.

        The segments of the new message count from 0.
        """


CongestionControl._kind, CongestionControl._base = "congestion control", CongestionControl
CongestionControl._example = "my-control"
CongestionControl._required = ("on_ack", "self, ack, window")
CongestionControl._hooks = ("on_congestion", "on_notification", "on_sent", "begin_message")


def custom_congestion_controls() -> dict[str, type[CongestionControl]]:
    """The custom congestion controls of this process by name, in order of registration."""
    found = registered("congestion control").items()
    return {name: own for name, own in found if issubclass(own, CongestionControl)}
