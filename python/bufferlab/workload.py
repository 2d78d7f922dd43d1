"""Custom workloads: a class with ``flows``, which scenarios use by its name.

>>> import bufferlab
>>> from collections.abc import Iterator
>>> from random import Random
>>> from bufferlab import Flow, Workload
>>> @bufferlab.register
... class RingPulses(Workload):
...     \"\"\"Every host sends to the next host, all at the same time.\"\"\"
...
...     name = "ring_pulses"
...     size: int = bufferlab.param("20 KB", unit="bytes")
...     period: int = bufferlab.param("100 us", unit="time")
...
...     def flows(self, random: Random) -> Iterator[Flow]:
...         hosts = len(self.network.hosts)
...         for start in range(0, self.network.duration_ps, self.period):
...             for src in range(hosts):
...                 yield Flow(start, src, (src + 1) % hosts, self.size)
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="1 ms")
>>> pulses = star.set("workload", [{"kind": "ring_pulses", "size": "5 KB"}])
>>> bufferlab.run(pulses).flows.num_rows
80

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from . import _bufferlab
from ._bufferlab import Flow
from ._custom import Custom, _PlainParameter, registered

__all__ = ["Flow", "Network", "Workload", "custom_workloads"]


@dataclass(frozen=True)
class Network:
    """The properties of a network that a custom workload sees."""

    hosts: tuple[str, ...]
    """Names of the hosts; the number of a host is its index in this tuple."""
    host_rates_bps: tuple[int, ...]
    """Rate at which each host can send (bits per second)."""
    racks: tuple[tuple[int, ...], ...]
    """Numbers of the hosts in each rack of the network."""
    switches: tuple[str, ...]
    """Names of the network's switches."""
    buffers: tuple[int, ...]
    """Buffer size of each switch (bytes)."""
    duration_ps: int
    """Time before which all flows of the workload start (ps)."""

    def __post_init__(self) -> None:
        for field in ("hosts", "host_rates_bps", "switches", "buffers"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        object.__setattr__(self, "racks", tuple(tuple(rack) for rack in self.racks))


class Workload(Custom):
    """Base class of custom workloads. A subclass has a :attr:`name` and :meth:`flows`.

    Annotated attributes with a default are parameters, as for a :class:`~bufferlab.Policy`.
    In scenarios, the parameters are keys of the table ``[[workload]]``.
    """

    name: ClassVar[str]
    """Name (``kind``) of the workload in scenarios: lower-case letters
    and digits joined by ``_``."""

    network: Network
    """The network in which the workload's hosts are."""

    def __init__(self, network: Network, **parameters: Any) -> None:
        self.network = network
        self._set(parameters)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_workload(cls, cls.name, title, summary, parameters)

    def start(self) -> None:
        """Called once when the scenario is read. The parameters and :attr:`network` are already
        set.

        If the method raises an exception, the scenario has an error.
        """

    def flows(self, random: Random) -> Iterable[Flow]:
        """Returns all flows of the workload in a run, in any order.

        Draw every random number from the argument ``random``. Its seed depends on the seed of the
        run and the class of the workload. So equal seeds give equal flows, whatever else the
        scenario changes. (For NumPy: ``numpy.random.default_rng(random.getrandbits(64))``.)
        """
        raise NotImplementedError(f"{type(self).__name__} has no flows")

    def describe(self) -> str:
        """Returns a description of the workload in one line, for ``bufferlab check``."""
        return self.summary or self.title or type(self).__name__


Workload._kind, Workload._base, Workload._example = "workload", Workload, "my_workload"
Workload._required = ("flows", "self, random")


def custom_workloads() -> dict[str, type[Workload]]:
    """The custom workloads of this process by name, in order of registration."""
    return {name: own for name, own in registered("workload").items() if issubclass(own, Workload)}
