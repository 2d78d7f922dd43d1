"""HTML tables and small charts of results, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from . import _svg

__all__ = ["Markup", "estimates", "table"]


class Markup(str):
    """HTML that a table shows without escapes."""

    __slots__ = ()


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table. All texts except :class:`Markup` are escaped, and ``None`` is an empty cell.

    >>> table("Sizes", ["name", "bytes"], [("a<b", 3)])
    '<table><caption>Sizes</caption><tr><th>name</th><th>bytes</th></tr><tr><td>a&lt;b</td><td>3</td></tr></table>'
    """
    lines = [_row("th", header), *(_row("td", row) for row in rows)]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(cell: object) -> str:
    if isinstance(cell, Markup):
        return cell
    return "" if cell is None else escape(str(cell))


def estimates(cells: Sequence[tuple[float, float | None, str] | None], columns: int) -> list[Markup | None]:
    """Table cells with a mean, a bar with the interval, and a remark.

    A cell has a mean, half the width of its interval, and the remark. The bars share one scale.
    Each of the ``columns`` has a colour.
    """
    known = [cell for cell in cells if cell is not None]
    ends = [mean + sign * (half or 0.0) for mean, half, _ in known for sign in (-1, 1)]
    scale = (min(ends, default=0.0), max(ends, default=0.0))
    shown: list[Markup | None] = []
    for index, cell in enumerate(cells):
        if cell is None:
            shown.append(None)
            continue
        mean, half, remark = cell
        text = f"{mean:.6g}" if half is None else f"{mean:.6g} ± {half:.3g}"
        width = half or 0.0
        drawn = _svg.bar(mean, mean - width, mean + width, scale, _svg.color(index % columns))
        more = f'<span style="font-size:smaller">{escape(remark)}</span>' if remark else ""
        shown.append(Markup(f"{escape(text)}{drawn}{more}"))
    return shown
