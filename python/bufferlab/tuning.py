"""Tuning: searches for the parameters of a policy that optimise an objective.

The library Optuna proposes parameters. All proposals and the unchanged scenario run with equal
seeds, and therefore with equal arrivals. The best value of many proposals is biased. So
:meth:`Tuning.confirm` measures the best proposal again with new seeds.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, Union

import pyarrow as pa

from . import _arguments, _bufferlab, _toml
from ._columns import columns_of
from ._folders import TemporaryFolder
from ._toml import Value
from .comparisons import Estimate
from .exceptions import ArgumentError, BufferlabError, MissingExtraError, ResultsError, ScenarioError
from .executors import JOBS_MAX
from .policy import policy_name
from .progress import ProgressOption, relay
from .registry import policy_info
from .runs import Metric, Run, metric_called, warn
from .scenario import Scenario, ScenarioLike, as_scenario
from .table import Table

if TYPE_CHECKING:
    import optuna
    from matplotlib.axes import Axes

    from ._names import PolicyName

__all__ = ["Confirmation", "Dimension", "OneOf", "Proposal", "Real", "Tuning", "Whole", "tune"]


@dataclass(frozen=True)
class Real:
    """A dimension of a search space: a real number between two bounds.

    >>> Real(0.1, 10, log=True).written(0.5)
    0.5
    >>> Real(1, 50, unit="us").written(2.5)
    '2.5 us'
    """

    low: float
    """Lowest value that the search tries."""
    high: float
    """Highest value that the search tries."""
    log: bool = False
    """Whether to search on a logarithmic scale. Use this scale for parameters over orders of
    magnitude, such as α."""
    unit: str = ""
    """Unit of the lowest and highest value, if the key needs a unit: ``KB``, ``us``, ``Gb/s``."""

    def written(self, value: float) -> Value:
        """Formats a number that the search tries in the syntax of scenarios."""
        return f"{value!r} {self.unit}" if self.unit else value


@dataclass(frozen=True)
class Whole:
    """A dimension of a search space: a whole number between two bounds, both included.

    >>> Whole(10, 200, step=10, unit="KB").written(30)
    '30 KB'
    """

    low: int
    """Lowest value that the search tries."""
    high: int
    """Highest value that the search tries."""
    step: int = 1
    """Step between neighbouring values that the search tries; not used on a logarithmic scale."""
    log: bool = False
    """Whether to search on a logarithmic scale, as for :class:`Real`."""
    unit: str = ""
    """Unit of the lowest and highest value, if the key needs a unit."""

    def written(self, value: int) -> Value:
        """Formats a number that the search tries in the syntax of scenarios."""
        return f"{value} {self.unit}" if self.unit else value


class OneOf:
    """A dimension of a search space: one of several values, such as names, booleans or whole
    tables.

    >>> OneOf("dctcp", "cubic").values
    ('dctcp', 'cubic')
    """

    def __init__(self, *values: Value) -> None:
        self.values = values
        """The values among which the search chooses."""

    def written(self, value: int) -> Value:
        """Returns the value at an index of the attribute :attr:`values`."""
        return self.values[value]

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.values))})"


Dimension = Union[Real, Whole, OneOf, "tuple[float, float]", "Sequence[Real | Whole | OneOf | tuple[float, float]]"]
"""The search space of a key: a range, a choice, or ``(low, high)`` as short form of :class:`Real`.

If the value of a key is a list (α by priority), the search space of the key is a list of
dimensions.
"""

_Plain = Union[Real, Whole, OneOf]


@dataclass(frozen=True)
class Proposal:
    """A proposal of a search, with its parameters and results."""

    number: int
    """Number of the proposal, from 0; -1 for the unchanged scenario."""
    values: Mapping[str, Value]
    """Values of the proposal in the syntax of scenarios, by key of the search space."""
    metrics: Mapping[str, tuple[float | None, ...]]
    """Values of each metric, one for every seed; ``None`` for a number that a run does not have."""
    error: BufferlabError | None = None
    """The error of the proposal's failed run; ``None`` if no run failed."""
    scenario: Scenario | None = field(default=None, repr=False, compare=False)
    """The scenario of the proposal, with the first seed."""

    def mean(self, metric: str) -> float | None:
        """The mean of a metric over the seeds; ``None`` if a seed has no value.

        Raises
        ------
        UnknownNameError
            If the search did not record this metric.
        """
        if not isinstance(metric, str) or (self.metrics and metric not in self.metrics):
            raise _arguments.unknown("metric", "metric of the search", metric, self.metrics, "name it in `objective` or `watch`")
        values = [value for value in self.metrics.get(metric, ()) if value is not None]
        return fmean(values) if values and len(values) == len(self.metrics[metric]) else None


@dataclass(frozen=True)
class Confirmation:
    """A comparison of the best proposal with the unchanged scenario, on new seeds."""

    metric: str
    """Id of the metric that the confirmation compares."""
    unit: str
    """Unit of the metric that the confirmation compares."""
    seeds: tuple[int, ...]
    """The seeds of the comparison, which the search did not use."""
    before: tuple[float, ...]
    """Values of the metric in the unchanged scenario, in the order of the seeds."""
    after: tuple[float, ...]
    """Values of the metric with the best proposal, in the order of the seeds."""
    change: Estimate
    """Estimate of the metric's change by the best proposal."""

    def __str__(self) -> str:
        return (
            f"{self.metric}: {fmean(self.before):.4g} before, {fmean(self.after):.4g} after, "
            f"change {self.change} {self.unit} ({len(self.seeds)} new seeds)"
        )


class Tuning:
    """The result of a search for scenario settings."""

    def __init__(
        self,
        study: optuna.Study,
        objectives: tuple[Metric, ...],
        trials: tuple[Proposal, ...],
        baseline: Proposal,
        search: _Search,
    ) -> None:
        self.study = study
        """Optuna's record of the search, for plots and importances of parameters."""
        self.objectives = objectives
        """The metrics that the search optimises."""
        self.trials = trials
        """Every proposal of the search, in order."""
        self.baseline = baseline
        """The result of the unchanged scenario, without a proposal."""
        self._search = search

    @property
    def front(self) -> tuple[Proposal, ...]:
        """The Pareto front, ordered by the first objective. With one objective, the front is the
        best proposal."""
        wanted = sorted(trial.number for trial in self.study.best_trials)
        trials = [self.trials[number] for number in wanted]
        first = self.objectives[0]
        trials.sort(key=lambda trial: -first.better * _known(trial.mean(first.id)))
        return tuple(trials if len(self.objectives) > 1 else trials[:1])

    @property
    def best(self) -> Proposal:
        """The proposal with the best value of the first objective.

        Raises
        ------
        BufferlabError
            If every proposal of the search failed.
        """
        front = self.front
        if not front:
            raise BufferlabError("no proposal ran to its end", "`trials` has the error of each")
        return front[0]

    @property
    def best_scenario(self) -> Scenario:
        """The scenario with the parameters of the best proposal (:attr:`best`)."""
        scenario = self.best.scenario
        assert scenario is not None, "what ran has a scenario"
        return scenario

    @property
    def table(self) -> Table:
        """A data table with one row per proposal, after a row for the unchanged scenario.

        The columns are the values as in :meth:`Sweep.table`, the mean of every
        objective over the seeds, and the error.
        """
        rows = [self.baseline, *self.trials]
        columns: dict[str, Any] = {"number": [trial.number for trial in rows]}
        for key in self._search.space:
            columns.update(columns_of(key, [_toml.value(trial.values[key]) if key in trial.values else None for trial in rows]))
        for metric in self.objectives:
            columns[metric.id] = [trial.mean(metric.id) for trial in rows]
        columns["error"] = [None if trial.error is None else trial.error.message for trial in rows]
        return Table(pa.table(columns), name="trials")

    def confirm(self, *, seeds: int = 5, progress: ProgressOption = None) -> Confirmation:
        """Measures the best proposal and the unchanged scenario again,
        on seeds that the search did not use.

        Raises
        ------
        RunError
            If a run of the confirmation fails.
        """
        seeds = _arguments.whole("seeds", seeds, least=1, most=SEEDS_MAX)
        metric = self.objectives[0]
        first = self._search.seeds[-1] + 1
        fresh = tuple(range(first, first + seeds))
        pair = [self._search.base, self.best_scenario]
        before, after = self._search.measure(pair, fresh, (metric.id,), progress)
        for trial in (before, after):
            if trial.error is not None:
                raise trial.error
        both = list(zip(before.metrics[metric.id], after.metrics[metric.id]))
        if any(value is None for values in both for value in values):
            raise BufferlabError(f"a run has no value of {metric.id}", "lengthen `duration`, so that every seed has one")
        known = [(_known(old), _known(new)) for old, new in both]
        change = _bufferlab.estimate([new - old for old, new in known])
        assert change is not None, "there is at least one seed"
        before_values, after_values = (tuple(pair[place] for pair in known) for place in (0, 1))
        return Confirmation(metric.id, metric.unit, fresh, before_values, after_values, Estimate(*change))

    def plot_tradeoff(self, *, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
        """Draws proposals as points, the front as a line, and the unchanged scenario as a cross.

        Parameters
        ----------
        x, y
            Metrics that the search recorded. By default, ``y`` is the first objective. The default
            of ``x`` is the second objective, or the first metric of ``watch``.
        ax
            Axes that receive the plot; by default a new figure.
        """
        kept = {**dict.fromkeys(self._search.metrics)}
        for argument, given in (("x", x), ("y", y)):
            if given is not None and not (isinstance(given, str) and given in kept):
                raise _arguments.unknown(argument, "metric of the search", given, kept)
        y = y or self.objectives[0].id
        x = x or next((id for id in self._search.metrics if id != y), y)
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingExtraError("matplotlib", "plot") from error
        if ax is None:
            ax = pyplot.subplots(layout="constrained")[1]
        elif not callable(getattr(ax, "errorbar", None)):
            raise _arguments.refuse("ax", ax, "axes of matplotlib, or None")
        units = {metric.id: metric.unit for metric in self._search.known}

        def places(trials: Sequence[Proposal]) -> tuple[list[float], list[float]]:
            pairs = [(trial.mean(x), trial.mean(y)) for trial in trials]
            whole = [(_known(a), _known(b)) for a, b in pairs if a is not None and b is not None]
            return [a for a, _ in whole], [b for _, b in whole]

        ax.plot(*places(self.trials), "o", color="0.6", markersize=4, label="proposals")
        front = sorted(self.front, key=lambda trial: trial.mean(x) or 0.0)
        ax.plot(*places(front), "o-", color="tab:blue", label="front" if len(front) > 1 else "best")
        ax.plot(*places([self.baseline]), "X", color="tab:red", markersize=9, label="as it was")
        ax.set_xlabel(f"{x} ({units.get(x, '')})")
        ax.set_ylabel(f"{y} ({units.get(y, '')})")
        ax.grid(alpha=0.3)
        ax.legend()
        return ax

    def __repr__(self) -> str:
        lines = [f"Tuning: {len(self.trials)} proposals, {len(self._search.seeds)} seeds each"]
        for metric in self.objectives:
            lines.append(f"  {metric.id}: as it was {_shown(self.baseline.mean(metric.id))} {metric.unit}")
        for trial in self.front:
            values = ", ".join(f"{key} = {_rounded(value)}" for key, value in trial.values.items())
            means = ", ".join(_shown(trial.mean(metric.id)) for metric in self.objectives)
            lines.append(f"  number {trial.number}: {values}: {means}")
        failed = sum(trial.error is not None for trial in self.trials)
        if failed:
            lines.append(f"  {failed} did not run; see .table")
        return "\n".join(lines)


def tune(
    scenario: ScenarioLike,
    *,
    space: Mapping[str, Dimension],
    policy: PolicyName | str | None = None,
    objective: str | Sequence[str] = "short.slowdown_p99",
    watch: Sequence[str] = ("all.goodput_gbps",),
    trials: int = 40,
    seeds: int = 3,
    at_once: int = 4,
    sampler: optuna.samplers.BaseSampler | None = None,
    jobs: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: ProgressOption = None,
) -> Tuning:
    """Searches for the parameters that optimise an objective.

    Equal calls make equal proposals: the sampler has a fixed seed, and the number of parallel runs
    has no effect. With ``out``, an interrupted search resumes. A longer search reuses the runs of a
    shorter search.

    Parameters
    ----------
    scenario
        The scenario to tune. The unchanged scenario is the baseline.
    space
        The search space: parameters of the policy by name, and all other keys as dotted keys.
    policy
        The policy to tune; by default the policy of the scenario.
    objective
        A metric of :attr:`Run.summary`, or several metrics for a Pareto front.
        The search minimises a metric if smaller values are better, and maximises it otherwise.
    watch
        Further metrics that the search records for every proposal, for plots.
    trials
        Number of proposals that the search makes.
    seeds
        Number of seeds per proposal, counted from the seed of the scenario upwards.
    at_once
        Number of proposals per batch. A larger batch uses more cores, but the sampler learns later.
        The size of the batch affects the proposals.
    sampler
        Sampler of Optuna; by default a seeded tree-structured Parzen estimator.
    jobs
        Number of runs in parallel; 0 means the number of cores.
    out
        Folder for all runs. By default, a run is deleted after its numbers are recorded.
    progress
        Kind of progress display for every batch, as for :func:`bufferlab.run`.

    Raises
    ------
    ScenarioError
        If the scenario cannot be read, or the policy has no such parameter.
    BufferlabError
        If the baseline fails or lacks a metric, or if an objective is neutral:
        neither smaller nor larger values are better.

    Examples
    --------
    >>> from bufferlab import Real, tune
    >>> found = tune(
    ...     "scenarios/star-incast.toml", space={"alpha": Real(0.25, 16, log=True)},
    ...     objective="class.incast.qct_mean_ms", trials=6, seeds=2,
    ... )
    >>> metric = "class.incast.qct_mean_ms"
    >>> found.baseline.mean(metric) > found.best.mean(metric)
    True
    """
    try:
        with warnings.catch_warnings():
            # If a notebook has no widgets, a dependency of Optuna warns at import.
            warnings.simplefilter("ignore")
            import optuna
    except ImportError as error:
        raise MissingExtraError("optuna", "tune") from error
    trials = _arguments.whole("trials", trials, least=1)
    seeds = _arguments.whole("seeds", seeds, least=1, most=SEEDS_MAX)
    at_once = _arguments.whole("at_once", at_once, least=1)
    jobs = _arguments.whole("jobs", jobs, most=JOBS_MAX)
    folder = _arguments.optional_path("out", out)
    if sampler is not None:
        _arguments.instance("sampler", sampler, optuna.samplers.BaseSampler, "a sampler of Optuna, or None")
    relay(progress)
    wanted = (objective,) if isinstance(objective, str) else tuple(_metrics("objective", objective))
    watched = _metrics("watch", watch)
    if not wanted:
        raise ArgumentError("objective is empty: name at least one metric", "", "objective")
    called = None if policy is None else policy_name("policy", policy)
    search = _Search(as_scenario(scenario), called, space, seeds, tuple(dict.fromkeys((*wanted, *watched))), jobs, folder)
    [baseline] = search.measure([search.base], search.seeds, search.metrics, progress)
    if baseline.error is not None:
        raise baseline.error
    objectives = search.objectives(wanted)
    directions: list[Literal["minimize", "maximize"]] = [
        "minimize" if metric.better < 0 else "maximize" for metric in objectives
    ]
    done: list[Proposal] = []
    with _quiet(optuna):
        # With several proposals per batch, unfinished proposals count as bad, so that Optuna avoids
        # duplicates.
        chosen = sampler or optuna.samplers.TPESampler(seed=0, constant_liar=at_once > 1)
        study = optuna.create_study(directions=directions, sampler=chosen)
        while len(done) < trials:
            asked = [study.ask(search.distributions(optuna)) for _ in range(min(at_once, trials - len(done)))]
            values = [search.values(trial.params) for trial in asked]
            scenarios = [search.with_(one) for one in values]
            measured = search.measure(scenarios, search.seeds, search.metrics, progress)
            for trial, one, found in zip(asked, values, measured):
                means = [found.mean(metric.id) for metric in objectives]
                failure = found.error
                if failure is None and any(mean is None for mean in means):
                    failure = BufferlabError("a run has no value of an objective", "lengthen `duration`")
                done.append(Proposal(trial.number, one, found.metrics, failure, found.scenario))
                if failure is None:
                    study.tell(trial, [_known(mean) for mean in means])
                else:
                    study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return Tuning(study, objectives, tuple(done), baseline, search)


SEEDS_MAX = (1 << 32) - 1
"""Maximum number of seeds with which the search runs a proposal."""


def _metrics(argument: str, given: Sequence[str]) -> list[str]:
    names = _arguments.items(argument, given, '["all.goodput_gbps"]')
    return [_arguments.text(f"{argument}[{place}]", name, "the name of a metric") for place, name in enumerate(names)]


class _Search:
    """The search space, and the code that measures proposals."""

    def __init__(
        self,
        scenario: Scenario,
        policy: str | None,
        space: Mapping[str, Dimension],
        seeds: int,
        metrics: tuple[str, ...],
        jobs: int,
        out: str | os.PathLike[str] | None,
    ) -> None:
        space = _arguments.mapping("space", space, '{"alpha": Real(0.25, 16)}')
        if not space:
            raise ArgumentError("space is empty: name at least one parameter", "", "space")
        self.policy = policy or scenario.policy
        self.base = scenario if self.policy == scenario.policy else scenario.set("switch.policy", self.policy)
        self.base.check()
        warn(self.base)
        self.space = {_arguments.text("space", key, "names of parameters"): _dimensions(key, given) for key, given in space.items()}
        self._own = {name for name in self.space if "." not in name}
        known = [parameter.name for parameter in policy_info(self.policy).parameters]
        for name in self._own:
            if name not in known:
                raise ScenarioError(
                    f'policy "{self.policy}" has no parameter "{name}"',
                    f"it has {', '.join(known) or 'none'}; other keys of the scenario are dotted, as in `switch.buffer`",
                )
        first = self.base.seed
        self.seeds = tuple(range(first, first + seeds))
        self.metrics = metrics
        self.known: tuple[Metric, ...] = ()
        self._jobs = jobs
        self._kept = None if out is None else Path(out)
        if self._kept is not None and self._kept.exists() and not self._kept.is_dir():
            raise ResultsError(f"{self._kept} is not a folder", "choose another one; nothing was changed")

    def objectives(self, wanted: tuple[str, ...]) -> tuple[Metric, ...]:
        """The metrics that the search optimises; the baseline must be finished."""
        found = []
        for id in wanted:
            metric = metric_called("objective", id, self.known)
            if metric.better == 0:
                raise BufferlabError(
                    f"{id} is neither better when it is less nor when it is more",
                    "put it into `watch` and choose an objective that is",
                )
            found.append(metric)
        return tuple(found)

    def distributions(self, optuna: Any) -> dict[str, Any]:
        """Returns the search space as distributions of Optuna; the names of list elements have
        numbers."""
        return {
            name: _distribution(optuna, dimension)
            for key, dimensions in self.space.items()
            for name, dimension in _named(key, dimensions)
        }

    def values(self, parameters: Mapping[str, Any]) -> dict[str, Value]:
        """Returns the values of a proposal in the syntax of scenarios."""
        values: dict[str, Value] = {}
        for key, dimensions in self.space.items():
            written = [dimension.written(parameters[name]) for name, dimension in _named(key, dimensions)]
            values[key] = written if isinstance(dimensions, list) else written[0]
        return values

    def with_(self, values: Mapping[str, Value]) -> Scenario:
        """Returns the scenario with the values of a proposal."""
        scenario = self.base
        for key, value in values.items():
            scenario = scenario.set(f"switch.policy.{key}" if key in self._own else key, value)
        return scenario

    def measure(
        self, scenarios: Sequence[Scenario], seeds: tuple[int, ...], metrics: Sequence[str], progress: ProgressOption
    ) -> list[Proposal]:
        """Runs the scenario of every proposal with every seed, and records failures in the
        proposals."""
        keep = None if self._kept is not None else TemporaryFolder()
        root = self._kept or (keep.path if keep else Path())
        jobs: list[tuple[_bufferlab.Loaded, Path, list[tuple[str, str, str]]]] = []
        folders: list[list[Path] | BufferlabError] = []
        for scenario in scenarios:
            try:
                loaded = [scenario.set("seed", seed)._load() for seed in seeds]
            except ScenarioError as error:
                folders.append(error)
                continue
            name = hashlib.sha256(loaded[0].resolved.encode()).hexdigest()[:16]
            own = [root / name / f"seed-{seed}" for seed in seeds]
            jobs.extend((one, folder, []) for one, folder in zip(loaded, own) if not _bufferlab.is_finished(one, folder))
            folders.append(own)
        befell = _bufferlab.execute(jobs, self._jobs, False, relay(progress))
        errors = {folder: error for (_, folder, _), error in zip(jobs, befell) if error is not None}
        return [
            self._trial(scenario, own, errors, metrics) for scenario, own in zip(scenarios, folders)
        ]

    def _trial(
        self,
        scenario: Scenario,
        folders: list[Path] | BufferlabError,
        errors: Mapping[Path, BufferlabError],
        metrics: Sequence[str],
    ) -> Proposal:
        if isinstance(folders, BufferlabError):
            return Proposal(-1, {}, {}, folders, scenario)
        for folder in folders:
            if folder in errors:
                return Proposal(-1, {}, {}, errors[folder], scenario)
        summaries = [Run(folder).summary for folder in folders]
        self.known = self.known or summaries[0].metrics
        found = {id: tuple(summary.get(id) for summary in summaries) for id in metrics}
        return Proposal(-1, {}, found, None, scenario)


def _dimensions(key: str, given: Any) -> _Plain | list[_Plain]:
    # A pair of numbers is a range of values. Any other sequence is a list of dimensions.
    if isinstance(given, Sequence) and not isinstance(given, (str, tuple)):
        return [_dimension(f"{key}[{place}]", one) for place, one in enumerate(given)]
    return _dimension(key, given)


def _dimension(key: str, given: Any) -> _Plain:
    if isinstance(given, tuple) and len(given) == 2:
        given = Real(*given)
    argument = f'space["{key}"]'
    if isinstance(given, OneOf):
        if not given.values:
            raise ArgumentError(f"{argument}: OneOf has nothing to choose from", "", argument)
        return given
    if not isinstance(given, (Real, Whole)):
        raise _arguments.refuse(argument, given, "Real, Whole, OneOf, (low, high) or a list of these")
    for bound in ("low", "high"):
        value = getattr(given, bound)
        if isinstance(given, Whole):
            _arguments.whole(f"{argument}.{bound}", value, least=-(1 << 53), most=1 << 53)
        else:
            _arguments.number(f"{argument}.{bound}", value)
    if isinstance(given, Whole):
        _arguments.whole(f"{argument}.step", given.step, least=1, most=1 << 53)
    _arguments.flag(f"{argument}.log", given.log)
    _arguments.text(f"{argument}.unit", given.unit, "a unit")
    if not given.low < given.high:
        raise ArgumentError(f"{argument}: low {given.low} is not less than high {given.high}", "", argument)
    if given.log and given.low <= 0:
        raise ArgumentError(f"{argument}: with log, low must be above 0, not {given.low}", "", argument)
    return given


def _named(key: str, dimensions: _Plain | list[_Plain]) -> Iterator[tuple[str, _Plain]]:
    if isinstance(dimensions, list):
        for place, dimension in enumerate(dimensions):
            yield f"{key}[{place}]", dimension
    else:
        yield key, dimensions


def _distribution(optuna: Any, dimension: _Plain) -> Any:
    if isinstance(dimension, OneOf):
        return optuna.distributions.CategoricalDistribution(range(len(dimension.values)))
    if isinstance(dimension, Whole):
        step = 1 if dimension.log else dimension.step
        return optuna.distributions.IntDistribution(dimension.low, dimension.high, log=dimension.log, step=step)
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Suppresses the log of Optuna, one line on stderr per proposal."""
    set_verbosity: Callable[[int], None] = optuna.logging.set_verbosity
    before = optuna.logging.get_verbosity()
    set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        set_verbosity(before)


def _known(value: float | None) -> float:
    assert value is not None, "checked before"
    return value


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _rounded(value: Value) -> str:
    """Rounds a value for display; the result table has the exact value."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_rounded, value))}]"
    return _toml.value(value)
