"""Calculators for formulas of the papers, with derivations, and the papers' analytical figures.

Quantities are text with a unit (``"4 MB"``, ``"10 Gb/s"``, ``"80 us"``) or numbers in base
units (bytes, bits per second, seconds). Numbers are rounded to whole bytes, bits per second
and picoseconds. Every calculator returns a :class:`Derivation`: print it, or read its numbers.

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
    """An axis of a figure's chart."""

    title: str
    """Title of the axis with its unit."""
    logarithmic: bool
    """Whether the chart's axis is logarithmic; otherwise the axis is linear."""


@dataclass(frozen=True)
class Series:
    """A line of a figure's chart."""

    name: str
    """Name of the line in the legend."""
    x: tuple[float, ...]
    """Horizontal coordinates of the points."""
    y: tuple[float, ...]
    """Vertical coordinates of the points, one for every value of :attr:`x`."""


@dataclass(frozen=True)
class Figure:
    """A panel of a paper's analytical figure, with recomputed values."""

    name: str
    """Name of the figure's panel."""
    title: str
    """Title of the figure's panel."""
    note: str
    """Assumptions and limits of the figure's panel."""
    x: Axis
    """Horizontal axis of the figure's panel."""
    y: Axis
    """Vertical axis of the figure's panel."""
    series: tuple[Series, ...]
    """Lines of the figure's panel, in the order of the legend."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the panel with :func:`bufferlab.plot.theory_figure` and returns the axes."""
        from . import plot

        return plot.theory_figure(self, ax=ax)


def figures() -> dict[str, str]:
    """Returns the papers' figures that bufferlab computes from formulas: their titles by name.

    >>> from bufferlab import theory
    >>> "abm-5" in theory.figures()
    True
    """
    return dict(_bufferlab.theory_figures())


def figure(name: str) -> tuple[Figure, ...]:
    """Returns the panels of a paper's analytical figure.

    >>> from bufferlab import theory
    >>> len(theory.figure("abm-5"))
    8

    Raises
    ------
    UnknownNameError
        If no figure has this name; :func:`figures` lists the names.
    """
    known = figures()
    if not (isinstance(name, str) and name in known):
        raise _arguments.unknown("name", "figure", name, known)

    def panel(plain: _bufferlab._Panel) -> Figure:
        name, title, note, x, y, series = plain
        lines = (Series(line, *zip(*points)) if points else Series(line, (), ()) for line, points in series)
        return Figure(name, title, note, Axis(*x), Axis(*y), tuple(lines))

    return tuple(panel(plain) for plain in _bufferlab.theory_figure(name))
