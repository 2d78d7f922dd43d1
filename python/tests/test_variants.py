"""Variants: policies with parameters and other changes; own policies in files."""

from __future__ import annotations

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
    """A queue may hold a part of what is free."""

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
    """A policy in a file; names of modules and policies last as long as the process."""
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


def test_own_policies_are_variants(star: Scenario, own: Path) -> None:
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
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith("One run.")
