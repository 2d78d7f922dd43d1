"""Tests of tuning: results, repeatability and errors."""

from __future__ import annotations

from pathlib import Path

import bufferlab
import pytest
from bufferlab import OneOf, Real, Scenario, Whole, tune

pytest.importorskip("optuna")

QCT = "class.incast.qct_mean_ms"


@pytest.fixture
def incast() -> Scenario:
    """A scenario with twenty queries that overflow half the buffer and fit into the whole
    buffer."""
    return Scenario.from_file("scenarios/star-incast.toml")


def test_a_search_finds_the_alpha_that_saves_an_incast(incast: Scenario) -> None:
    found = tune(incast, space={"alpha": Real(0.25, 16, log=True)}, objective=QCT, trials=8, seeds=2)
    before, after = found.baseline.mean(QCT), found.best.mean(QCT)
    assert before is not None and after is not None
    # With the tuned alpha, no query waits for a retransmission timeout of 10 ms.
    assert before > 10 and after < 1
    alpha = found.best.values["alpha"]
    assert isinstance(alpha, float) and alpha > 1
    assert found.best_scenario.resolved == incast.set("switch.policy.alpha", alpha).resolved


def test_the_best_is_confirmed_on_seeds_that_the_search_has_not_seen(incast: Scenario) -> None:
    found = tune(incast, space={"alpha": Real(0.25, 16, log=True)}, objective=QCT, trials=4, seeds=2)
    again = found.confirm(seeds=3)
    assert again.seeds == (3, 4, 5)
    assert again.change.half_width is not None and again.change.mean + again.change.half_width < 0
    assert "change -" in str(again)


def test_a_search_repeats_itself_and_jobs_do_not_matter(incast: Scenario) -> None:
    space: dict[str, Real | Whole] = {"alpha": Real(0.25, 16, log=True), "switch.buffer": Whole(200, 800, step=50, unit="KB")}
    one, two = (tune(incast, space=space, objective=QCT, trials=6, seeds=1, jobs=jobs) for jobs in (1, 2))
    assert one.table == two.table


def test_an_interrupted_search_goes_on_where_it_was(incast: Scenario, tmp_path: Path) -> None:
    space = {"alpha": Real(0.25, 16, log=True)}
    ran: list[int] = []

    def count(progress: bufferlab.Progress) -> None:
        if progress.complete == progress.runs:
            ran.append(progress.runs)

    def search(trials: int) -> bufferlab.Tuning:
        ran.clear()
        return tune(
            incast, space=space, objective=QCT, trials=trials, seeds=1, at_once=2, out=tmp_path / "search", progress=count
        )

    search(4)
    assert sum(ran) == 5  # four proposals and the unchanged scenario
    longer = search(6)
    assert sum(ran) == 2
    assert longer.table == tune(incast, space=space, objective=QCT, trials=6, seeds=1, at_once=2).table


def test_lists_and_choices_are_parts_of_a_space(incast: Scenario) -> None:
    found = tune(
        incast,
        space={"alpha": [Real(0.5, 8), Real(0.5, 8)], "transport.0.congestion_control": OneOf("dctcp", "cubic")},
        objective=QCT,
        trials=3,
        seeds=1,
    )
    for trial in found.trials:
        alpha = trial.values["alpha"]
        assert isinstance(alpha, list) and len(alpha) == 2
        assert trial.values["transport.0.congestion_control"] in ("dctcp", "cubic")


def test_two_objectives_give_a_front_that_nobody_beats(incast: Scenario) -> None:
    found = tune(
        incast,
        space={"alpha": Real(0.25, 16, log=True)},
        objective=[QCT, "switches.lost_percent"],
        trials=8,
        seeds=1,
    )
    for trial in found.front:
        for other in found.trials:
            better = [
                (other.mean(metric.id) or 0.0) < (trial.mean(metric.id) or 0.0) for metric in found.objectives
            ]
            assert not all(better)


def test_a_proposal_that_cannot_run_is_reported_and_the_search_goes_on(incast: Scenario) -> None:
    # The scenario refuses a limit above the size of the buffer.
    found = tune(
        incast,
        policy="smxq",
        space={"limit": Whole(100, 600, step=100, unit="KB")},
        objective=QCT,
        trials=8,
        seeds=1,
    )
    failed = [trial for trial in found.trials if trial.error is not None]
    assert failed and len(failed) < len(found.trials)
    assert "did not run" in repr(found)
    assert found.table["error"].null_count == len(found.trials) - len(failed) + 1


def test_a_parameter_that_the_policy_does_not_have_is_refused_with_those_that_it_has(incast: Scenario) -> None:
    with pytest.raises(bufferlab.ScenarioError, match='"dt" has no parameter "beta"') as caught:
        tune(incast, space={"beta": Real(0, 1)})
    assert "alpha" in caught.value.help


def test_an_objective_must_exist_and_be_better_in_one_direction(incast: Scenario) -> None:
    with pytest.raises(bufferlab.BufferlabError, match="no metric"):
        tune(incast, space={"alpha": (1.0, 2.0)}, objective="short.fame", trials=1)
    with pytest.raises(bufferlab.BufferlabError, match="neither better"):
        tune(incast, space={"alpha": (1.0, 2.0)}, objective="all.flows", trials=1)


def test_a_range_without_room_is_refused(incast: Scenario) -> None:
    with pytest.raises(ValueError, match="not less than"):
        tune(incast, space={"alpha": Real(2, 1)})
    with pytest.raises(ValueError, match="above 0"):
        tune(incast, space={"alpha": Real(0, 1, log=True)})


def test_the_tradeoff_is_plotted_with_the_scenario_as_it_was(incast: Scenario) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    found = tune(
        incast,
        space={"alpha": Real(0.25, 16, log=True)},
        objective=[QCT, "all.goodput_gbps"],
        trials=5,
        seeds=1,
    )
    axes = found.plot_tradeoff()
    assert axes.get_xlabel() == "all.goodput_gbps (Gb/s)"
    assert axes.get_ylabel() == f"{QCT} (ms)"
    labels = axes.get_legend_handles_labels()[1]
    assert labels[0] == "proposals" and labels[-1] == "as it was"
    pyplot.close("all")
