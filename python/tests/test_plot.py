"""Tests of plots: the drawn values equal the measured values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from bufferlab import Comparison, Run, Scenario, compare, plot, run, sweep, theory


def xs(line: Line2D) -> list[float]:
    return [float(x) for x in numpy.asarray(line.get_xdata())]


def ys(line: Line2D) -> list[float]:
    return [float(y) for y in numpy.asarray(line.get_ydata())]


@pytest.fixture(autouse=True)
def no_figures_stay_open() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    root = Path(__file__).resolve().parents[2]
    star = Scenario.from_file(root / "scenarios/star-incast.toml", duration="6 ms")
    return compare(star, ["dt", "cs"], seeds=2)


def test_a_cdf_has_a_step_per_flow_and_ends_at_one(comparison: Comparison) -> None:
    ax = plot.cdf(comparison, column="slowdown")
    assert [line.get_label() for line in ax.get_lines()] == ["dt", "cs"]
    for line, policy in zip(ax.get_lines(), comparison.policies):
        runs = [comparison.run(policy, seed) for seed in comparison.seeds]
        values = sorted(value for one in runs for value in one.flows.to_pydict()["slowdown"])
        assert xs(line) == pytest.approx(values)
        assert ys(line)[-1] == 1.0


def test_the_tail_of_queries_is_what_the_cdf_leaves(comparison: Comparison) -> None:
    ax = plot.cdf(comparison.run("dt", 1), column="qct_ns", table="queries", traffic_class="incast", tail=True)
    [line] = ax.get_lines()
    heights = ys(line)
    assert heights == sorted(heights, reverse=True)
    assert heights[0] == 1.0 and heights[-1] == pytest.approx(1.0 / len(heights))


def test_slowdowns_by_size_are_percentiles_by_nearest_rank(comparison: Comparison) -> None:
    one = comparison.run("dt", 1)
    ax = plot.slowdown_by_size(one, percentile=100.0, bins=1)
    [line] = ax.get_lines()
    assert ys(line) == [max(one.flows.to_pydict()["slowdown"])]


def test_occupancy_is_the_sampled_series(comparison: Comparison) -> None:
    one: Run = comparison.run("cs", 1)
    ax = plot.occupancy(one, percent=True)
    [line] = ax.get_lines()
    rows = [row for row in one.series.rows() if row["scope"] == "switch"]
    buffer = one.manifest["totals"]["buffer_bytes"][0]
    assert ys(line) == pytest.approx([100.0 * row["occupancy_bytes"] / buffer for row in rows])
    assert max(ys(line)) > 30.0


def test_bars_of_a_comparison_are_its_means(comparison: Comparison) -> None:
    _, ax = pyplot.subplots()
    assert plot.compare(comparison, "class.incast.qct_mean_ms", ax=ax) is ax
    heights = [bar.get_height() for bar in ax.patches if isinstance(bar, Rectangle)]
    means = [cell.estimate.mean for cell in comparison["class.incast.qct_mean_ms"].values() if cell.estimate]
    assert heights == pytest.approx(means)


def test_a_sweep_is_a_line_per_policy(star: Scenario) -> None:
    grid = sweep(star, {"switch.buffer": ["200 KB", "400 KB", "800 KB"]}, policies=["dt", "cs"])
    ax = plot.sweep(grid, "switches.lost_percent")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert labels == ["dt", "cs"]
    assert xs(ax.get_lines()[0]) == [200.0, 400.0, 800.0]
    with pytest.raises(KeyError):
        plot.sweep(grid, "nothing")


def test_every_analytical_figure_can_be_drawn() -> None:
    for name in theory.figures():
        for panel in theory.figure(name):
            ax = panel.plot()
            assert len(ax.get_lines()) == len(panel.series)
            pyplot.close("all")


def test_a_run_draws_itself_alone(star: Scenario) -> None:
    assert len(plot.cdf(run(star)).get_lines()) == 1
    assert len(plot.cdf({"first": run(star), "second": run(star, seed=2)}).get_lines()) == 2
    assert len(plot.cdf([run(star), run(star, seed=2)]).get_lines()) == 1


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "matplotlib", "pandas", "polars", "optuna"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import bufferlab
from bufferlab import plot, theory

star = bufferlab.Scenario.from_file("star-incast", duration="1 ms")
run = bufferlab.run(star)
compared = bufferlab.compare(star, ["dt"])
grid = bufferlab.sweep(star, {"seed": [1]})
metric = "all.flows"
calls = [
    lambda: plot.cdf(run),
    lambda: plot.slowdown_by_size(run),
    lambda: plot.occupancy(run),
    lambda: plot.compare(compared, metric),
    lambda: plot.sweep(grid, metric),
    lambda: plot.theory_figure(theory.figure("abm-5")[0]),
    lambda: theory.figure("abm-5")[0].plot(),
    lambda: run.flows.to_pandas(),
    lambda: run.flows.to_polars(),
    lambda: bufferlab.tune(star, space={"alpha": (0.1, 1)}),
]
for number, call in enumerate(calls):
    try:
        call()
    except bufferlab.MissingExtraError as error:
        assert "pip install" in error.help
    else:
        raise SystemExit(f"call {number} needs no extra")
"""


def test_without_extras_every_call_names_the_command_that_installs_them() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sizes_in_two_units_are_in_their_order_on_the_axis(star: Scenario) -> None:
    grid = sweep(star, {"switch.buffer": ["900 KB", "1 MB"]})
    axes = plot.sweep(grid, "all.flows")
    assert list(axes.get_xticks()) == [900_000, 1_000_000]
