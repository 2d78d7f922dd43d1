"""Tests of comparisons and repetitions: result folders equal the result folders of the command
line."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest

import bufferlab
from bufferlab import (
    ArgumentError,
    Arrival,
    Buffer,
    BufferlabError,
    Comparison,
    Policy,
    ResultsError,
    Scenario,
    Simulation,
    Verdict,
    compare,
    repeat,
    run,
)

from .folders import same_results


def test_the_command_line_writes_the_same_comparison(cli: Path, star: Scenario, tmp_path: Path) -> None:
    by_python, by_command = tmp_path / "python", tmp_path / "command"
    compare(star, ["dt", "abm"], seeds=2, out=by_python)
    arguments = ["--set", "duration=4 ms", "--policies", "dt,abm", "--seeds", "2", "--out", str(by_command)]
    command = [str(cli), "compare", "scenarios/star-incast.toml", *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    same_results(by_python, by_command)
    assert Comparison(by_python).text == printed


def test_a_comparison_is_paired_and_has_intervals(star: Scenario) -> None:
    comparison = compare(star, ["dt", "cs"], seeds=3)
    assert comparison.seeds == (1, 2, 3)
    cell = comparison["class.incast.qct_mean_ms"]["cs"]
    assert len(cell.values) == 3
    assert cell.estimate is not None and cell.estimate.half_width is not None
    assert cell.change is not None and cell.change.mean < 0.0, "the buffer takes the whole burst"
    assert comparison["class.incast.qct_mean_ms"]["dt"].change is None
    rows = comparison.table().to_polars()
    assert rows.height == 2 * len(comparison.metrics)
    assert comparison.run("cs", 2).seed == 2
    assert set(comparison.runs()) == {(policy, seed) for policy in ("dt", "cs") for seed in (1, 2, 3)}
    with pytest.raises(KeyError):
        comparison.run("abm", 1)


def test_all_policies_that_fit_are_compared_and_the_others_named_with_the_reason(star: Scenario) -> None:
    comparison = compare(star, ["all"])
    assert comparison.policies[0] == "dt"
    names = set(bufferlab.policies()) - set(bufferlab.custom_policies())
    assert set(comparison.policies) | set(comparison.left_out) == names
    assert all(comparison.left_out.values())


def test_repetitions_have_means_of_one_policy(star: Scenario) -> None:
    comparison = repeat(star, seeds=3)
    assert comparison.policies == ("dt",)
    flows = comparison["all.flows"]["dt"]
    assert flows.estimate is not None and flows.estimate.seeds == 3
    assert flows.estimate.mean == pytest.approx(sum(value or 0.0 for value in flows.values) / 3)


def test_a_report_is_one_file_wherever_it_is_wanted(star: Scenario, tmp_path: Path) -> None:
    page = compare(star, ["dt", "cs"]).report(tmp_path / "mine.html")
    assert page.read_text().rstrip().endswith("</html>")


def test_other_scenarios_are_not_mixed_into_a_folder(star: Scenario, tmp_path: Path) -> None:
    compare(star, ["dt"], out=tmp_path / "here")
    with pytest.raises(ResultsError, match="runs of another scenario") as caught:
        compare(star.set("duration", "3 ms"), ["cs"], out=tmp_path / "here")
    assert "`out`" in caught.value.help and "--" not in caught.value.help


def test_a_policy_named_twice_and_none_at_all_are_refused(star: Scenario) -> None:
    with pytest.raises(ResultsError, match="named twice"):
        compare(star, ["dt", "dt"])
    with pytest.raises(ValueError, match="policies is empty"):
        compare(star, [])
    with pytest.raises(ValueError, match=r"policies\[0\]: there is no policy"):
        compare(star, ["dd"])


def test_a_comparison_outlives_its_temporary_folder_only_while_somebody_looks(star: Scenario) -> None:
    comparison = compare(star, ["dt"])
    run = comparison.run("dt", 1)
    folder = comparison.folder
    del comparison
    assert run.flows.num_rows > 0
    del run
    assert not folder.exists()
    shutil.rmtree(folder, ignore_errors=True)


def test_notebooks_show_results_as_html_and_complete_their_names(star: Scenario) -> None:
    comparison = compare(star, variants=["dt", "<b>: cs"], seeds=2)
    shown = comparison._repr_html_()
    losses = comparison["switches.lost_percent"]
    assert "<caption>Means over seeds 1, 2, changes against dt</caption><tr><th>metric</th><th>dt</th><th>&lt;b&gt;</th></tr>" in shown
    assert comparison.caveats and all(escape(caveat.message) in shown for caveat in comparison.caveats)
    text = re.sub(r"<svg.*?</svg>|<span[^>]*>", " ", shown).replace("</span>", "")
    assert f"<td>switches.lost_percent [%]</td><td>{losses['dt'].estimate} </td><td>{losses['<b>'].estimate}  {losses['<b>'].change}</td>" in text
    assert comparison._ipython_key_completions_() == [metric.id for metric in comparison.metrics]
    run = comparison.run("dt", 1)
    assert f"<td>switches.lost_percent</td><td>{run.summary['switches.lost_percent']:.6g}</td><td>%</td>" in run._repr_html_()
    assert run.summary._ipython_key_completions_() == list(run.summary)
    flows = run.flows
    assert flows._repr_html_().count("<tr>") == 11 and f"{flows.num_rows} rows, the first 10" in flows._repr_html_()
    assert flows._ipython_key_completions_() == flows.columns


def test_variants_continue_from_one_state_after_a_warm_up(star: Scenario, tmp_path: Path) -> None:
    comparison = compare(star, ["dt", "cs"], seeds=2, warm_up="1 ms", out=tmp_path / "warm")
    [caveat] = [caveat for caveat in comparison.caveats if caveat.id == "warm-up"]
    assert "one state of dt at 1 ms" in caveat.message and "--" not in caveat.advice
    for seed in (1, 2):
        by_hand = Simulation(star.set("switch.policy", "dt"), seed=seed)
        by_hand.run_until("1 ms")
        by_hand.set_policy("cs")
        assert by_hand.finish().flows == comparison.run("cs", seed).flows
    assert comparison.run("dt", 1).flows == run(star.set("switch.policy", "dt")).flows
    assert compare(star, ["dt", "cs"], seeds=2, warm_up=0.001, out=tmp_path / "warm").kept == 4
    with pytest.raises(ResultsError, match="runs of another scenario"):
        compare(star, ["dt", "cs"], seeds=2, out=tmp_path / "warm")


def test_variants_that_cannot_continue_are_refused(star: Scenario) -> None:
    with pytest.raises(BufferlabError, match='"deep" cannot continue after a warm-up: `switch.buffer` was'):
        compare(star, variants=["dt", "deep: cs + switch.buffer=1 MB"], warm_up="1 ms")
    with pytest.raises(BufferlabError, match="below the duration 4 ms") as caught:
        compare(star, ["dt", "cs"], warm_up="9 ms")
    assert "--" not in str(caught.value)
    with pytest.raises(ArgumentError, match="^executor"):
        compare(star, ["dt", "cs"], warm_up="1 ms", executor="processes")


def test_custom_policies_continue_after_a_warm_up(star: Scenario) -> None:
    class Whole(Policy):
        """Accepts every packet that fits."""

        name = "warm-whole"

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL

    warm = compare(star, ["dt", Whole], seeds=2, warm_up="1 ms")
    assert warm.run(warm.policies[1], 1).flows == compare(star, ["dt", "cs"], warm_up="1 ms").run("cs", 1).flows
