"""Comparisons of policies on equal traffic, paired by seed, with 95 % confidence intervals."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _arguments, _bufferlab, _html
from ._folders import Parcel, TemporaryFolder
from ._variants import VariantLike, texts
from .exceptions import ArgumentError, ResultsError, UnknownNameError
from .executors import ExecutorOption, How, carry_out
from .policy import policy_names
from .progress import ProgressOption
from .runs import Metric, Run, metric_called, warn
from .scenario import ScenarioLike, as_scenario
from .simulation import picoseconds
from .table import Table

if TYPE_CHECKING:
    from ._names import PolicyName
    from .policy import Policy

__all__ = ["Caveat", "Cell", "Change", "Comparison", "Estimate", "PolicyChoice", "compare", "repeat"]

PolicyChoice = Union["PolicyName", Literal["all"], str, "type[Policy]"]
"""A policy's name, the class of a custom policy, or ``"all"`` for all policies that fit the
scenario."""


@dataclass(frozen=True)
class Estimate:
    """A metric's mean over seeds, with its 95 % confidence interval (Student's t)."""

    seeds: int
    """Number of seeds over which the mean of the metric is computed."""
    mean: float
    """Mean of the metric over the seeds, in the metric's unit."""
    half_width: float | None
    """Half the width of the mean's confidence interval, in the metric's unit; ``None`` with a
    single seed."""

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if self.half_width is None else f"{self.mean:.6g} ± {self.half_width:.3g}"


@dataclass(frozen=True)
class Change:
    """A policy's change against the baseline, paired by seed, as a fraction of the baseline."""

    seeds: int
    """Number of seeds for which both policies have a value."""
    mean: float
    """Ratio of the policy's mean to the baseline's mean, minus 1. The value -0.5 means half the
    baseline."""
    low: float | None
    """Lower end of the change's 95 % confidence interval; ``None`` with a single seed."""
    high: float | None
    """Upper end of the change's 95 % confidence interval; ``None`` with a single seed."""

    def __str__(self) -> str:
        mean = f"{100 * self.mean:+.3g} %"
        return mean if self.low is None or self.high is None else f"{mean} ({100 * self.low:+.3g} to {100 * self.high:+.3g} %)"


@dataclass(frozen=True)
class Cell:
    """Values of one metric for one policy."""

    policy: str
    """Name of the policy, or label of the variant, that the values belong to."""
    values: tuple[float | None, ...]
    """Values of the metric in the order of :attr:`Comparison.seeds`; ``None`` for a seed without a
    value."""
    estimate: Estimate | None
    """Mean of the metric over the seeds, with its confidence interval; ``None`` without values."""
    change: Change | None
    """Change of the policy against the baseline.

    The change is ``None`` for the baseline, without common seeds, and if the baseline's mean is
    zero.
    """


@dataclass(frozen=True)
class Caveat:
    """A warning about the numbers of a comparison, to check before you trust these numbers."""

    id: str
    """Short name by which programs recognise the warning, such as ``few-samples``."""
    message: str
    """Description of the problem with the numbers."""
    advice: str
    """Advice to the user about the problem with the numbers."""


class Comparison:
    """A comparison of the runs in a folder; the first policy is the baseline.

    If the caller did not set ``out``, a pickle of the comparison contains its runs (at most 256
    MiB). If the caller set ``out``, the pickle has only the path of the folder.

    >>> from bufferlab import compare
    >>> comparison = compare("scenarios/star-incast.toml", policies=["dt", "cs"], seeds=2)
    >>> comparison.policies, comparison.seeds
    (('dt', 'cs'), (1, 2))
    >>> comparison["switches.lost_percent"]["cs"].estimate
    Estimate(seeds=2, mean=0.0, half_width=0.0)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        policies: Sequence[str] = (),
        keep: TemporaryFolder | None = None,
        _write: bool = False,
    ) -> None:
        self.folder = _arguments.path("folder", folder)
        """Folder with the runs of the comparison."""
        self._keep = keep
        order = _arguments.items("policies", policies, '["dt", "abm"]')
        order = [_arguments.text(f"policies[{place}]", name) for place, name in enumerate(order)]
        report = _bufferlab.report(self.folder, order, _write)
        self.policies: tuple[str, ...] = tuple(report[0])
        """Names of the compared policies, with the baseline first."""
        self.seeds: tuple[int, ...] = tuple(report[1])
        """The seeds of the compared runs, ascending."""
        self.metrics: tuple[Metric, ...] = tuple(Metric(*plain) for plain, _ in report[2])
        """The compared metrics, in the order in which reports list metrics."""
        self.caveats: tuple[Caveat, ...] = tuple(Caveat(*plain) for plain in report[3])
        """Caveats of the comparison, the most serious first; read them before the numbers."""
        self.text: str = report[4]
        """The headline numbers and the caveats as text, as the command line prints them."""
        self.left_out: Mapping[str, str] = {}
        """Policies that cannot run in the scenario, each with the reason (for
        ``policies="all"``)."""
        self.kept = 0
        """Number of finished runs that :func:`compare` reused."""
        self._cells = {plain[0]: {cell[0]: _cell(cell) for cell in cells} for plain, cells in report[2]}

    def _parcel(self) -> Parcel:
        return Parcel(self.folder, self._keep)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("folder", "_keep")}
        return {**state, "parcel": self._parcel()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parcel: Parcel = state.pop("parcel")
        self.folder, self._keep = parcel.path, parcel.keep
        vars(self).update(state)

    def __eq__(self, other: object) -> bool:
        """Whether policies, seeds and numbers of two comparisons are equal. The folders may
        differ."""
        if not isinstance(other, Comparison):
            return NotImplemented
        return (self.policies, self.seeds, self._cells) == (other.policies, other.seeds, other._cells)

    def __hash__(self) -> int:
        return hash((self.policies, self.seeds, self.text))

    def metric(self, id: str) -> Metric:
        """The description of the metric with the name ``id``.

        Raises
        ------
        UnknownNameError
            If the runs of the comparison have no such metric.
        """
        return metric_called("id", id, self.metrics)

    def __getitem__(self, metric: str) -> dict[str, Cell]:
        """The cells of a metric by policy; ``metric`` is the metric's stable name."""
        if not (isinstance(metric, str) and _arguments.metric_id(metric) in self._cells):
            raise _arguments.unknown("metric", "metric", metric, self._cells)
        return self._cells[_arguments.metric_id(metric)]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._cells)

    def _repr_html_(self) -> str:
        headlines = [metric for metric in self.metrics if metric.headline]
        rows = (
            (f"{metric.id} [{metric.unit}]", *_html.estimates([_plain(self._cells[metric.id].get(policy)) for policy in self.policies], len(self.policies)))
            for metric in headlines
        )
        caption = f"Means over seeds {', '.join(map(str, self.seeds))}, changes against {self.policies[0]}"
        caveats = "".join(f"<p>{escape(f'{caveat.message} {caveat.advice}')}</p>" for caveat in self.caveats)
        return caveats + _html.table(caption, ("metric", *self.policies), rows)

    def run(self, policy: str, seed: int) -> Run:
        """The run of a policy with a given seed.

        Raises
        ------
        UnknownNameError
            If the comparison has no such policy, or no such seed for the policy.
        """
        runs = self.runs()
        known = list(dict.fromkeys(label for label, _ in runs))
        if not (isinstance(policy, str) and policy in known):
            raise _arguments.unknown("policy", "policy", policy, known)
        seeds = sorted(of for label, of in runs if label == policy)
        seed = _arguments.whole("seed", seed)
        if seed not in seeds:
            raise UnknownNameError(f"seed: {policy} has no run with seed {seed}", f"it has {', '.join(map(str, seeds))}", "seed")
        return runs[policy, seed]

    def runs(self) -> dict[tuple[str, int], Run]:
        """The runs of the comparison by policy and seed.

        Raises
        ------
        ResultsError
            If the runs were removed, or their folder is on another machine.
        """
        found: dict[tuple[str, int], Run] = {}
        for manifest in sorted(self.folder.glob("**/manifest.json")):
            parts = manifest.parent.relative_to(self.folder).parts
            if any(part.startswith(".") for part in parts):
                continue
            run = Run(manifest.parent, keep=self._keep)
            named = run.manifest.get("variant") is not None or len(parts) < 2
            found[run.label if named else parts[0], run.seed] = run
        if not found:
            raise ResultsError(
                f"{self.folder} no longer has runs",
                "they were removed, or another machine has them: choose `out` in a folder that both see, or compare again",
            )
        return found

    def table(self) -> Table:
        """A data table with one row per metric and policy. Its columns have the mean, the interval,
        and the change against the baseline with its interval.

        >>> from bufferlab import compare
        >>> table = compare("scenarios/star-incast.toml", policies=["dt", "cs"]).table()
        >>> table.columns[:5]
        ['metric', 'group', 'label', 'unit', 'policy']
        """
        path = self.folder / "comparison.parquet"
        if not path.is_file():
            _bufferlab.report(self.folder, list(self.policies), True)
        return Table.from_parquet(path, name="comparison")

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the comparison's report, an HTML file that needs no network, and returns its path.

        By default, the report is in the folder of the comparison.
        """
        to = _arguments.optional_path("path", path, "the path of a file")
        _bufferlab.report(self.folder, list(self.policies), True)
        written = self.folder / "report.html"
        return written if to is None else copy_report(written, to)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.policies)}; seeds {', '.join(map(str, self.seeds))})\n{self.text}"


def copy_report(written: Path, to: Path) -> Path:
    """Copies a report to the path that the caller requested."""
    try:
        return Path(shutil.copyfile(written, to))
    except OSError as error:
        raise ResultsError(f"{to}: {error.strerror or error}", "name a file in a folder that you may write to") from error


def _plain(cell: Cell | None) -> tuple[float, float | None, str] | None:
    """Returns the mean of a cell, half the width of its interval, and its change as text."""
    if cell is None or cell.estimate is None:
        return None
    return cell.estimate.mean, cell.estimate.half_width, "" if cell.change is None else str(cell.change)


def _cell(plain: _bufferlab._Cell) -> Cell:
    policy, values, estimate, change = plain
    return Cell(policy, tuple(values), estimate and Estimate(*estimate), change and Change(*change))


def compare(
    scenario: ScenarioLike,
    policies: Sequence[PolicyChoice] | None = None,
    *,
    variants: Sequence[VariantLike] = (),
    seeds: int = 1,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    executor: ExecutorOption = "threads",
    jobs: int | None = None,
    verify: bool = False,
    progress: ProgressOption = None,
    warm_up: str | float | None = None,
) -> Comparison:
    """Compares buffer policies on equal traffic, paired by seed.

    The scenario's policy keeps its parameters; all other policies have their default parameters.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, the path of a file, or a dictionary.
    policies
        Names of the policies, the baseline first.
        ``"all"`` means the policy of the scenario, then every other built-in policy that fits.
        The default without variants is ``dt``, ``cs`` and ``abm``.
    variants
        Policies with parameters and other changes to the scenario, such as ``"dt(alpha=0.5)"``,
        ``"deep: dt + switch.buffer=2 MB"`` or ``"mine.py:FairShare(part=0.5)"``. Classes of custom
        policies are variants, too. Variants follow ``policies`` in the comparison.
        ``docs/reference/scenarios.md`` has the grammar of variants.
    seeds
        Number of seeds, counted from the seed of the scenario upwards.
    out
        Folder of the results, in the format of the command line: ``<policy>/seed-<n>`` and the
        report. ``compare`` reuses finished runs in the folder, except runs from before the last
        change of a custom class. The comparison includes all earlier runs of the same scenario in
        the folder. By default, results are in a temporary folder that is removed with the returned
        comparison.
    replace
        Whether to remove runs of a different scenario from ``out`` first.
    executor
        Place where the runs execute, as for :func:`sweep`.
    jobs
        Number of runs in parallel for ``"threads"`` and ``"processes"``;
        by default the number of cores.
    verify
        Whether to check packet conservation and the ledger after every event, not only at the end
        (slow).
    progress
        A bar (``True``), no progress (``False``), or a function that is called
        with a :class:`Progress`.
    warm_up
        Simulated time that runs once per seed, under the baseline. All variants continue from the
        baseline's state at this time. The variants may differ only in the policy, and ``executor``
        is ``"threads"``. By default, each variant runs from the start.

    Raises
    ------
    ArgumentError
        If an argument of :func:`compare` is wrong.
    ScenarioError
        If the scenario cannot be read.
    RunError
        If a run fails. The other runs are complete and in the attribute ``comparison`` of the
        error. A repeated call with the same ``out`` executes only missing runs. If the scenario of
        a variant is invalid, the error has the attribute ``comparison``, too.
    ResultsError
        If ``out`` has content other than runs of this scenario (``replace`` allows runs of a
        different scenario), or if a policy is given twice.

    Examples
    --------
    >>> from bufferlab import compare
    >>> comparison = compare("scenarios/star-incast.toml", policies=["dt", "abm"], seeds=3)
    >>> change = comparison["class.incast.qct_mean_ms"]["abm"].change
    >>> change.seeds
    3
    >>> variants = ["dt(alpha=0.5)", "high: dt(alpha=4)"]
    >>> compare("scenarios/star-incast.toml", variants=variants).policies
    ('dt(alpha=0.5)', 'high')
    """
    others = texts(variants)
    default = [] if others else ["dt", "cs", "abm"]
    names = default if policies is None else policy_names(policies)
    if not names and not others:
        raise ArgumentError("policies is empty: name at least one, or use `repeat` for the scenario's own", "", "policies")
    warm = None if warm_up is None else picoseconds("warm_up", warm_up)
    if warm is not None and executor != "threads":
        raise _arguments.refuse("executor", executor, '"threads" with warm_up, because the variants share a state in memory')
    return _compare(scenario, names, others, seeds, out, replace, executor, jobs, verify, progress, warm)


def repeat(
    scenario: ScenarioLike,
    *,
    seeds: int,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    executor: ExecutorOption = "threads",
    jobs: int | None = None,
    verify: bool = False,
    progress: ProgressOption = None,
) -> Comparison:
    """Runs a scenario with its policy and several seeds, to get means with intervals.

    The function has the arguments of :func:`compare`.

    >>> from bufferlab import repeat
    >>> repeat("scenarios/star-incast.toml", seeds=2)["all.flows"]["dt"].estimate.seeds
    2
    """
    return _compare(scenario, [], [], seeds, out, replace, executor, jobs, verify, progress)


def _compare(
    scenario: ScenarioLike,
    policies: list[str],
    variants: list[str],
    seeds: int,
    out: str | os.PathLike[str] | None,
    replace: bool,
    executor: ExecutorOption,
    jobs: int | None,
    verify: bool,
    progress: ProgressOption,
    warm_up: int | None = None,
) -> Comparison:
    scenario = as_scenario(scenario)
    how = How.checked(seeds=seeds, out=out, replace=replace, executor=executor, jobs=jobs, verify=verify, progress=progress)
    warn(scenario)
    keep = TemporaryFolder() if how.out is None else None
    folder = how.out if how.out is not None else keep.path / "runs" if keep else Path()
    # A single run replaces its folder atomically. Only a call with several runs must claim the
    # folder.
    with _bufferlab.Claim(folder) if policies or variants or how.seeds > 1 else nullcontext():
        # With `verify`, finished runs are not reused, because only a new run checks the ledger
        # after events.
        planned, order, kept, left_out, refused = _bufferlab.plan(
            scenario._source(), policies, variants, how.seeds, folder, how.replace, not how.verify, None, warm_up
        )
        errors = carry_out(planned, how)
        failed = [*refused, *(error for error in errors if error is not None)]
        if failed and all(error is not None for error in errors) and not kept:
            raise failed[0]
        comparison = Comparison(folder, policies=order, keep=keep, _write=True)
    comparison.left_out = dict(left_out)
    comparison.kept = kept
    if failed:
        failed[0].comparison = comparison  # type: ignore[attr-defined]
        raise failed[0]
    return comparison
