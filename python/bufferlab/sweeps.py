"""Sweeps: runs over a grid of values of scenario keys, for several policies and seeds.

A user can interrupt, resume and extend a sweep, and distribute its runs over machines.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.csv

from . import _arguments, _bufferlab, _html, _svg, _toml
from ._columns import columns_of
from ._folders import Parcel, TemporaryFolder
from ._toml import Value
from ._variants import VariantLike, texts
from .comparisons import Comparison, PolicyChoice
from .exceptions import ArgumentError, MissingExtraError, ResultsError, SweepError
from .executors import ExecutorOption, How, carry_out, told
from .policy import policy_names
from .progress import ProgressOption
from .runs import warn
from .scenario import Scenario, ScenarioLike, as_scenario
from .table import Table

if TYPE_CHECKING:
    import xarray

__all__ = ["Sweep", "sweep"]


class Sweep:
    """The results of a sweep: a folder with a run for every point, policy and seed.

    ``Sweep(folder)`` opens a finished sweep of Python or of the command line.
    If the caller did not set ``out``, a pickle of the sweep contains its runs (at most 256 MiB).
    If the caller set ``out``, the pickle has only the path of the folder.

    Raises
    ------
    ResultsError
        If the folder has no finished sweep.
    """

    def __init__(self, folder: str | os.PathLike[str], *, text: str = "", kept: int = 0, keep: TemporaryFolder | None = None) -> None:
        self.folder = _arguments.path("folder", folder)
        """Folder with the runs of the sweep, ``sweep.csv`` and ``sweep.html``."""
        self.keys = _varied_keys(self.folder)
        """The scenario keys that the sweep varies."""
        self.text = _arguments.text("text", text)
        """The headline metrics of the sweep as text; empty if the sweep was opened from a
        folder."""
        self.kept = kept
        """Number of finished runs that the sweep reused."""
        self._keep = keep

    def _parcel(self) -> Parcel:
        return Parcel(self.folder, self._keep)

    def __getstate__(self) -> dict[str, Any]:
        return {"parcel": self._parcel(), "keys": self.keys, "text": self.text, "kept": self.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parcel: Parcel = state["parcel"]
        self.folder, self._keep = parcel.path, parcel.keep
        self.keys, self.text, self.kept = state["keys"], state["text"], state["kept"]

    def table(self) -> Table:
        """A data table with one row per point, metric and policy. Its columns have the varied keys,
        the mean, the interval, and the change against the baseline.

        A key whose values are all numbers has a numeric column. A key whose values are all booleans
        has a boolean column. Sizes, rates and times have a text column and a second column in
        base units: ``switch.buffer_bytes``, ``topology.rate_bps``, ``duration_seconds``.
        """
        words = [*self.keys, "metric", "group", "label", "unit", "policy"]
        numbers = ["mean", "ci95_half_width", "change", "change_ci95_low", "change_ci95_high"]
        types = {word: pyarrow.string() for word in words} | {number: pyarrow.float64() for number in numbers}
        options = pyarrow.csv.ConvertOptions(column_types=types)
        path = self.folder / "sweep.csv"
        try:
            read = pyarrow.csv.read_csv(path, convert_options=options)
        except OSError as error:
            raise ResultsError(f"{path}: {error.strerror or error}", "name the folder of a finished sweep") from error
        except pyarrow.ArrowException as error:
            raise ResultsError(f"{path}: {error}", "the file was changed or damaged after the sweep: run the sweep again") from error
        varied = [columns_of(key, read[key].to_pylist()) for key in self.keys]
        columns: dict[str, Any] = {key: of_key[key] for key, of_key in zip(self.keys, varied)}
        for of_key in varied:
            columns.update(of_key)
        columns.update((name, read[name]) for name in read.column_names if name not in self.keys)
        return Table(pyarrow.table(columns), name="sweep")

    def to_xarray(self) -> xarray.Dataset:
        """Converts the sweep to an xarray data set with a variable for each metric.

        The dimensions are the varied keys, ``policy`` and ``statistic``: the mean, the half width
        of its interval, and the change against the baseline with the ends of its interval.

        >>> from bufferlab import sweep
        >>> done = sweep("star-incast", {"switch.buffer": ["200 KB", "1 MB"]}, policies=["dt", "cs"])
        >>> data = done.to_xarray()["class.incast.qct_mean_ms"]
        >>> data.dims, data.sel(policy="cs", statistic="mean").shape
        (('switch.buffer', 'policy', 'statistic'), (2,))
        """
        try:
            import numpy
            import xarray
        except ImportError as error:
            raise MissingExtraError("xarray", "xarray") from error
        rows = self.table().to_arrow().to_pylist()
        dimensions = (*self.keys, "policy")
        places = {name: list(dict.fromkeys(row[name] for row in rows)) for name in dimensions}
        units = {row["metric"]: row["unit"] for row in rows}
        shape = (*(len(values) for values in places.values()), len(_STATISTICS))
        values = {metric: numpy.full(shape, numpy.nan) for metric in units}
        for row in rows:
            index = tuple(places[name].index(row[name]) for name in dimensions)
            values[row["metric"]][index] = [numpy.nan if row[name] is None else row[name] for name in _STATISTICS]
        every = (*dimensions, "statistic")
        variables = {metric: (every, found, {"units": units[metric]}) for metric, found in values.items()}
        return xarray.Dataset(variables, {**places, "statistic": list(_STATISTICS)})

    def _repr_html_(self) -> str:
        rows = self.table().to_arrow().to_pylist()
        if not rows:
            return f"<pre>{escape(repr(self))}</pre>"
        policies = list(dict.fromkeys(row["policy"] for row in rows))
        metrics = {row["metric"]: row["unit"] for row in rows}
        first = next((metric for ending in _SHOWN_FIRST for metric in metrics if metric.endswith(ending)), rows[0]["metric"])
        rows = [row for row in rows if row["metric"] == first]
        found: dict[tuple[object, ...], dict[str, tuple[float, float | None, str]]] = {}
        for row in rows:
            cells = found.setdefault(tuple(row[key] for key in self.keys), {})
            if row["mean"] is not None:
                cells[row["policy"]] = (row["mean"], row["ci95_half_width"], "")
        drawn = iter(_html.estimates([cells.get(policy) for cells in found.values() for policy in policies], len(policies)))
        shown = [(*point, *(next(drawn) for _ in policies)) for point in found]
        unit = f" [{metrics[first]}]" if metrics[first] else ""
        caption = f"{first}{unit}; table() has all metrics"
        return self._charts(rows, policies, f"{first}{unit}") + _html.table(caption, (*self.keys, *policies), shown)

    def _charts(self, rows: Sequence[Mapping[str, Any]], policies: Sequence[str], label: str) -> str:
        """Charts of a metric over the varied key with the most numbers, one for each point of the
        other keys, if these points are few."""
        numbers = {key: name for key in self.keys for name in _number_columns(key, rows[0])}
        if not numbers:
            return ""
        key = max(numbers, key=lambda key: len({row[numbers[key]] for row in rows}))
        others = [other for other in self.keys if other != key]
        places = list(dict.fromkeys(tuple(row[other] for other in others) for row in rows))
        if len(places) > _CHARTS_MAX:
            return ""
        charts = []
        for place in places:
            lines = []
            for index, policy in enumerate(policies):
                here = [row for row in rows if row["policy"] == policy and tuple(row[other] for other in others) == place]
                points = [_point(row[numbers[key]], row["mean"], row["ci95_half_width"]) for row in here if row["mean"] is not None]
                lines.append(_svg.Line(policy, sorted(points, key=lambda point: point.x), _svg.color(index), index % 2 == 1))
            title = ", ".join(f"{other} = {value}" for other, value in zip(others, place)) or label
            charts.append(_svg.chart(title, lines, _svg.Axis(numbers[key]), _svg.Axis("", from_zero=True)))
        return (f"<p>{escape(label)}</p>" if others else "") + "".join(charts)

    def points(self) -> dict[str, Comparison]:
        """The points of the sweep that have results: comparisons by the name of the point's folder.

        The result has no points of an earlier sweep over other keys in the folder.
        """
        path = self.folder / "sweep.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultsError(
                f"{path}: {error}",
                "the sweep was removed or damaged, or another machine has it: choose `out` in a folder that both see, or repeat the sweep",
            ) from error
        names = sorted(point["folder"] for point in found["points"])
        return {name: Comparison(self.folder / name, keep=self._keep) for name in names}

    def __repr__(self) -> str:
        return f"Sweep({', '.join(self.keys)}; {self.folder})\n{self.text}"


_SHOWN_FIRST = (".qct_mean_ms", ".slowdown_p99")
"""Endings of the names of metrics that a notebook prefers to show."""

_CHARTS_MAX = 6
"""Largest number of charts that a notebook shows."""


def _number_columns(key: str, row: Mapping[str, Any]) -> list[str]:
    """The column with the numbers of a varied key, if the key has numbers."""
    names = [key, *(f"{key}_{unit}" for unit in ("bytes", "bps", "seconds"))]
    return [name for name in names if isinstance(row.get(name), (int, float)) and not isinstance(row[name], bool)][:1]


def _point(x: float, mean: float, half: float | None) -> _svg.Point:
    return _svg.Point(x, mean) if half is None else _svg.Point(x, mean, mean - half, mean + half)


_STATISTICS = ("mean", "ci95_half_width", "change", "change_ci95_low", "change_ci95_high")


def _varied_keys(folder: Path) -> tuple[str, ...]:
    """The columns of ``sweep.csv`` before the column ``metric``; their names are the varied
    keys."""
    path = folder / "sweep.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            columns = next(csv.reader(file), [])
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}", "name the folder of a finished sweep") from error
    if "metric" not in columns:
        raise ResultsError(f"{path} is no table of a sweep", "name the folder of a finished sweep")
    return tuple(columns[: columns.index("metric")])


def sweep(
    scenario: ScenarioLike,
    vary: Mapping[str, Iterable[Value]],
    *,
    policies: Sequence[PolicyChoice] = (),
    variants: Sequence[VariantLike] = (),
    seeds: int = 1,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    executor: ExecutorOption = "threads",
    jobs: int | None = None,
    retries: int = 2,
    shared: bool = False,
    verify: bool = False,
    progress: ProgressOption = None,
) -> Sweep:
    """Runs a scenario for every combination of values of its keys, and reuses finished runs.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, the path of a file, or a dictionary.
    vary
        Dotted keys of the scenario with their values; the last key varies fastest.
    policies
        Names of the policies, the baseline first; by default the policy of the scenario.
    variants
        Policies with parameters and other changes, as for :func:`compare`; they follow
        ``policies``.
    seeds
        Number of seeds per point, counted from the seed of the scenario upwards.
    out
        Folder of the results, in the format of the command line. A sweep in the folder is resumed;
        the call may add values, policies and seeds. Runs of a different scenario at the sweep's
        points are refused. Runs from before the last change of a custom class are repeated.
    replace
        Whether to remove runs of a different scenario at the points of this sweep first.
    executor
        Place where runs execute: ``"threads"`` of the caller's process, ``"processes"`` of the
        caller's machine, or any object with ``submit``, such as a ``dask.distributed.Client``.
        The results of each run are stored when they arrive.
    jobs
        Number of runs in parallel for ``"threads"`` and ``"processes"``;
        by default the number of cores.
    retries
        Number of retries of a run after a worker dies or cannot write the results. A run with an
        invalid scenario is not retried.
    shared
        Whether the folder ``out`` has an equal path on every worker.
        Workers then write the results to ``out`` and return nothing.
    verify
        Whether to check packet conservation and the ledger after every event, not only at the end
        (slow).
    progress
        A bar (``True``), no progress (``False``), or a function that is called
        with a :class:`Progress`.

    Raises
    ------
    ResultsError
        If ``out`` has content other than runs of this scenario at the points of the sweep;
        ``replace`` allows runs of a different scenario.
    ScenarioError
        If the scenario is invalid at every point.
    SweepError
        If runs of the sweep fail. The other runs are complete and in :attr:`SweepError.sweep`. A
        repeated call with the same ``out`` executes only missing runs.

    Examples
    --------
    >>> from bufferlab import sweep
    >>> buffers = {"switch.buffer": ["200 KB", "400 KB"]}
    >>> grid = sweep("scenarios/star-incast.toml", buffers, policies=["dt", "abm"])
    >>> sorted(grid.points())
    ['switch.buffer=200-KB', 'switch.buffer=400-KB']
    >>> grid.table().columns[0]
    'switch.buffer'

    On a cluster, the call differs only in the argument ``executor``::

        loads = {"workload.0.load": [0.2, 0.4]}
        with dask.distributed.Client("scheduler:8786") as client:
            sweep("scenario.toml", loads, seeds=10, out="results/loads", executor=client)
    """
    how = How.checked(
        seeds=seeds, out=out, replace=replace, executor=executor, jobs=jobs, retries=retries, shared=shared, verify=verify, progress=progress
    )
    return sweep_grid(as_scenario(scenario), _grid(vary), policy_names(policies), texts(variants), how)


def _grid(vary: Mapping[str, Iterable[Value]]) -> list[tuple[str, list[str]]]:
    """Returns the varied keys with their values in the syntax of scenarios."""
    grid = []
    for key, values in _arguments.mapping("vary", vary, '{"switch.buffer": ["1 MB", "2 MB"]}').items():
        key = _arguments.text("vary", key, "dotted keys, such as \"switch.buffer\"")
        given = _arguments.items(f'vary["{key}"]', values, '["1 MB", "2 MB"]')
        if not given:
            raise ArgumentError(f'vary["{key}"] is empty', "name at least one value", "vary")
        grid.append((key, [_toml.value(value, f'vary["{key}"][{place}]') for place, value in enumerate(given)]))
    if not grid:
        raise ArgumentError("vary is empty", "name at least one key, such as {\"switch.buffer\": [\"1 MB\", \"2 MB\"]}", "vary")
    return grid


def sweep_grid(
    scenario: Scenario, grid: list[tuple[str, list[str]]], policies: list[str], variants: list[str], how: How
) -> Sweep:
    """Runs a sweep whose values, policies and variants are text, as on the command line."""
    warn(scenario)
    keep = TemporaryFolder() if how.out is None else None
    folder = how.out if how.out is not None else keep.path / "sweep" if keep else Path()
    with _bufferlab.Claim(folder):
        plan = _bufferlab.SweepPlan(scenario._source(), grid, policies, variants, how.seeds, folder, how.replace)
        planned = plan.jobs
        failed = list(plan.failed)
        errors = carry_out(planned, how)
        for place, error in zip(plan.places, errors):
            if error is not None:
                failed.append(f"{place}: {told(error)}")
        result = Sweep(folder, text=plan.finish(), kept=plan.kept, keep=keep)
    if failed:
        raise SweepError(failed, result, _what_to_do(result, how))
    return result


def _what_to_do(result: Sweep, how: How) -> str:
    """Returns advice to the user after failed runs of a sweep."""
    if not any(path.is_dir() and not path.name.startswith(".") for path in result.folder.iterdir()):
        return "no point has results: change the scenario or `vary`"
    if how.out is None:
        return "the other points are complete: `error.sweep` has them; with `out`, a repeated call runs only what is missing"
    return "the other points are complete: mend the cause and repeat the call with the same `out`, which runs only what is missing"
