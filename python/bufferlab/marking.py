"""Custom marking rules: a class with ``marks``, which scenarios use by its name.

>>> import bufferlab
>>> from bufferlab import Buffer, Markable, MarkingRule
>>> @bufferlab.register
... class Waited(MarkingRule):
...     \"\"\"Marks packets on departure that waited longer than a limit.\"\"\"
...
...     name = "waited"
...     longer_than: int = bufferlab.param("100 us", unit="time")
...
...     def marks(self, packet: Markable, buffer: Buffer) -> bool:
...         return packet.departing and packet.waited_ps > self.longer_than
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> dctcp = star.set("transport.0.congestion_control", "dctcp")
>>> run = bufferlab.run(dctcp.set("switch.ecn", {"kind": "waited", "longer_than": "20 us"}))
>>> any(run.queues["marked_packets"].to_pylist())
True

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import _bufferlab
from ._bufferlab import Markable
from ._custom import Custom, _PlainParameter, registered
from .policy import Buffer, Switch

__all__ = ["Markable", "MarkingRule", "custom_marking_rules"]


class MarkingRule(Custom):
    """Base class of custom marking rules. A subclass has a :attr:`name` and :meth:`marks`.

    Every switch has one instance of the class. A switch with several memories has one instance per
    memory.

    Annotated attributes with a default are parameters, as for a :class:`~bufferlab.Policy`.
    In scenarios, parameters are keys of ``[switch.ecn]`` beside ``kind`` and ``priorities``. A rule
    must be deterministic: no clock, and no random numbers except from ``self.switch.seed``.
    """

    name: ClassVar[str]
    """Name (``kind``) of the marking rule in scenarios: lower-case letters and digits joined by
    ``_``."""

    switch: Switch
    """The switch whose packets the marking rule marks."""

    def __init__(self, switch: Switch, **parameters: Any) -> None:
        self.switch = switch
        self._set(parameters)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_marking_rule(cls, cls.name, title, summary, parameters)

    def start(self) -> None:
        """Called once when the switch is built. The parameters and :attr:`switch` are already
        set."""

    def marks(self, packet: Markable, buffer: Buffer) -> bool:
        """Whether the switch marks ``packet``.

        Called for every unmarked packet of an ECN-capable transport. The first call is on arrival,
        when ``buffer`` does not contain the packet yet. The second call is when the transmission
        starts (``packet.departing``), when ``buffer`` no longer contains the packet.
        """
        raise NotImplementedError(f"{type(self).__name__} has no marks")


MarkingRule._kind, MarkingRule._base, MarkingRule._example = "marking rule", MarkingRule, "my_rule"
MarkingRule._required = ("marks", "self, packet, buffer")


def custom_marking_rules() -> dict[str, type[MarkingRule]]:
    """The custom marking rules of this process by name, in order of registration."""
    return {name: own for name, own in registered("marking rule").items() if issubclass(own, MarkingRule)}
