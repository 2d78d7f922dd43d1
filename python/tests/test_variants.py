"""Tests of variants: policies with parameters and other changes, and custom policies in files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bufferlab
from bufferlab import Scenario
from bufferlab.__main__ import main

OWN = '''
from bufferlab import Arrival, Buffer, Policy, Verdict


class FairShare(Policy):
    """Limits every queue to a fraction of the free buffer."""

    name = "{name}"
    part: float = 0.5

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        if not buffer.fits(arrival.size):
            return Verdict.FULL
        if buffer.queue_bytes(arrival.queue) + arrival.size > self.part * buffer.free:
            return Verdict.DROP
        return Verdict.ADMIT
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Writes a policy to a file, with unique names, because a process cannot reuse a module's
    name."""
    path = tmp_path / f"mine_{tmp_path.name.replace('-', '_')}.py"
    path.write_text(OWN.format(name=f"fair-{abs(hash(str(tmp_path))) % 10**8}"))
    return path


def test_two_alphas_have_labels_manifests_and_pairs(star: Scenario) -> None:
    comparison = bufferlab.compare(star, variants=["dt(alpha=0.25)", "high: dt(alpha=4)"], seeds=2)
    assert comparison.policies == ("dt(alpha=0.25)", "high")
    run = comparison.run("high", 2)
    assert (run.policy, run.label) == ("dt", "high")
    assert run.manifest["policy"]["params"] == [["alpha", "4"]]
    change = comparison["all.slowdown_mean"]["high"].change
    assert change is not None and change.seeds == 2
    by_hand = bufferlab.run(star.set("switch.policy.alpha", 4), seed=2)
    assert run.flows.to_arrow().equals(by_hand.flows.to_arrow())


def test_processes_keep_the_labels(star: Scenario) -> None:
    comparison = bufferlab.compare(star, variants=["x: dt(alpha=2)"], executor="processes", jobs=1)
    assert comparison.policies == ("x",)
    assert comparison.run("x", 1).label == "x"


def test_sweeps_take_variants(star: Scenario) -> None:
    grid = bufferlab.sweep(
        star, {"switch.buffer": ["200 KB", "400 KB"]}, policies=["cs"], variants=["dt(alpha=0.25)"]
    )
    points = grid.points().values()
    assert {point.policies for point in points} == {("cs", "dt(alpha=0.25)")}


def test_custom_policies_are_variants(star: Scenario, own: Path) -> None:
    named = bufferlab.compare(star, ["dt"], variants=[f"mine: {own}:FairShare(part=0.25)", f"{own}:FairShare"])
    assert named.policies[:2] == ("dt", "mine")
    assert named.run("mine", 1).manifest["policy"]["params"] == [["part", "0.25"]]


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("dt(alhpa=1)", "did you mean `alpha`?"),
        ("dt(alpha=1", "is never closed"),
        ("nothing.py:FairShare", "there is no such file"),
    ],
)
def test_mistakes_are_named(star: Scenario, variant: str, says: str) -> None:
    with pytest.raises((ValueError, OSError), match=says.replace("?", r"\?")):
        bufferlab.compare(star, variants=[variant])


def test_a_class_that_is_not_there_is_answered_with_those_that_are(star: Scenario, own: Path) -> None:
    with pytest.raises(ValueError, match="has no policy FairShair: it has FairShare"):
        bufferlab.compare(star, variants=[f"{own}:FairShair"])


def test_the_module_compares_as_the_program_does(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    common = ["compare", "scenarios/star-incast.toml", "--set", "duration=1 ms", "--out", str(out)]
    assert main([*common, "--variants", "dt(alpha=0.5)", f"mine: {own}:FairShare(part=0.5)"]) == 0
    shown = capsys.readouterr()
    assert "dt(alpha=0.5) (baseline)  mine" in shown.out
    assert (out / "mine" / "seed-1" / "manifest.json").is_file()
    assert main([*common, "--variants", "dt(alpha=0.5"]) == 2
    assert "is never closed" in capsys.readouterr().err
    assert main([*common, "--variants", "x: abm", "--set", "nonsense=1"]) == 1


def test_the_module_is_started_by_python(own: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bufferlab", "compare", "scenarios/star-incast.toml", "--set", "duration=1 ms"]
    command += ["--variants", f"{own}:FairShare", "--out", str(tmp_path / "out")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith("Mean over 5 seeds")


SHORT = ["scenarios/star-incast.toml", "--set", "duration=1 ms"]


def test_the_module_sweeps_explains_and_runs_custom_policies(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "grid"
    grid = ["sweep", *SHORT, "--vary", 'switch.buffer=["100 KB", "400 KB"]', "--out", str(out), "--json"]
    assert main([*grid, "--variants", "dt", f"mine: {own}:FairShare(part=0.25)"]) == 0
    swept = json.loads(capsys.readouterr().out)
    assert [point["at"] for point in swept["points"]] == [{"switch.buffer": "100 KB"}, {"switch.buffer": "400 KB"}]
    assert swept["points"][0]["comparison"]["policies"] == ["dt", "mine"]

    assert main(["explain", *SHORT, "--variant", f"{own}:FairShare(part=0.1)"]) == 0
    told = capsys.readouterr().out
    assert "part = 0.1" in told and "with another policy" in told
    assert main(["explain", *SHORT, "--variant", f"{own}:FairShare(part=0.1)", "--json"]) == 0
    [loss] = json.loads(capsys.readouterr().out)["explanations"]
    assert loss["event"] == "drop" and loss["policy"].startswith("fair-")

    assert main(["run", *SHORT, "--variant", f"{own}:FairShare", "--packets", "--out", str(tmp_path / "one")]) == 0
    assert "packet by packet" in (tmp_path / "one" / "report.html").read_text()
    assert main(["explain", str(tmp_path / "one"), "--nth", "2"]) == 0
    # Another process knows the policy of a run only if the path of the policy's file is passed.
    command = [sys.executable, "-m", "bufferlab", "explain", str(tmp_path / "one")]
    stranger = subprocess.run(command, check=False, capture_output=True, text=True)
    assert stranger.returncode == 1 and "--own mine.py" in stranger.stderr
    subprocess.run([*command, "--own", str(own)], check=True, capture_output=True)
    assert main(["sweep", *SHORT, "--vary", "switch.buffer=1 MB,", "--variants", "dt"]) == 2
    assert "one of the values is empty" in capsys.readouterr().err


def test_the_module_judges_a_study_of_ones_own_that_names_a_custom_policy(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"fair-{abs(hash(str(tmp_path))) % 10**8}"
    study = tmp_path / "own" / "study"
    study.mkdir(parents=True)
    scenario = Path("scenarios/star-incast.toml").resolve()
    (tmp_path / "short.toml").write_text(f'extends = "{scenario}"\nduration = "1 ms"\n')
    (study / "buffers.toml").write_text(
        f"""
title = "Queries and buffers"
figure = "own"
scenario = "../../short.toml"
policies = ["dt", "{name}"]
[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["100 KB", "400 KB"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 1
[paper]
seeds = 1
[[panel]]
title = "mean QCT (ms)"
metric = "qct"
"""
    )
    folders = ["--registry", str(tmp_path / "own"), "--out", str(tmp_path / "out")]
    command = ["reproduce", "study/buffers", *folders]
    assert main([*command, "--own", str(own)]) == 0
    assert "Queries and buffers" in capsys.readouterr().out
    assert (tmp_path / "out" / "study" / "buffers" / "figure.html").is_file()
    assert main([*command, "--own", str(own), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["format"] == "bufferlab-verdicts"
    assert judged["experiments"][0]["id"] == "study/buffers"


def test_a_file_without_a_custom_class_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty_file.py"
    empty.write_text("from bufferlab import Policy\n")
    assert main(["compare", *SHORT, "--variants", "dt", "--own", str(empty)]) == 2
    assert "defines no custom class" in capsys.readouterr().err


def test_finished_runs_are_reused_until_the_class_changes(own: Path, tmp_path: Path) -> None:
    """The test uses new processes, because a process imports a module only once."""
    out = tmp_path / "out"

    def compare() -> str:
        command = [sys.executable, "-m", "bufferlab", "compare", *SHORT, "--out", str(out)]
        command += ["--variants", "dt", f"mine: {own}:FairShare"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    assert "already" not in compare()
    assert "10 runs are there already" in compare()
    first = (out / "mine" / "seed-1" / "drops.parquet").read_bytes()
    own.write_text(own.read_text().replace("self.part * buffer.free", "0.01 * buffer.free"))
    later = (out / "dt" / "seed-1" / "manifest.json").stat().st_mtime + 1
    os.utime(own, (later, later))
    assert "already" not in compare()
    assert (out / "mine" / "seed-1" / "drops.parquet").read_bytes() != first, "the new class has run"
