"""Plots of runs, comparisons, sweeps and analytical figures.

Every function draws into the axes ``ax``, or into a new figure, and returns the axes. The library
matplotlib is an extra: ``pip install 'bufferlab[plot]'``.

>>> import bufferlab
>>> comparison = bufferlab.compare("star-incast", policies=["dt", "cs", "abm"], seeds=3)
>>> ax = bufferlab.plot.compare(comparison, "class.incast.qct_mean_ms")
>>> ax.get_ylabel()
'incast queries: QCT mean (ms)'
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _arguments
from ._columns import base_units
from .comparisons import Comparison
from .exceptions import MissingExtraError
from .runs import Metric, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from .sweeps import Sweep
    from .theory import Figure

__all__ = ["cdf", "compare", "occupancy", "slowdown_by_size", "sweep", "theory_figure"]

Runs = Union[Run, Comparison, Mapping[str, Run], Sequence[Run]]
"""The type of runs to draw: one run, several runs, runs by label, or a comparison (a line per
policy, with all seeds)."""


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        if not callable(getattr(ax, "errorbar", None)):
            raise _arguments.refuse("ax", ax, "axes of matplotlib, or None")
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    _, made = pyplot.subplots(layout="constrained")
    return made


def _numpy() -> Any:
    """Imports NumPy, on which matplotlib depends."""
    try:
        import numpy
    except ImportError as error:
        raise MissingExtraError("numpy", "plot") from error
    return numpy


def _lines(runs: Runs) -> dict[str, list[Run]]:
    """The runs whose values a line of a plot shows, by label of the line."""
    if isinstance(runs, Run):
        return {runs.policy: [runs]}
    lines: dict[str, list[Run]] = {}
    if isinstance(runs, Comparison):
        found = runs.runs()
        for policy in runs.policies:
            lines[policy] = [run for (label, _), run in found.items() if label == policy]
        return lines
    expected = "a Run, a Comparison, a list of runs, or a dictionary of them"
    if isinstance(runs, Mapping):
        return {str(label): [_arguments.instance("runs", run, Run, expected)] for label, run in runs.items()}
    if isinstance(runs, str) or not isinstance(runs, Iterable):
        raise _arguments.refuse("runs", runs, expected)
    for run in runs:
        lines.setdefault(_arguments.instance("runs", run, Run, expected).policy, []).append(run)
    return lines


def _where(table: Any, column: str, value: str) -> Any:
    """The rows of an Arrow table whose text column ``name`` has the given value."""
    import pyarrow
    import pyarrow.compute

    words = table[column].cast(pyarrow.string())
    equal: Any = pyarrow.compute.equal
    return table.filter(equal(words, value))


def _column(runs: Iterable[Run], table: Literal["flows", "queries"], column: str, only: str | None) -> NDArray[Any]:
    """Values of a numeric column of several runs, without nulls; ``only`` selects a traffic
    class."""
    numpy = _numpy()
    parts = []
    for run in runs:
        arrow: Any = run.table(table).arrow
        if not (isinstance(column, str) and column in arrow.column_names):
            raise _arguments.unknown("column", "column", column, arrow.column_names)
        if not _is_numeric(arrow[column].type):
            raise _arguments.refuse("column", column, "a column of numbers")
        if only is not None:
            arrow = _where(arrow, "class", only)
        parts.append(arrow[column].drop_null().to_numpy())
    values: NDArray[Any] = numpy.concatenate(parts).astype(float) if parts else numpy.empty(0)
    return values


def _is_numeric(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


_QUANTITIES: dict[str, tuple[str, float]] = {
    "slowdown": ("slowdown", 1.0),
    "fct_ns": ("flow completion time (µs)", 1e-3),
    "qct_ns": ("query completion time (ms)", 1e-6),
    "size_bytes": ("flow size (KB)", 1e-3),
}


def cdf(
    runs: Runs,
    *,
    column: str = "fct_ns",
    table: Literal["flows", "queries"] = "flows",
    traffic_class: str | None = None,
    tail: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draws the cumulative distribution of a column over flows or queries.

    Parameters
    ----------
    runs
        Runs to draw, of the type :data:`Runs`.
    column
        ``fct_ns`` or ``slowdown`` of flows, ``qct_ns`` or ``slowdown`` of queries,
        or another numeric column of the table.
    table
        Name of the table: ``flows`` or ``queries``.
    traffic_class
        Traffic class to draw; by default all classes.
    tail
        Whether to draw the fraction of *longer* values, on a logarithmic scale that shows the tail.

    >>> import bufferlab
    >>> run = bufferlab.run("scenarios/star-incast.toml")
    >>> bufferlab.plot.cdf(run, column="slowdown").get_xlabel()
    'slowdown'
    """
    lines = _lines(runs)
    table = "queries" if _arguments.choice("table", table, ("flows", "queries")) == "queries" else "flows"
    only = _arguments.optional_text("traffic_class", traffic_class, "the name of a class")
    tail = _arguments.flag("tail", tail)
    column = _arguments.text("column", column, "the name of a column")
    ax = _axes(ax)
    numpy = _numpy()
    title, factor = _QUANTITIES.get(column, (column, 1.0))
    for label, of_line in lines.items():
        values = numpy.sort(_column(of_line, table, column, only)) * factor
        if not len(values):
            continue
        rank = numpy.arange(1, len(values) + 1) / len(values)
        ax.step(values, 1.0 - rank + 1.0 / len(values) if tail else rank, where="post", label=label)
    ax.set_xscale("log")
    ax.set_xlabel(title)
    ax.set_ylabel(f"{table}, part that took {'longer' if tail else 'at most as long'}")
    if tail:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0.0, 1.02)
    return _finish(ax)


def slowdown_by_size(
    runs: Runs,
    *,
    percentile: float = 99.0,
    bins: int = 10,
    traffic_class: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws a percentile of the slowdown (nearest rank) over the flow size, in bins of equal
    counts.

    Parameters
    ----------
    runs
        Runs to draw, of the type :data:`Runs`.
    percentile
        Percentile of the slowdown, from 0 to 100.
    bins
        Number of bins over the flow size.
    traffic_class
        Traffic class to draw; by default all classes.
    """
    lines = _lines(runs)
    percentile = _arguments.number("percentile", percentile, least=0.0, most=100.0)
    bins = _arguments.whole("bins", bins, least=1, most=1_000_000)
    only = _arguments.optional_text("traffic_class", traffic_class, "the name of a class")
    ax = _axes(ax)
    numpy = _numpy()
    for label, of_line in lines.items():
        sizes, slowdowns = [], []
        for run in of_line:
            flows: Any = run.flows.arrow.select(["class", "size_bytes", "slowdown"]).drop_null()
            if only is not None:
                flows = _where(flows, "class", only)
            sizes.append(flows["size_bytes"].to_numpy())
            slowdowns.append(flows["slowdown"].to_numpy())
        size, slowdown = numpy.concatenate(sizes), numpy.concatenate(slowdowns)
        if not len(size):
            continue
        edges = numpy.unique(numpy.quantile(size, numpy.linspace(0.0, 1.0, bins + 1)))
        place = numpy.clip(numpy.searchsorted(edges, size, side="right") - 1, 0, max(len(edges) - 2, 0))
        x, y = [], []
        for bin_ in numpy.unique(place):
            inside = numpy.sort(slowdown[place == bin_])
            x.append(float(numpy.median(size[place == bin_])) * 1e-3)
            y.append(float(inside[max(int(numpy.ceil(percentile / 100.0 * len(inside))) - 1, 0)]))
        ax.plot(x, y, marker="o", label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("flow size (KB)")
    ax.set_ylabel(f"slowdown, p{percentile:g}")
    return _finish(ax)


def occupancy(run: Run, *, switch: str | None = None, percent: bool = False, ax: Axes | None = None) -> Axes:
    """Draws the occupancy of the sampled switches over time.

    Parameters
    ----------
    run
        The run to draw. Its scenario selects the sampled switches and the interval
        (``output.sample_interval``).
    switch
        Name of the switch to draw; by default all sampled switches.
    percent
        Whether to draw the occupancy in percent of the buffer instead of kilobytes.
    """
    _arguments.instance("run", run, Run, "a Run")
    percent = _arguments.flag("percent", percent)
    names = run.manifest["names"]["switches"]
    if switch is not None and not (isinstance(switch, str) and switch in names):
        raise _arguments.unknown("switch", "switch", switch, names)
    ax = _axes(ax)
    series = _where(run.series.arrow, "scope", "switch")
    for name in [switch] if switch is not None else series["switch"].unique().to_pylist():
        rows = _where(series, "switch", name)
        buffer = run.manifest["totals"]["buffer_bytes"][names.index(name)]
        factor = 100.0 / buffer if percent else 1e-3
        times = rows["time_ns"].to_numpy() * 1e-6
        ax.plot(times, rows["occupancy_bytes"].to_numpy() * factor, label=name, drawstyle="steps-post")
        if not percent:
            ax.axhline(buffer * factor, color="0.6", linestyle="--", linewidth=1.0)
    ax.set_xlabel("time (ms)")
    ax.set_ylabel("buffer in use (%)" if percent else "buffer in use (KB)")
    ax.set_ylim(bottom=0.0)
    return _finish(ax)


def _title(metric: Metric) -> str:
    unit = "" if metric.unit in ("x", "#", "0..1") else f" ({metric.unit})"
    return f"{metric.group}: {metric.label}{unit}"


def compare(comparison: Comparison, metric: str, *, ax: Axes | None = None) -> Axes:
    """Draws a bar for each policy, with the 95 % confidence interval of the metric.

    Parameters
    ----------
    comparison
        Comparison to draw; its runs give the values of the bars.
    metric
        Stable name of the metric to draw, such as ``short.slowdown_p99``.
    """
    _arguments.instance("comparison", comparison, Comparison, "a Comparison")
    cells = comparison[metric]
    ax = _axes(ax)
    known = {policy: cell.estimate for policy, cell in cells.items() if cell.estimate is not None}
    for place, (policy, estimate) in enumerate(known.items()):
        error = None if estimate.half_width is None else [estimate.half_width]
        ax.bar([place], [estimate.mean], yerr=error, capsize=4.0, label=policy)
    ax.set_xticks(range(len(known)), list(known))
    ax.set_ylabel(_title(comparison.metric(metric)))
    return ax


def sweep(sweep: Sweep, metric: str, *, x: str | None = None, ax: Axes | None = None) -> Axes:
    """Draws a metric over a varied key, with 95 % confidence intervals.

    The plot has a line for every policy and every combination of values of the other keys.

    Parameters
    ----------
    sweep
        Sweep whose points the plot shows.
    metric
        Stable name of the metric to draw.
    x
        Key of the horizontal axis; by default the first varied key. The axis places values such as
        ``"10 Gb/s"`` at their numeric value.
    """
    from .sweeps import Sweep as Grid

    grid: Sweep = _arguments.instance("sweep", sweep, Grid, "a Sweep")
    key = grid.keys[0] if x is None else x
    if not (isinstance(key, str) and key in grid.keys):
        raise _arguments.unknown("x", "varied key", key, grid.keys)
    others = [other for other in grid.keys if other != key]
    table = grid.table()
    rows = [row for row in table.rows() if isinstance(metric, str) and row["metric"] == metric and row["mean"] is not None]
    if not rows:
        raise _arguments.unknown("metric", "metric", metric, dict.fromkeys(map(str, table["metric"].to_pylist())), "no point of the sweep has it")
    ax = _axes(ax)
    words = list(dict.fromkeys(_word(row[key]) for row in rows))
    places, are_numbers = _places(words)
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        label = ", ".join([row["policy"], *(f"{_short(other)} = {_word(row[other])}" for other in others)])
        place = places[words.index(_word(row[key]))]
        lines.setdefault(label, []).append((place, row["mean"], row["ci95_half_width"] or 0.0))
    for label, points in lines.items():
        points.sort()
        at, means, halves = zip(*points)
        ax.errorbar(at, means, yerr=halves, marker="o", capsize=3.0, label=label)
    if not are_numbers:
        ax.set_xticks(places, words)
    ax.set_xlabel(key)
    row = rows[0]
    ax.set_ylabel(_title(Metric(metric, row["group"], row["label"], row["unit"], 0, False)))
    return _finish(ax)


def _word(value: Any) -> str:
    """The label on an axis for a value of a varied key."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _places(words: list[str]) -> tuple[list[float], bool]:
    """Positions of key values on an axis, and whether the positions are the numeric values.

    If all values have one unit, positions are the numbers before the unit. If all values have one
    dimension, positions are in the base unit. Otherwise, positions are the indices of the values.
    """
    numbers = [_number(word) for word in words]
    known = [number for number in numbers if number is not None]
    if len(known) == len(words) and len({word.partition(" ")[2] for word in words}) == 1:
        return known, True
    quantities = base_units(words)
    return ([float(place) for place in range(len(words))] if quantities is None else [float(one) for one in quantities[1]]), False


def _number(text: str) -> float | None:
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return None


def _short(key: str) -> str:
    return ".".join(key.split(".")[-2:])


def theory_figure(figure: Figure, *, ax: Axes | None = None) -> Axes:
    """Draws a panel of a paper's analytical figure.

    >>> from bufferlab import plot, theory
    >>> panel = theory.figure("abm-5")[0]
    >>> plot.theory_figure(panel).get_xlabel() == panel.x.title
    True
    """
    from .theory import Figure as Panel

    _arguments.instance("figure", figure, Panel, "a Figure of theory.figure")
    ax = _axes(ax)
    for series in figure.series:
        ax.plot(series.x, series.y, label=series.name)
    ax.set_title(textwrap.fill(figure.title, 44), fontsize="medium")
    ax.set_xlabel(figure.x.title)
    ax.set_ylabel(figure.y.title)
    if figure.x.logarithmic:
        ax.set_xscale("log")
    if figure.y.logarithmic:
        ax.set_yscale("log")
    return _finish(ax)


def _finish(ax: Axes) -> Axes:
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(frameon=False)
    ax.grid(visible=True, alpha=0.3)
    _plain_ticks(ax)
    return ax


def _plain_ticks(ax: Axes) -> None:
    """Labels a logarithmic axis of less than three decades at 1, 2 and 5, in plain digits.

    Labels at powers of ten alone would be too few for such a short axis.
    """
    try:
        from matplotlib import ticker
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if axis.get_scale() == "log" and 1e-3 <= low and high / low < 1e3:
            axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())
