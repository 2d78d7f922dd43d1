"""Custom classifiers: a class with ``classify``, which scenarios use by its name.

>>> import bufferlab
>>> from bufferlab import Classifier, Unclassified
>>> @bufferlab.register
... class BySize(Classifier):
...     \"\"\"Packets above a size join the last queue, other packets join queue 0.\"\"\"
...
...     name = "by-size"
...     above: int = bufferlab.param("1000 B", unit="bytes")
...
...     def classify(self, packet: Unclassified) -> int:
...         return self.queues_per_port - 1 if packet.size > self.above else 0
>>> star = bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
>>> run = bufferlab.run(star.with_({"switch.queues_per_port": 4, "switch.classifier": "by-size"}))
>>> sorted({row["priority"] for row in run.queues.arrow.to_pylist() if row["enqueued_packets"]})
[0, 3]

See ``docs/how-to/custom-policies.md``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import _bufferlab
from ._bufferlab import Unclassified
from ._custom import Custom, _PlainParameter, registered

__all__ = ["Classifier", "Unclassified", "custom_classifiers"]


class Classifier(Custom):
    """Base class of custom classifiers. A subclass has a :attr:`name` and :meth:`classify`.

    Every switch has one instance of the class. A switch with several memories has one instance per
    memory.

    Annotated attributes with a default are parameters, as for a :class:`~bufferlab.Policy`. In
    scenarios, parameters are keys beside ``name`` in ``switch.classifier``, which replaces the
    classifier of the policy. A classifier must be deterministic: no clock and no random numbers.
    """

    name: ClassVar[str]
    """Name of the classifier in scenarios: lower-case letters and digits joined by ``-``."""

    queues_per_port: int
    """Number of queues of each port of the switch."""

    def __init__(self, queues_per_port: int, **parameters: Any) -> None:
        self.queues_per_port = queues_per_port
        self._set(parameters)
        self.start()

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        _bufferlab.register_classifier(cls, cls.name, title, summary, parameters)

    def start(self) -> None:
        """Called once when the switch is built. The parameters and :attr:`queues_per_port` are
        already set."""

    def classify(self, packet: Unclassified) -> int:
        """Returns the queue of the port, from 0, that ``packet`` joins.

        Called once for every packet that arrives at the switch. A number that is not a queue of the
        port ends the run with a :class:`~bufferlab.ClassifierError`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no classify")


Classifier._kind, Classifier._base, Classifier._example = "classifier", Classifier, "my-classifier"
Classifier._required = ("classify", "self, packet")


def custom_classifiers() -> dict[str, type[Classifier]]:
    """The custom classifiers of this process by name, in order of registration."""
    return {name: own for name, own in registered("classifier").items() if issubclass(own, Classifier)}
