"""Own marking rules: a class with ``marks``, usable wherever a registered kind is.

>>> import bufferlab
>>> from bufferlab import Buffer, Markable, MarkingRule
>>> @bufferlab.register
... class Waited(MarkingRule):
...     \"\"\"Marks on departure whoever has waited for longer than this.\"\"\"
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

``docs/how-to/custom-policies.md`` has the whole story.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import _bufferlab
from ._bufferlab import Markable
from ._own import Own, _PlainParameter, registered
from .policy import Buffer, Switch

__all__ = ["Markable", "MarkingRule", "own_marking_rules"]


class MarkingRule(Own):
    """Base class of own marking rules. A subclass has a :attr:`name` and :meth:`marks`; a switch has an instance of it (each of its memories, if
    it has several).

    Annotated attributes with a default are its parameters, as those of a :class:`~bufferlab.Policy`: keys of ``[switch.ecn]`` beside ``kind``
    and ``priorities``. A rule must be deterministic: no clock, no random numbers but from ``self.switch.seed``.
    """

    name: ClassVar[str]
    """Its ``kind`` in scenarios: lower-case letters and digits joined by ``_``."""

    switch: Switch
    """The switch that it decides for."""

    def __init__(self, switch: Switch, **parameters: Any) -> None:
        self.switch = switch
        for name, value in parameters.items():
            setattr(self, name, value)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_marking_rule(cls, cls.name, title, summary, parameters)

    def start(self) -> None:
        """Called once, when the switch is built: parameters and :attr:`switch` are there."""

    def marks(self, packet: Markable, buffer: Buffer) -> bool:
        """Whether ``packet`` is marked.

        Asked about every packet of an ECN-capable transport that has no mark yet: on arrival, when ``buffer`` does not contain it yet, and again
        when its transmission starts (``packet.departing``), when ``buffer`` no longer contains it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no marks")


MarkingRule._kind, MarkingRule._base, MarkingRule._example = "marking rule", MarkingRule, "my_rule"
MarkingRule._required = ("marks", "self, packet, buffer")


def own_marking_rules() -> dict[str, type[MarkingRule]]:
    """The own marking rules of this process by their names, in the order of their registration."""
    return {name: own for name, own in registered("marking rule").items() if issubclass(own, MarkingRule)}
