"""Charts of a run's tables, which notebooks show."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute

from . import _svg

__all__ = ["occupancies", "slowdowns"]

# The stubs of pyarrow refuse calls that its documentation shows.
pc: Any = pyarrow.compute

_LINES_MAX = 6
"""Largest number of lines in a chart of a notebook."""

_POINTS_MAX = 120
"""Largest number of points of a line in a chart of a notebook."""


def slowdowns(flows: Any) -> str:
    """A chart of the fraction of each class's flows with at most a slowdown."""
    names: list[Any] = pc.unique(flows["class"]).to_pylist()[:_LINES_MAX]
    shares = [index / _POINTS_MAX for index in range(_POINTS_MAX + 1)]
    lines = []
    for index, name in enumerate(names):
        values = flows.filter(pc.equal(flows["class"].cast(pa.string()), name))["slowdown"].drop_null()
        if len(values) > 0:
            found: list[Any] = pc.quantile(values, q=shares).to_pylist()
            points = [_svg.Point(value, share) for value, share in zip(found, shares)]
            lines.append(_svg.Line(name, points, _svg.color(index)))
    return _svg.chart("Slowdown of flows", lines, _svg.Axis("slowdown", log=True), _svg.Axis("fraction of flows", from_zero=True))


def occupancies(series: Any) -> str:
    """A chart of the largest occupancy of each sampled switch in each of many equal intervals."""
    rows = series.filter(pc.equal(series["scope"].cast(pa.string()), "switch"))
    if rows.num_rows == 0:
        return ""
    end: int = pc.max(rows["time_ns"]).as_py() + 1
    width = -(-end // _POINTS_MAX)
    columns: dict[str, Any] = {
        "switch": rows["switch"].cast(pa.string()),
        "interval": pc.divide(rows["time_ns"], width),
        "bytes": rows["occupancy_bytes"],
    }
    rows = pa.table(columns)
    lines = []
    names: list[Any] = pc.unique(rows["switch"]).to_pylist()[:_LINES_MAX]
    for index, name in enumerate(names):
        peaks = rows.filter(pc.equal(rows["switch"], name)).group_by("interval").aggregate([("bytes", "max")]).sort_by("interval")
        pairs: list[tuple[Any, Any]] = list(zip(peaks["interval"].to_pylist(), peaks["bytes_max"].to_pylist()))
        points = [_svg.Point((interval + 0.5) * width / 1e6, peak / 1e3) for interval, peak in pairs]
        lines.append(_svg.Line(name, points, _svg.color(index)))
    return _svg.chart("Buffer in use, peaks", lines, _svg.Axis("time (ms)"), _svg.Axis("KB", from_zero=True))
