"""What the papers prove, for your switch: calculators that show their derivation, and the papers' analytical figures.

Quantities are text with a unit (``"4 MB"``, ``"10 Gb/s"``, ``"80 us"``) or numbers in base units: bytes, bits per second, seconds, rounded
to whole bytes, bits per second and picoseconds. Every calculator returns a :class:`Derivation`: print it, or take a number out of it.

>>> from bufferlab import theory
>>> answer = theory.burst_tolerance(policy="dt", ports=32, queues=8, congested=4)
>>> round(answer["arrived"])
3430486
>>> print(answer.lines[0].name, answer.lines[0].result)
buffer 4 MB
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _arguments, _bufferlab, _calculators
from ._calculators import *  # noqa: F403
from ._derivations import Answer, Check, Derivation, Line, Quantity, Verification

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Answer",
    "Axis",
    "Check",
    "Derivation",
    "Figure",
    "Line",
    "Quantity",
    "Series",
    "Verification",
    "figure",
    "figures",
]
__all__ += _calculators.__all__


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

    Raises
    ------
    UnknownNameError
        If no figure is called so; :func:`figures` has them.
    """
    known = figures()
    if not (isinstance(name, str) and name in known):
        raise _arguments.unknown("name", "figure", name, known)

    def panel(plain: _bufferlab._Panel) -> Figure:
        name, title, note, x, y, series = plain
        lines = (Series(line, *zip(*points)) if points else Series(line, (), ()) for line, points in series)
        return Figure(name, title, note, Axis(*x), Axis(*y), tuple(lines))

    return tuple(panel(plain) for plain in _bufferlab.theory_figure(name))
