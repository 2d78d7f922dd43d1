"""Custom topologies: a class with ``graph``, which scenarios use by its name.

>>> import bufferlab
>>> from bufferlab import Cable, Graph, Topology
>>> @bufferlab.register
... class Line(Topology):
...     \"\"\"Switches in a line, one host on each.\"\"\"
...
...     name = "line"
...     switches: int = 3
...     rate: int = bufferlab.param("10 Gb/s", unit="rate")
...
...     def graph(self) -> Graph:
...         numbers = range(self.switches)
...         cables = [Cable(f"h{i}", f"s{i}", self.rate, 1_000_000) for i in numbers]
...         cables += [Cable(f"s{i}", f"s{i + 1}", self.rate, 1_000_000) for i in numbers[:-1]]
...         return [f"h{i}" for i in numbers], [f"s{i}" for i in numbers], cables
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> line = {"topology": {"kind": Line, "switches": 8}, "workload.0.pattern": "all_to_all"}
>>> run = bufferlab.run(star.with_(line))
>>> len(set(run.queues["switch"].to_pylist()))
8

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from . import _bufferlab
from ._bufferlab import Cable
from ._custom import Custom, _PlainParameter, registered

__all__ = ["Cable", "Graph", "Topology", "custom_topologies"]

Graph = tuple[Iterable[str], Iterable[str], Iterable[Cable]]
"""A network: the names of its hosts and of its switches, and its cables."""


class Topology(Custom):
    """Base class of custom topologies. A subclass has a :attr:`name` and :meth:`graph`.

    Annotated attributes with a default are parameters, as for a :class:`~bufferlab.Policy`.
    In scenarios, the parameters are keys of ``[topology]``.
    """

    name: ClassVar[str]
    """Name (``kind``) of the topology in scenarios: lower-case letters and digits joined by
    ``_``."""

    def __init__(self, **parameters: Any) -> None:
        self._set(parameters)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_topology(cls, cls.name, title, summary, parameters)

    def start(self) -> None:
        """Called once when the scenario is read. The parameters are already set.

        If the method raises an exception, the scenario has an error.
        """

    def graph(self) -> Graph:
        """Returns the hosts, the switches and the cables of the network.

        Called once when the scenario is read. Every host has exactly one cable, which leads to a
        switch. The order of the cables is the order of a switch's ports. Tiers, routes, racks and
        base round trips follow from the graph. An exception, or a graph that is not a network, is
        an error of the scenario.
        """
        raise NotImplementedError(f"{type(self).__name__} has no graph")


Topology._kind, Topology._base, Topology._example = "topology", Topology, "my_topology"
Topology._required = ("graph", "self")


def custom_topologies() -> dict[str, type[Topology]]:
    """The custom topologies of this process by name, in order of registration."""
    return {name: own for name, own in registered("topology").items() if issubclass(own, Topology)}
