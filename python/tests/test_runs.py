"""Tests of single runs: tables, numbers, folders, interruptions."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, get_args

import polars
import pyarrow as pa
import pytest

import bufferlab
from bufferlab import Progress, ResultsError, Scenario, _bufferlab, run
from bufferlab.table import TableName

from .folders import same_results


def test_the_command_line_writes_the_same_bytes(cli: Path, tmp_path: Path) -> None:
    """Compares all content of two runs except the run time and the source revision."""
    by_python, by_command = tmp_path / "python", tmp_path / "command"
    scenario = Scenario.from_file("scenarios/star-incast.toml", {"switch.policy": "cs"}, seed=3)
    run(scenario, out=by_python)
    arguments = ["--set", "switch.policy=cs", "--set", "seed=3", "--out", str(by_command)]
    subprocess.run([cli, "run", "scenarios/star-incast.toml", *arguments], check=True, capture_output=True)
    same_results(by_python, by_command)


def test_every_table_of_the_manifest_has_a_name_in_the_types(star: Scenario) -> None:
    ring = {"kind": "collective", "operation": "all_reduce", "algorithm": "ring", "size": "10 KB"}
    result = run(star.set("output.packets", "all").set("workload", [ring]))
    assert result.tables == get_args(TableName)
    for name in get_args(TableName):
        assert result.table(name).num_rows == {t["name"]: t["rows"] for t in result.manifest["tables"]}[name]


@pytest.mark.parametrize(("name", "advice"), [("packets", "output.packets"), ("schedule", "collective")])
def test_a_table_that_a_run_lacks_is_asked_for_with_what_to_do(star: Scenario, name: str, advice: str) -> None:
    with pytest.raises(ResultsError, match=f"has no table {name}") as caught:
        run(star).table(name)
    assert advice in caught.value.help


def test_tables_go_to_polars_and_pandas_and_anything_that_reads_arrow(star: Scenario) -> None:
    flows = run(star).flows
    assert flows.to_polars().height == len(flows.to_pandas()) == len(flows) > 0
    assert polars.DataFrame(flows).columns == flows.columns
    assert pa.table(flows).equals(flows.arrow)
    assert flows.to_pandas()["slowdown"].min() >= 1.0
    assert all(flows.describe().values())
    assert len(list(flows.rows())) == len(flows)


def test_whole_numbers_with_gaps_stay_whole_in_pandas(star: Scenario) -> None:
    pandas = pytest.importorskip("pandas")
    series = bufferlab.run(star).series
    times: list[Any] = series["time_ns"].to_pylist()
    assert series["port"].null_count > 0
    assert series.to_pandas()["port"].dtype == "float64"
    for backend, kind in (("pyarrow", "uint16[pyarrow]"), ("numpy_nullable", "UInt16")):
        frame = series.to_pandas(dtype_backend=backend)  # type: ignore[arg-type]
        assert str(frame["port"].dtype) == kind and frame["port"].isna().sum() == series["port"].null_count
        assert frame["port"].dropna().tolist() == series["port"].drop_null().to_pylist()
        assert frame["time_ns"].sum() == sum(times)
    mapper: dict[Any, Any] = {pa.uint16(): pandas.Int64Dtype()}
    assert str(series.to_pandas(types_mapper=mapper.get)["port"].dtype) == "Int64"
    counts = series.to_pandas(dtype_backend="pyarrow").groupby("switch", observed=True).size()
    assert counts.tolist() == [series.num_rows - series["switch"].null_count]


def test_a_summary_is_a_mapping_of_stable_names(star: Scenario) -> None:
    summary = run(star).summary
    assert summary["all.slowdown_p99"] == summary.details["groups"][0]["slowdown"]["p99"]
    assert len(summary) == len(summary.metrics) > 10
    with pytest.raises(KeyError):
        summary["nothing"]


def test_another_seed_gives_other_arrivals_and_the_same_seed_the_same(star: Scenario) -> None:
    first, again, other = (run(star, seed=seed).flows for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_folder_that_nobody_asked_for_lives_as_long_as_its_run(star: Scenario) -> None:
    result = run(star)
    folder = result.folder
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.exists()


def test_what_is_no_run_is_never_replaced(star: Scenario, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years")
    with pytest.raises(ResultsError, match=r"thesis\.txt") as caught:
        run(star, out=tmp_path)
    assert "nothing was deleted" in caught.value.help
    assert (tmp_path / "thesis.txt").read_text() == "three years"


def test_a_folder_without_a_run_is_a_results_error(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="not a complete run"):
        bufferlab.Run(tmp_path)


def test_a_damaged_table_is_a_results_error(star: Scenario, tmp_path: Path) -> None:
    result = run(star, out=tmp_path / "run")
    (result.folder / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(ResultsError, match="damaged after the run"):
        result.flows  # noqa: B018
    with pytest.raises(ResultsError, match="damaged after the run"):
        result.summary  # noqa: B018


def test_progress_ends_at_one_and_what_it_raises_ends_the_run(star: Scenario) -> None:
    seen: list[Progress] = []
    run(star, progress=seen.append)
    assert (seen[-1].done, seen[-1].complete, seen[-1].runs) == (1.0, 1, 1)

    def complain(_: Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(star, progress=complain)


def test_warnings_of_a_scenario_are_warnings_of_python() -> None:
    scenario = Scenario.from_toml(
        'extends = "scenarios/star-incast.toml"\nduration = "1 ms"\n'
        '[[transport]]\nname = "idle"\ncongestion_control = "dctcp"\n'
        '[[transport]]\nname = "newreno"\ncongestion_control = "newreno"\n'
        '[[workload]]\nkind = "incast"\nfan_in = 3\nrequest = "3 KB"\nqueries_per_second_per_host = 1000.0\n'
        'transport = "newreno"\n'
    )
    assert scenario.warnings
    with pytest.warns(bufferlab.BufferlabWarning):
        run(scenario)


def test_other_threads_go_on_during_a_run(star: Scenario) -> None:
    long = star.set("duration", "400 ms")
    beats = 0
    over = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not over.wait(0.001):
            beats += 1

    thread = threading.Thread(target=beat)
    thread.start()
    run(long)
    over.set()
    thread.join()
    assert beats > 5


def test_a_folder_of_several_runs_belongs_to_one_call_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "all"
    with _bufferlab.Claim(out):
        with pytest.raises(ResultsError, match="another command is writing"):
            bufferlab.repeat("scenarios/star-incast.toml", seeds=2, out=out, progress=False)
    assert not out.exists()
    bufferlab.repeat("scenarios/star-incast.toml", seeds=2, out=out, progress=False)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_ends_a_run_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    program = (
        "import bufferlab, sys\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    bufferlab.run('scenarios/star-incast.toml', out={str(out)!r}, progress=False, seed=1)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    ).replace("'scenarios/star-incast.toml'", "bufferlab.Scenario.from_file('scenarios/star-incast.toml', duration='10000 s')")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    # The partial folder exists as soon as the run starts.
    for _ in range(600):
        if (tmp_path / ".run.partial").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 42
    process.stdout.close()
    assert list(tmp_path.iterdir()) == []
