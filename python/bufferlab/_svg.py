"""Small charts for notebooks: SVG text that needs no library and fits light and dark pages.

Lines and words have the colour of the page's text (``currentColor``). The colours of data have a
middle brightness, so they contrast with white and with black.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Axis", "Line", "Point", "bar", "chart", "color", "strip"]

_COLORS = ("#3d8fd1", "#e0813a", "#35a37a", "#c264b4", "#b59a1c", "#d0595c", "#7c83d6", "#4aa5b8")
"""Colours of data, by number of the policy or class."""

_WIDTH, _HEIGHT = 300.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 18.0, 8.0, 32.0
_BAR_WIDTH, _BAR_HEIGHT = 96.0, 10.0
_STRIP_WIDTH = 160.0


def color(index: int) -> str:
    """Returns the colour of the policy or class with the number ``index``."""
    return _COLORS[index % len(_COLORS)]


@dataclass(frozen=True)
class Point:
    """A point of a line, with an interval if both ends are known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A named line of a chart."""

    label: str
    points: Sequence[Point]
    color: str
    dashed: bool = False
    """Whether a line below this one shows through."""


@dataclass(frozen=True)
class Axis:
    """An axis of a chart: its label, and whether it is logarithmic or begins at zero."""

    label: str
    log: bool = False
    from_zero: bool = False


def bar(value: float, low: float, high: float, scale: tuple[float, float], color: str) -> str:
    """A bar from zero to ``value`` with a whisker from ``low`` to ``high``, on a scale that several
    bars share."""
    least, most = min(scale[0], 0.0), max(scale[1], 0.0)
    span = (most - least) or 1.0

    def at(number: float) -> float:
        return round(1 + (number - least) / span * (_BAR_WIDTH - 2), 1)

    left, right = sorted((at(0.0), at(value)))
    middle = _BAR_HEIGHT / 2
    whisker = f'<path d="M{at(low)} 2V8M{at(low)} {middle}H{at(high)}M{at(high)} 2V8" stroke="currentColor" fill="none"/>' if high > low else ""
    return (
        f'<svg width="{_BAR_WIDTH:g}" height="{_BAR_HEIGHT:g}" style="display:block;margin-left:auto" aria-hidden="true">'
        f'<path d="M1 {_BAR_HEIGHT - 0.5}H{_BAR_WIDTH - 1}" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<rect x="{left}" y="1" width="{max(right - left, 0.5):g}" height="8" fill="{color}"/>{whisker}</svg>'
    )


def strip(numbers: Sequence[float], scale: tuple[float, float], color: str) -> str:
    """A line over ascending numbers on a logarithmic scale that several strips share: thick between
    the first two numbers, with a dot at the first one."""
    across = _Scale(list(scale), Axis("", log=True), 4.0, _STRIP_WIDTH - 4)
    first, second, *_, last = (across.place(number) for number in numbers)
    return (
        f'<svg width="{_STRIP_WIDTH:g}" height="12" style="display:block" aria-hidden="true">'
        f'<path d="M{first} 6H{last}" stroke="{color}" stroke-width="1.5"/>'
        f'<path d="M{first} 6H{second}" stroke="{color}" stroke-width="5"/>'
        f'<circle cx="{first}" cy="6" r="3.5" fill="currentColor"/></svg>'
    )


def chart(title: str, lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """A chart of lines with intervals and a legend; empty text without two different places."""
    lines = [line for line in lines if line.points]
    points = [point for line in lines for point in line.points]
    if not points:
        return ""
    across = _Scale([point.x for point in points], x, _LEFT, _WIDTH - _RIGHT)
    heights = [number for point in points for number in (point.y, point.low, point.high) if number is not None]
    up = _Scale(heights, y, _HEIGHT - _BOTTOM, _TOP)
    if not across.is_useful:
        return ""
    parts = [_axes(across, up, x, y), *(_line(line, across, up) for line in lines)]
    legend = "".join(
        f'<span style="margin-right:1em"><span style="color:{line.color}">&#9632;</span> {escape(line.label)}</span>' for line in lines
    )
    return (
        f'<div style="display:inline-block;margin:4px 16px 4px 0;vertical-align:top;max-width:{_WIDTH:g}px">'
        f"<div><b>{escape(title)}</b></div>"
        f'<svg width="{_WIDTH:g}" height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(title)}" '
        f'font-size="10" font-family="sans-serif" fill="currentColor">{"".join(parts)}</svg>'
        f'<div style="font-size:smaller">{legend if len(lines) > 1 or lines[0].label else ""}</div></div>'
    )


class _Scale:
    """Maps numbers to places on an axis, and chooses the axis's ticks."""

    def __init__(self, numbers: Sequence[float], axis: Axis, start: float, end: float) -> None:
        self.log = axis.log and min(numbers) > 0
        self._of: Callable[[float], float] = math.log10 if self.log else float
        least, most = min(numbers), max(numbers)
        self.is_useful = least < most
        if axis.from_zero and not self.log:
            least, most = min(least, 0.0), max(most, 0.0)
        if least == most:
            least, most = (least / 2, least * 2) if self.log else (least - 1, least + 1)
        self._least, self._most = self._of(least), self._of(most)
        self.start, self.end = start, end

    def place(self, number: float) -> float:
        """Returns the place of a number on the axis (pixels)."""
        share = (self._of(number) - self._least) / (self._most - self._least)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 4) -> list[float]:
        """Returns round numbers within the axis."""
        if self.log and self._most - self._least >= 1:
            powers = range(math.ceil(self._least - 1e-9), math.floor(self._most + 1e-9) + 1)
            return [float(10**power) for power in powers[:: math.ceil(len(powers) / most)]]
        least, highest = (10**self._least, 10**self._most) if self.log else (self._least, self._most)
        rough = (highest - least) / most
        power = 10 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
        first = math.ceil(least / step - 1e-9)
        return [round(index * step, 12) for index in range(first, math.floor(highest / step + 1e-9) + 1)]


def _axes(across: _Scale, up: _Scale, x: Axis, y: Axis) -> str:
    bottom, left = up.start, across.start
    parts = [f'<path d="M{left} {_TOP}V{bottom}H{across.end}" stroke="currentColor" stroke-opacity="0.6" fill="none"/>']
    for tick in up.ticks():
        place = up.place(tick)
        parts.append(f'<path d="M{left} {place}H{across.end}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(f'<text x="{left - 4}" y="{place + 3}" text-anchor="end">{_short(tick)}</text>')
    for tick in across.ticks():
        place = across.place(tick)
        parts.append(f'<path d="M{place} {bottom}v3" stroke="currentColor" stroke-opacity="0.6"/>')
        parts.append(f'<text x="{place}" y="{bottom + 13}" text-anchor="middle">{_short(tick)}</text>')
    middle = (across.start + across.end) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 27}" text-anchor="middle">{escape(x.label)}</text>')
    centre = (up.start + up.end) / 2
    parts.append(f'<text x="10" y="{centre}" text-anchor="middle" transform="rotate(-90 10 {centre})">{escape(y.label)}</text>')
    return "".join(parts)


def _line(line: Line, across: _Scale, up: _Scale) -> str:
    places = [(across.place(point.x), up.place(point.y), point) for point in line.points]
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    path = "L".join(f"{x} {y}" for x, y, _ in places)
    parts = [f'<path d="M{path}" stroke="{line.color}" stroke-width="1.5"{dashes} fill="none" stroke-linejoin="round"/>']
    if len(places) <= 12:
        parts.extend(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{line.color}"/>' for x, y, _ in places)
    for x, _, point in places:
        if point.low is not None and point.high is not None and point.low < point.high:
            parts.append(f'<path d="M{x} {up.place(point.low)}V{up.place(point.high)}" stroke="{line.color}" stroke-opacity="0.7"/>')
    return "".join(parts)


def _short(number: float) -> str:
    """Formats a tick in few characters.

    >>> [_short(number) for number in (0, 0.25, 1500, 2_000_000, 1e-6)]
    ['0', '0.25', '1.5k', '2M', '1e-06']
    """
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= factor:
            return f"{number / factor:g}{letter}"
    return f"{number:g}"
