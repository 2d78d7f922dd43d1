"""Executes single runs, and gives access to their tables and numbers."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, get_args

from . import _arguments, _bufferlab, _charts, _html, _svg
from ._caller import outside
from ._folders import Parcel, TemporaryFolder
from ._variants import VariantLike, text_of
from .exceptions import BufferlabWarning, ResultsError
from .progress import ProgressOption, relay
from .scenario import Scenario, ScenarioLike, as_scenario
from .table import Table, TableName

__all__ = ["Metric", "Run", "Summary", "run"]

_OPTIONAL = {
    "packets": 'record it: scenario.set("output.packets", "all")',
    "schedule": "only a workload of the kind collective or schedule has one",
}
"""Result tables that not every run writes, each with advice on how to get the table."""


@dataclass(frozen=True)
class Metric:
    """Description of a number in the summary of a run."""

    id: str
    """Stable name of the number, such as ``short.slowdown_p99``."""
    group: str
    """Heading in reports under which the number is listed."""
    label: str
    """Name of the number below its heading in reports."""
    unit: str
    """Unit of the number: ``x``, ``us``, ``ms``, ``%``, ``#``, ``Gb/s`` or ``0..1``."""
    better: int
    """Good direction of the number. -1: smaller values are better. 1: larger values are better. 0:
    neither."""
    headline: bool
    """Whether the short table of metrics on the terminal shows the number."""


_PERCENTILES = ("p50", "p95", "p99")


class Summary(Mapping[str, "float | None"]):
    """The numbers of a run by stable name; ``None`` for a number that the run does not have.

    >>> from bufferlab import run
    >>> summary = run("scenarios/star-incast.toml").summary
    >>> summary["all.timeouts"], summary.metric("all.timeouts").unit
    (134.0, '#')
    """

    def __init__(self, values: Mapping[str, float | None], metrics: tuple[Metric, ...], details: Any) -> None:
        self._values = dict(values)
        self.metrics = metrics
        """Descriptions of the summary's numbers, in the order of reports."""
        self.details: dict[str, Any] = details
        """All details of the run as nested data: flows by group, queries, bursts, ports, occupancy,
        links."""

    def metric(self, id: str) -> Metric:
        """Returns the description of the number ``id`` in the summary."""
        return metric_called("id", id, self.metrics)

    def __getitem__(self, id: str) -> float | None:
        if id not in self:
            raise _arguments.unknown("id", "metric", id, self._values)
        return self._values[_arguments.metric_id(id)]

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and _arguments.metric_id(id) in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._values)

    def _headlines(self) -> list[tuple[str, str, str]]:
        """Names, values and units of the headline metrics, which the short table on the terminal
        shows."""
        shown = ((metric, self._values[metric.id]) for metric in self.metrics if metric.headline)
        return [(metric.id, f"{value:.6g}", metric.unit) for metric, value in shown if value is not None]

    def _repr_html_(self) -> str:
        known = [group for group in self.details.get("groups", []) if group["slowdown"]]
        ends = [group["slowdown"][name] for group in known for name in ("p50", "max")]
        scale = (min(ends, default=1.0), max(ends, default=1.0))
        rows = [self._group_row(group["group"], group["slowdown"], scale) for group in known]
        header = ("slowdown of flows", "number", *_PERCENTILES, "max", "p50 to p99, and max")
        groups = _html.table("Slowdown: 1 is the time without other traffic", header, rows) if rows else ""
        return self._headline_table() + groups

    def _headline_table(self) -> str:
        return _html.table("Summary", ("metric", "value", "unit"), self._headlines())

    @staticmethod
    def _group_row(group: Mapping[str, Any], found: Mapping[str, Any], scale: tuple[float, float]) -> list[object]:
        numbers = [found[name] for name in (*_PERCENTILES, "max")]
        strip = _html.Markup(_svg.strip([found["p50"], found["p99"], found["max"]], scale, _svg.color(0)))
        return [group.get("name", group["kind"]), found["count"], *(f"{number:.3g}" for number in numbers), strip]

    def __repr__(self) -> str:
        return "Summary\n" + "\n".join(f"  {id} = {value} {unit}" for id, value, unit in self._headlines())


def metric_called(argument: str, id: str, metrics: Iterable[Metric]) -> Metric:
    """Returns the metric with a stable name, or with a name from an earlier version.

    Raises
    ------
    UnknownNameError
        If there is no such metric.
    """
    known = {metric.id: metric for metric in metrics}
    if not (isinstance(id, str) and _arguments.metric_id(id) in known):
        raise _arguments.unknown(argument, "metric", id, known)
    return known[_arguments.metric_id(id)]


class Run:
    """A finished run: its tables, its summary and its scenario.

    The tables are read when they are first used, and cached. If the caller did not set ``out``, the
    run has a temporary folder, which is removed with the last object that refers to it. A pickle of
    such a run contains its files (at most 256 MiB). If the caller set ``out``, the pickle has only
    the path of the folder.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, keep: TemporaryFolder | None = None
    ) -> None:
        self.folder = _arguments.path("folder", folder)
        """Folder with the files of the run."""
        self._keep = keep
        self._tables: dict[str, Table] = {}
        self._summary: Summary | None = None
        try:
            text = (self.folder / "manifest.json").read_text(encoding="utf-8")
            self.manifest: dict[str, Any] = json.loads(text)
            """Content of ``manifest.json``: scenario, version, policy, seed and tables."""
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ResultsError(
                f"{self.folder} has no manifest.json: not a complete run",
                "give the folder of a finished run, or run the scenario again",
            ) from error
        except OSError as error:
            raise ResultsError(f"{self.folder / 'manifest.json'}: {error.strerror}", "make it readable") from error
        except ValueError as error:
            raise ResultsError(
                f"{self.folder / 'manifest.json'}: {error}",
                "the file was changed or damaged after the run: run the scenario again",
            ) from error

    def _parcel(self) -> Parcel:
        return Parcel(self.folder, self._keep)

    def __getstate__(self) -> dict[str, Any]:
        return {"parcel": self._parcel(), "manifest": self.manifest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parcel: Parcel = state["parcel"]
        self.folder, self._keep, self.manifest = parcel.path, parcel.keep, state["manifest"]
        self._tables, self._summary = {}, None

    def __eq__(self, other: object) -> bool:
        """Whether scenario, version and tables of two runs are equal. The folders may differ."""
        return self.manifest == other.manifest if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.label, self.seed, self.manifest["scenario_name"]))

    @property
    def seed(self) -> int:
        """Seed of the run's random streams."""
        return int(self.manifest["seed"])

    @property
    def policy(self) -> str:
        """Name of the run's buffer policy."""
        return str(self.manifest["policy"]["name"])

    @property
    def label(self) -> str:
        """Name of the run in comparisons: the label of the variant, or the name of the policy."""
        variant = self.manifest.get("variant")
        return self.policy if variant is None else str(variant["label"])

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run, with all defaults."""
        return Scenario._of_run(self.folder / "scenario.toml", self._keep)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the run's result tables."""
        return tuple(table["name"] for table in self.manifest["tables"])

    def table(self, name: TableName | str) -> Table:
        """Returns the result table called ``name``. The table ``packets`` exists only if the
        scenario has ``output.packets``. The table ``schedule`` exists only if a workload of the
        scenario is a collective or a schedule.

        Raises
        ------
        UnknownNameError
            If there is no table of this name.
        ResultsError
            If the run has no such table, or its file cannot be read.
        """
        if not isinstance(name, str) or name not in (*self.tables, *get_args(TableName)):
            raise _arguments.unknown("name", "table", name, self.tables)
        if name in _OPTIONAL and name not in self.tables:
            raise ResultsError(f"{self.folder} has no table {name}", _OPTIONAL[name])
        if name not in self._tables:
            self._tables[name] = Table.from_parquet(self.folder / f"{name}.parquet", name=name)
        return self._tables[name]

    @property
    def flows(self) -> Table:
        """Result table with one row per flow."""
        return self.table("flows")

    @property
    def queries(self) -> Table:
        """Result table with one row per query."""
        return self.table("queries")

    @property
    def series(self) -> Table:
        """Sampled occupancies and thresholds, one row per sample."""
        return self.table("series")

    @property
    def occupancy(self) -> Table:
        """Exact time-weighted histograms of the occupancy of queues and buffers."""
        return self.table("occupancy")

    @property
    def queues(self) -> Table:
        """Counters of every queue of every switch."""
        return self.table("queues")

    @property
    def drops(self) -> Table:
        """Numbers of lost packets by queue, class and reason."""
        return self.table("drops")

    @property
    def links(self) -> Table:
        """Counters of every link in each direction."""
        return self.table("links")

    @property
    def probes(self) -> Table:
        """Sampled internal values of the policy (its probes)."""
        return self.table("probes")

    @property
    def summary(self) -> Summary:
        """The numbers of the run, such as slowdowns, losses, occupancy and link utilisation."""
        if self._summary is None:
            metrics, details = _bufferlab.summary(self.folder)
            values = {plain[0]: value for plain, value in metrics}
            self._summary = Summary(values, tuple(Metric(*plain) for plain, _ in metrics), json.loads(details))
        return self._summary

    def report(self) -> Path:
        """Writes ``report.html`` to the folder of the run and returns its path."""
        _bufferlab.report(self.folder, [], True)
        return self.folder / "report.html"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self._charts()}{self.summary._headline_table()}"

    def _charts(self) -> str:
        """Charts of the slowdowns by class of flows, and of the occupancy over time."""
        try:
            flows, series = self.flows.arrow, self.series.arrow
        except ResultsError:
            return ""
        return _charts.slowdowns(flows) + _charts.occupancies(series)

    def __repr__(self) -> str:
        return f"Run({self.manifest['scenario_name']}, {self.policy}, seed {self.seed}, {self.folder})"


def run(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    variant: VariantLike | None = None,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    verify: bool = False,
    progress: ProgressOption = None,
) -> Run:
    """Runs a scenario and returns the finished run.

    Other Python threads continue during the run. Ctrl-C ends the simulation run.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, the path of a file, or a dictionary.
    seed
        Seed of the run; by default the seed of the scenario.
    variant
        A policy with parameters and other changes to the scenario, in the syntax
        of :func:`compare`: ``"dt(alpha=0.5)"``, ``"mine.py:FairShare(part=0.5)"``,
        or the class of a custom policy.
    out
        Folder of the results, in the format of the command line, with ``report.html``. An earlier
        run of the same scenario in the folder is overwritten. By default, results are in a
        temporary folder that is removed with the returned run.
    replace
        Whether to overwrite results of a different scenario in ``out``, too.
    verify
        Whether to check packet conservation and the ledger after every event, not only at the end
        (slow).
    progress
        A bar (``True``), no progress (``False``), or a function that is called
        with a :class:`Progress`; by default a bar on a terminal.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read.
    RunError
        If the scenario cannot run, or its run fails.
    ResultsError
        If ``out`` has content other than a run of this scenario. No file is deleted in this case.

    Examples
    --------
    >>> from bufferlab import run
    >>> result = run("scenarios/star-incast.toml", seed=2)
    >>> result.policy, result.seed, result.flows.num_rows
    ('dt', 2, 133)
    """
    scenario = as_scenario(scenario)
    seed = _arguments.optional_whole("seed", seed)
    out = _arguments.optional_path("out", out)
    replace, verify = _arguments.flag("replace", replace), _arguments.flag("verify", verify)
    tell = relay(progress)
    if seed is not None:
        scenario = scenario.set("seed", seed)
    warn(scenario)
    keep = None
    if out is None:
        keep = TemporaryFolder()
        folder = keep.path / "run"
    else:
        folder = out
    run_as = None if variant is None else text_of("variant", variant)
    planned, *_ = _bufferlab.plan(scenario._source(), [], [], 1, folder, replace, False, run_as, None)
    [error] = _bufferlab.execute(planned, 1, verify, tell)
    if error is not None:
        raise error
    result = Run(folder, keep=keep)
    if out is not None:
        result.report()
    return result


def warn(scenario: Scenario) -> None:
    """Issues the warnings about a scenario as Python warnings."""
    for problem in scenario.warnings:
        warnings.warn(str(problem), BufferlabWarning, stacklevel=outside())
