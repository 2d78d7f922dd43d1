"""Tests of sweeps: with every executor, result folders equal the result folders of the command
line."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bufferlab import (
    BufferlabError,
    Progress,
    ResultsError,
    RunError,
    Scenario,
    ScenarioError,
    Sweep,
    SweepError,
    Value,
    compare,
    sweep,
)
from bufferlab import executors
from bufferlab.executors import Unit, run_unit

from .folders import files, same_results

GRID: dict[str, Sequence[Value]] = {"switch.buffer": ["200 KB", "400 KB"], "workload.incast.fan_in": [3, 7]}


def test_the_command_line_writes_the_same_sweep(cli: Path, star: Scenario, tmp_path: Path) -> None:
    by_python, by_command = tmp_path / "python", tmp_path / "command"
    grid = sweep(star, GRID, policies=["dt", "abm"], seeds=2, out=by_python)
    vary = ["--vary", 'switch.buffer=["200 KB", "400 KB"]', "--vary", "workload.incast.fan_in=3,7"]
    policies = ["--policies", "dt,abm", "--seeds", "2"]
    command = [str(cli), "sweep", "scenarios/star-incast.toml", "--set", "duration=4 ms", *vary, *policies]
    printed = subprocess.run(
        [*command, "--out", str(by_command)], check=True, capture_output=True, text=True
    ).stdout
    same_results(by_python, by_command)
    assert grid.text == printed
    # The Python package and the command line resume each other's sweeps.
    again = subprocess.run([*command, "--out", str(by_python)], check=True, capture_output=True, text=True)
    assert "16 runs are there already" in again.stderr


def test_the_long_table_has_a_row_per_point_metric_and_policy(star: Scenario) -> None:
    grid = sweep(star, GRID, policies=["dt", "cs"], seeds=2)
    table = grid.table().to_polars()
    assert table.columns[:2] == list(GRID)
    lost = table.filter(table["metric"] == "switches.lost_percent")
    assert lost.height == 2 * 2 * 2
    assert set(lost["seeds"]) == {2}
    assert set(lost["switch.buffer"]) == {"200 KB", "400 KB"}
    points = grid.points()
    assert len(points) == 4
    assert points["switch.buffer=400-KB,incast.fan_in=7"]["switches.lost_percent"]["cs"].estimate is not None


def test_what_is_there_is_not_run_again_and_values_can_be_added(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    sweep(star, {"switch.buffer": ["200 KB"]}, out=out)
    seen: list[Progress] = []
    sweep(star, {"switch.buffer": ["200 KB", "300 KB"]}, out=out, progress=seen.append)
    assert seen[-1].runs == 1
    # A sweep over another key adds other points to an existing result folder.
    sweep(star, {"seed": [1, 2]}, out=out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("hard work")
    with pytest.raises(ResultsError, match="does not hold a sweep"):
        sweep(star, {"seed": [1, 2]}, out=tmp_path / "mine")


def test_a_point_that_cannot_run_is_named_and_the_others_are_there(star: Scenario) -> None:
    with pytest.raises(SweepError, match="1 run failed") as caught:
        sweep(star, {"switch.buffer": ["200 KB", "1 B"]})
    assert caught.value.failed[0].startswith("switch.buffer=1-B")
    assert caught.value.sweep is not None
    assert list(caught.value.sweep.points()) == ["switch.buffer=200-KB"]


@pytest.mark.parametrize("executor", ["threads", "processes", ThreadPoolExecutor])
def test_every_executor_leaves_the_same_bytes(star: Scenario, tmp_path: Path, executor: Any) -> None:
    sweep(star, GRID, policies=["dt", "abm"], out=tmp_path / "here")
    seen: list[Progress] = []
    with ExitStack() as stack:
        there: Any = executor if isinstance(executor, str) else stack.enter_context(executor(2))
        out = tmp_path / "there"
        sweep(star, GRID, policies=["dt", "abm"], out=out, executor=there, jobs=2, progress=seen.append)
    same_results(tmp_path / "here", tmp_path / "there")
    assert (seen[-1].complete, seen[-1].done) == (8, 1.0)


def test_input_files_travel_along(tmp_path: Path) -> None:
    scenario = Scenario.from_file("scenarios/dumbbell.toml", duration="6 ms")
    grid = {"switch.buffer": ["100 KB", "200 KB"]}
    sweep(scenario, grid, out=tmp_path / "here")
    with ThreadPoolExecutor(2) as pool:
        sweep(scenario, grid, out=tmp_path / "there", executor=pool)
    same_results(tmp_path / "here", tmp_path / "there")
    assert any(name.endswith("dumbbell-flows.csv") for name in files(tmp_path / "there"))


def test_workers_that_see_the_folder_write_there_themselves(star: Scenario, tmp_path: Path) -> None:
    sweep(star, GRID, out=tmp_path / "here")
    with ThreadPoolExecutor(2) as pool:
        sweep(star, GRID, out=tmp_path / "there", executor=pool, shared=True)
    same_results(tmp_path / "here", tmp_path / "there")


class Unreliable:
    """An executor that fails every run a number of times before it executes the run
    successfully."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.attempts: dict[Unit, int] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        unit: Unit = args[0]
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        if self.attempts[unit] <= self.failures:
            future.set_exception(OSError("the worker has caught fire"))
        else:
            future.set_result(fn(*args))
        return future


def test_a_failure_of_a_worker_is_tried_again(star: Scenario, tmp_path: Path) -> None:
    unreliable = Unreliable(failures=2)
    sweep(star, GRID, out=tmp_path / "there", executor=unreliable, retries=2)
    assert list(unreliable.attempts.values()) == [3] * 4
    sweep(star, GRID, out=tmp_path / "here")
    same_results(tmp_path / "here", tmp_path / "there")


def test_a_worker_that_keeps_failing_is_reported_and_the_repetition_does_the_rest(
    star: Scenario, tmp_path: Path
) -> None:
    class Picky(Unreliable):
        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
            self.failures = 99 if 'buffer = "200 KB"' in args[0].scenario else 0
            return super().submit(fn, *args)

    out = tmp_path / "sweep"
    with pytest.raises(SweepError, match="2 runs failed") as caught:
        sweep(star, GRID, out=out, executor=Picky(0), retries=1)
    assert all("the worker has caught fire" in why for why in caught.value.failed)
    seen: list[Progress] = []
    sweep(star, GRID, out=out, progress=seen.append)
    assert seen[-1].runs == 2
    sweep(star, GRID, out=tmp_path / "whole")
    same_results(out, tmp_path / "whole")


def test_a_scenario_that_is_at_fault_is_tried_once(star: Scenario) -> None:
    class Refusing(Unreliable):
        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
            self.attempts[args[0]] = self.attempts.get(args[0], 0) + 1
            future: Future[Any] = Future()
            future.set_exception(RunError("the policy does not fit"))
            return future

    refusing = Refusing(0)
    with pytest.raises(SweepError, match="4 runs failed"):
        sweep(star, GRID, executor=refusing, retries=5)
    assert list(refusing.attempts.values()) == [1] * 4


def test_a_worker_of_another_version_is_refused(star: Scenario) -> None:
    unit = Unit(star.resolved, (), (), False, None, ("0.0.0", None), None)
    with pytest.raises(BufferlabError, match=r"0\.0\.0") as caught:
        run_unit(unit)
    assert "same wheel" in caught.value.help


def test_what_is_no_executor_is_refused(star: Scenario) -> None:
    with pytest.raises(ValueError, match="expected"):
        sweep(star, GRID, executor="cluster")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="submit"):
        sweep(star, GRID, executor=3)  # type: ignore[arg-type]


def test_an_interruption_cancels_what_is_under_way(star: Scenario, tmp_path: Path) -> None:
    class Idle:
        def __init__(self) -> None:
            self.futures: list[Future[Any]] = []

        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
            self.futures.append(Future())
            return self.futures[-1]

    idle = Idle()
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(star, GRID, executor=idle, out=tmp_path / "sweep")
    assert len(idle.futures) == 4
    assert all(future.cancelled() for future in idle.futures)


DYING = """
import os
import signal
from bufferlab.executors import run_unit

def die_once(marker, unit, attempt):
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return run_unit(unit, attempt)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_a_process_that_is_killed_is_replaced(
    star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    # New processes inherit Python's module search path.
    monkeypatch.syspath_prepend(tmp_path)
    die_once = importlib.import_module("dying").die_once
    submit = executors._Processes.submit

    def dying(self: Any, fn: Callable[..., Any], /, *args: Any) -> Any:
        return submit(self, die_once, str(tmp_path / "marker"), *args)

    monkeypatch.setattr(executors._Processes, "submit", dying)
    sweep(star, GRID, out=tmp_path / "there", executor="processes", jobs=2)
    assert (tmp_path / "marker").exists(), "no worker was killed"
    sweep(star, GRID, out=tmp_path / "here")
    same_results(tmp_path / "here", tmp_path / "there")


def test_a_pool_of_the_callers_is_left_open(star: Scenario) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        sweep(star, {"seed": [1]}, executor=pool)
        assert pool.submit(shutil.which, "sh").result() is not None


def test_a_comparison_can_be_spread_too(star: Scenario, tmp_path: Path) -> None:
    compare(star, ["dt", "abm"], seeds=2, out=tmp_path / "here")
    with ThreadPoolExecutor(2) as pool:
        compare(star, ["dt", "abm"], seeds=2, out=tmp_path / "there", executor=pool)
    same_results(tmp_path / "here", tmp_path / "there")


OWN = """
from bufferlab import Arrival, Buffer, Policy, Verdict, register

@register
class Travelling(Policy):
    name = "travelling"
    def admit(self, arrival, buffer):
        return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL
"""

SPREAD = """
from own_policy import Travelling
from bufferlab import Scenario, sweep

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms")
    vary = {"switch.buffer": ["200 KB", "400 KB"]}
    here = sweep(star, vary, policies=["cs", Travelling])
    there = sweep(star, vary, policies=["cs", Travelling], executor="processes", jobs=2)
    assert here.text == there.text
    print(there.text)
"""


def test_custom_policies_travel_along(tmp_path: Path) -> None:
    (tmp_path / "own_policy.py").write_text(OWN)
    (tmp_path / "main.py").write_text(SPREAD)
    done = subprocess.run([sys.executable, tmp_path / "main.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "travelling" in done.stdout


def test_a_sweep_is_opened_again_from_its_folder(star: Scenario, tmp_path: Path) -> None:
    done = sweep(star, {"switch.buffer": ["200 KB", "400 KB"], "workload.0.fan_in": [5, 6]}, out=tmp_path / "grid")
    again = Sweep(tmp_path / "grid")
    assert again.keys == done.keys == ("switch.buffer", "workload.0.fan_in")
    assert again.table().arrow == done.table().arrow and list(again.points()) == list(done.points())
    with pytest.raises(ResultsError, match="sweep.csv"):
        Sweep(tmp_path)


def test_varied_numbers_are_numbers_and_quantities_have_base_units(star: Scenario) -> None:
    table = sweep(star, {"switch.policy.alpha": [0.5, 2, 16]}).table()
    alphas = table.to_pandas()["switch.policy.alpha"]
    assert sorted(set(alphas)) == [0.5, 2.0, 16.0] and alphas.dtype == float
    whole = sweep(star, {"workload.incast.fan_in": [3, 5]}).table().to_polars()
    assert whole["workload.incast.fan_in"].dtype.is_integer()
    sizes = sweep(star, {"switch.buffer": ["900 KB", "1 MB"], "duration": ["500 us", "1 ms"]}).table()
    assert sizes.columns[:4] == ["switch.buffer", "duration", "switch.buffer_bytes", "duration_seconds"]
    assert set(sizes["switch.buffer_bytes"].to_pylist()) == {900_000, 1_000_000}
    assert set(sizes["duration_seconds"].to_pylist()) == {0.0005, 0.001}
    names = sweep(star, {"transport.0.congestion_control": ["newreno", "cubic"]}).table()
    assert set(names["transport.0.congestion_control"].to_pylist()) == {"newreno", "cubic"}


def test_the_help_of_a_failed_sweep_fits_what_is_there(star: Scenario, tmp_path: Path) -> None:
    grid: dict[str, Sequence[Value]] = {"switch.buffer": ["200 KB", "1 B"]}
    with pytest.raises(ScenarioError, match="unknown key"):
        sweep(star, {"switch.bufer": [1, 2]})
    with pytest.raises(SweepError) as caught:
        sweep(star, grid)
    assert "with `out`" in caught.value.help
    with pytest.raises(SweepError) as caught:
        sweep(star, grid, out=tmp_path / "grid")
    assert "the same `out`" in caught.value.help


def test_a_sweep_converts_to_xarray_and_to_html(star: Scenario) -> None:
    xarray = pytest.importorskip("xarray")
    done = sweep(star, {"switch.buffer": ["200 KB", "1 MB"], "workload.0.fan_in": [3, 5]}, policies=["dt", "cs"], seeds=2)
    data = done.to_xarray()
    assert isinstance(data, xarray.Dataset)
    assert data.sizes == {"switch.buffer": 2, "workload.0.fan_in": 2, "policy": 2, "statistic": 5}
    metric = data["switches.lost_percent"]
    assert metric.attrs == {"units": "%"} and metric.dims[-2:] == ("policy", "statistic")
    for row in done.table().to_arrow().to_pylist():
        place = {key: row[key] for key in (*done.keys, "policy")}
        for name in ("mean", "ci95_half_width", "change", "change_ci95_low", "change_ci95_high"):
            found = float(data[row["metric"]].sel({**place, "statistic": name}))
            assert found == row[name] or (row[name] is None and found != found)
    shown = done._repr_html_()
    assert shown.count("<tr>") == 5 and "<th>switch.buffer</th><th>workload.0.fan_in</th><th>dt</th><th>cs</th>" in shown
