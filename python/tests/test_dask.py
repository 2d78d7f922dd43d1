"""Tests with Dask: a sweep equals the local sweep although a worker is killed, and tasks return
runs."""

from __future__ import annotations

import os
import signal
import sys
from operator import attrgetter
from pathlib import Path

import pytest

from bufferlab import Progress, Run, Scenario, compare, run, sweep

from .folders import same_results

distributed = pytest.importorskip("distributed")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_sixty_four_points_on_two_workers_of_which_one_is_killed(star: Scenario, tmp_path: Path) -> None:
    star = star.set("duration", "12 ms")
    grid = {
        "switch.buffer": [f"{size} KB" for size in range(100, 900, 100)],
        "workload.incast.request": [f"{size} KB" for size in range(70, 310, 30)],
    }
    killed: list[int] = []
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:

        def kill_one(progress: Progress) -> None:
            if progress.complete >= 16 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        grid_there = sweep(star, grid, out=tmp_path / "there", executor=client, progress=kill_one)
    assert killed
    grid_here = sweep(star, grid, out=tmp_path / "here")
    assert len(grid_here.points()) == 64
    assert grid_there.text == grid_here.text
    same_results(tmp_path / "here", tmp_path / "there")


def test_a_task_returns_a_run_that_outlives_its_worker(star: Scenario) -> None:
    here = run(star)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        future = client.submit(run, star)
        compared = client.submit(compare, star, ["dt", "cs"], seeds=2)
        first, second = sorted(client.scheduler_info()["workers"])
        # A task on one worker reads the run that the other worker returned.
        moved = client.submit(attrgetter("flows"), client.submit(run, star, seed=2, workers=first), workers=second)
        there, both, flows = (future.result(timeout=120) for future in (future, compared, moved))
    assert there.flows == here.flows and there.summary == here.summary
    assert sorted(both.runs()) == [("cs", 1), ("cs", 2), ("dt", 1), ("dt", 2)]
    assert both.run("dt", 1).flows == here.flows and both.table().num_rows > 0
    assert flows == run(star, seed=2).flows
