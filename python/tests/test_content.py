"""Tests that a result folder never mixes runs with different content in one mean.

The tests cover every pair of a call in ``CALLS`` and a change in ``CHANGES``.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bufferlab import BufferlabError, ResultsError, Scenario, ScenarioError, compare, repeat, reproduce, run, sonic, sweep, tune
from bufferlab.comparisons import Comparison

from .folders import files, same_results

SCENARIO = """extends = "base.toml"
name = "mixed"

[[workload]]
kind = "incast"
request = "60 KB"
fan_in = 3
queries_per_second_per_host = 500.0

[[workload]]
kind = "flow_list"
file = "flows.csv"
"""

BASE = """duration = "2 ms"
drain = "50 ms"
topology = { kind = "single_switch", hosts = 4, rate = "10 Gb/s", delay = "10 us" }
switch = { buffer = "100 KB", policy = { name = "dt", alpha = 1 } }

[[transport]]
congestion_control = "newreno"
"""

STUDY = """title = "Queries"
figure = "own"
scenario = "../../mixed.toml"
policies = ["dt", "cs"]
[metrics]
qct = "class.incast.qct_mean_ms"
[quick]
seeds = 2
"""

Call = Callable[..., Any]


def what_if(folder: Path, **how: Any) -> Any:
    config = sonic.read(folder / "switch", chip="trident3")
    return config.what_if(traffic="incast", duration="50 us").run(seeds=how.pop("seeds"), **how)


def study(folder: Path, out: Path, seeds: int, replace: bool = False, jobs: int | None = None) -> Any:
    return reproduce("study/buffers", registry=folder / "own", out=out, seeds=seeds, jobs=jobs)


CALLS: dict[str, Call] = {
    "run": lambda folder, seeds, **how: run(folder / "mixed.toml", **how),
    "repeat": lambda folder, seeds, **how: repeat(folder / "mixed.toml", seeds=seeds, **how),
    "compare": lambda folder, seeds, **how: compare(
        folder / "mixed.toml", ["dt", "cs"], seeds=seeds, **how
    ),
    "sweep": lambda folder, seeds, **how: sweep(
        folder / "mixed.toml",
        {"switch.uncharged_bytes": ["0 B", "18 B"]},
        policies=["dt", "cs"],
        seeds=seeds,
        **how,
    ),
    "reproduce": lambda folder, seeds, **how: study(folder, seeds=seeds, **how),
}

CHANGES: dict[str, tuple[str, str, str]] = {
    "scenario": ("mixed.toml", "60 KB", "50 KB"),
    "extended": ("base.toml", "100 KB", "90 KB"),
    "flow list": ("flows.csv", "h2,h1", "h3,h1"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "mixed.toml").write_text(SCENARIO)
    (tmp_path / "base.toml").write_text(BASE)
    flows = "src,dst,size_bytes,start_ns\nh0,h1,30000,0\nh2,h1,30000,1000\n"
    (tmp_path / "flows.csv").write_text(flows)
    (tmp_path / "own" / "study").mkdir(parents=True)
    (tmp_path / "own" / "study" / "buffers.toml").write_text(STUDY)
    return tmp_path


def unmixed(out: Path) -> None:
    """Fails if seeds of one policy ran different scenarios or inputs, as the result files show."""
    labels: dict[Path, str] = {}
    for manifest in sorted(out.glob("**/seed-*/manifest.json")):
        run_folder = manifest.parent
        inputs = "".join(path.read_text() for path in sorted(run_folder.glob("*.csv")))
        content = re.sub(r"^seed = .*$", "", (run_folder / "scenario.toml").read_text(), flags=re.MULTILINE) + inputs
        assert labels.setdefault(run_folder.parent, content) == content, f"{run_folder} would share a mean with others"


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", CALLS)
def test_other_content_is_refused_or_kept_apart(desk: Path, name: str, change: str) -> None:
    call, out = CALLS[name], desk / "out"
    call(desk, seeds=3, out=out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    file, old, new = CHANGES[change]
    (desk / file).write_text((desk / file).read_text().replace(old, new))
    if name == "reproduce":
        call(desk, seeds=2, out=out)
        call(desk, seeds=2, out=desk / "fresh")
        values = "study/buffers/values.csv"
        assert (out / values).read_text() == (desk / "fresh" / values).read_text()
        return
    with pytest.raises(ResultsError, match="another scenario"):
        call(desk, seeds=2, out=out)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    call(desk, seeds=2, out=out, replace=True)
    unmixed(out)
    call(desk, seeds=2, out=desk / "fresh")
    assert files(out) == files(desk / "fresh")


CHILD = """import sys
from pathlib import Path
from python.tests.test_content import CALLS

CALLS[sys.argv[1]](Path(sys.argv[2]), seeds=3, jobs=1, out=Path(sys.argv[2]) / "out")
"""


def finished(out: Path) -> dict[Path, bytes]:
    """Files that record the finished runs of a result folder, by path."""
    return {path: path.read_bytes() for path in (*out.glob("**/seed-*/manifest.json"), *out.glob("runs/*.json"))}


def leftovers(out: Path) -> list[Path]:
    """Hidden files and folders that a killed call leaves beside its runs."""
    return [path for ending in ("writing", "partial") for path in out.rglob(f".*.{ending}")]


@pytest.mark.parametrize("name", ["repeat", "compare", "sweep", "reproduce"])
def test_a_call_removes_what_a_killed_call_left(desk: Path, name: str) -> None:
    call, out = CALLS[name], desk / "out"
    call(desk, seeds=2, out=out)
    before = files(out)
    folders = {path.parent for path in finished(out)}
    for folder in folders:
        (folder.parent / f".{folder.name}.writing").write_text("")
        (folder.parent / ".seed-7.partial").mkdir(exist_ok=True)
        (folder.parent / ".seed-7.partial" / ".made-by-bufferlab").write_text("")
        (folder.parent / ".other.writing").write_text("a file of another program")
    assert folders and leftovers(out)
    call(desk, seeds=2, out=out)
    assert {path.name for path in leftovers(out)} == {".other.writing"}
    for path in leftovers(out):
        path.unlink()
    assert files(out) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("name", ["repeat", "compare", "sweep", "reproduce"])
def test_a_killed_call_is_completed_and_other_content_is_not_mixed_in(desk: Path, name: str) -> None:
    call, out, scenario = CALLS[name], desk / "out", desk / "mixed.toml"
    base = desk / "base.toml"
    base.write_text(base.read_text().replace('"2 ms"', '"200 ms"'))
    child = subprocess.Popen([sys.executable, "-c", CHILD, name, str(desk)])
    while child.poll() is None and not finished(out):
        time.sleep(0.001)
    child.kill()
    assert child.wait() == -signal.SIGKILL, "the call ended before its first run was seen"
    before = finished(out)
    assert before

    old = scenario.read_text()
    scenario.write_text(old.replace("60 KB", "50 KB"))
    if name == "reproduce":
        call(desk, seeds=2, out=out)
        call(desk, seeds=2, out=desk / "fresh")
        values = "study/buffers/values.csv"
        assert (out / values).read_text() == (desk / "fresh" / values).read_text()
        return
    with pytest.raises(ResultsError, match="another scenario"):
        call(desk, seeds=2, out=out)
    assert finished(out) == before
    scenario.write_text(old)
    call(desk, seeds=3, out=out)
    unmixed(out)
    assert not leftovers(out)
    call(desk, seeds=3, out=desk / "fresh")
    same_results(out, desk / "fresh")
    assert {path: path.read_bytes() for path in before} == before


def test_a_what_if_does_not_overwrite_another_ones_scenario(desk: Path) -> None:
    root = Path("testdata/sonic/switch")
    (desk / "switch").mkdir()
    for path in root.iterdir():
        (desk / "switch" / path.name).write_text(path.read_text())
    out = desk / "out"
    what_if(desk, seeds=2, out=out)
    before = (out / "what-if.toml").read_text()
    buffers = desk / "switch" / "buffers.json"
    buffers.write_text(buffers.read_text().replace('"dynamic_th": "1"', '"dynamic_th": "2"'))
    with pytest.raises(ResultsError, match="another scenario"):
        what_if(desk, seeds=1, out=out)
    assert (out / "what-if.toml").read_text() == before
    what_if(desk, seeds=1, out=out, replace=True)
    unmixed(out)


def test_a_comparison_of_a_mixed_folder_is_refused(desk: Path) -> None:
    repeat(desk / "mixed.toml", seeds=2, out=desk / "out")
    run(Scenario.from_file(desk / "mixed.toml", duration="7 ms", seed=2), out=desk / "out" / "seed-2", replace=True)
    with pytest.raises(ResultsError, match="has no mean"):
        Comparison(desk / "out")


def test_one_bad_variant_leaves_the_others_complete(desk: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        compare(desk / "mixed.toml", variants=["dt", "small: dt + switch.buffer=1 B", "cs"], out=desk / "out")
    assert caught.value.comparison.policies == ("dt", "cs")  # type: ignore[attr-defined]
    with pytest.raises(BufferlabError):
        compare(desk / "mixed.toml", variants=["small: dt + switch.buffer=1 B"], out=desk / "alone")


def test_a_search_does_not_reuse_runs_of_another_version(desk: Path) -> None:
    found = tune(desk / "mixed.toml", space={"alpha": (0.5, 2)}, objective="class.incast.qct_mean_ms", trials=1, seeds=1, out=desk / "out")
    manifests = sorted((desk / "out").glob("**/manifest.json"))
    assert found.baseline and len(manifests) == 2
    first = manifests[0]
    first.write_text(first.read_text().replace('"bufferlab_version": "0.', '"bufferlab_version": "0.0.'))
    (first.parent / "SHA256SUMS").unlink()
    other = manifests[1].stat().st_mtime_ns
    tune(desk / "mixed.toml", space={"alpha": (0.5, 2)}, objective="class.incast.qct_mean_ms", trials=1, seeds=1, out=desk / "out")
    assert '"0.0.' not in first.read_text(), "it was made again"
    assert manifests[1].stat().st_mtime_ns == other, "it was reused"
