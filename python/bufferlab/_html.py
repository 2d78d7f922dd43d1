"""HTML tables of results, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["table"]


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table. All texts are escaped, and ``None`` is an empty cell.

    >>> table("Sizes", ["name", "bytes"], [("a<b", 3)])
    '<table><caption>Sizes</caption><tr><th>name</th><th>bytes</th></tr><tr><td>a&lt;b</td><td>3</td></tr></table>'
    """
    lines = [_row("th", header), *(_row("td", row) for row in rows)]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{'' if cell is None else escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
