"""Tests of reproductions: result folders and verdicts equal the results of the command line."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bufferlab import ResultsError, experiments, reproduce

from .folders import files


def test_every_experiment_has_a_figure_and_a_title() -> None:
    known = experiments()
    assert len(known) > 20
    assert all(one.figure and one.title for one in known.values())


def test_an_analytical_figure_has_the_files_of_the_command_line(cli: Path, tmp_path: Path) -> None:
    [one] = reproduce("abm/fig4", out=tmp_path / "python")
    assert one.failures == ()
    command = [str(cli), "reproduce", "abm/fig4", "--out", str(tmp_path / "command")]
    subprocess.run(command, check=True, capture_output=True)
    there = tmp_path / "command" / one.folder.relative_to(tmp_path / "python")
    assert files(one.folder) == files(there)
    assert (one.folder / "figure.html").is_file()


def test_what_is_no_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="abm/fig99"):
        reproduce("abm/fig99", out=tmp_path)
    with pytest.raises(TypeError, match="names of experiments"):
        reproduce()


EXPERIMENT = """
title = "Incast on a star"
figure = "mine"
scenario = "../../star.toml"
policies = ["dt", "cs"]

[[axis]]
name = "request"
key = "workload.incast.request"
values = ["60 KB", "120 KB"]

[metrics]
absorbed = { queries = ["incast"], of = "dropped_packets", take = "zero_percent" }
qct = "class.incast.qct_mean_ms"

[quick]
seeds = 2

[[panel]]
title = "queries without loss (%)"
metric = "absorbed"

[[course]]
title = "the buffer"
of = ["occupancy"]

[[claim]]
id = "shared"
statement = "Complete sharing absorbs at least as many queries"
effect = 'v("absorbed", "cs", "120 KB") - v("absorbed", "dt", "120 KB")'
at_least = 0.0
"""

STAR = """
name = "star"
duration = "10 ms"
drain = "200 ms"

[topology]
kind = "single_switch"
hosts = 9
rate = "10 Gb/s"
delay = "1 us"

[switch]
buffer = "200 KB"
policy = "dt"

[output]
sample_interval = "1 ms"
sample_ports = [0]

[[transport]]
congestion_control = "dctcp"
initial_window = "whole"

[[workload]]
kind = "incast"
class = "incast"
request = "120 KB"
fan_in = 8
queries_per_second_per_host = 50.0
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "registry" / "mine"
    folder.mkdir(parents=True)
    (tmp_path / "star.toml").write_text(STAR)
    (folder / "incast.toml").write_text(EXPERIMENT)
    return tmp_path / "registry"


class Counting(ThreadPoolExecutor):
    """An executor that counts the submitted runs."""

    asked = 0

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
        self.asked += 1
        return super().submit(fn, *args, **named)


def outputs(out: Path) -> dict[str, bytes]:
    """The files of a reproduction by path, without files that contain run times."""
    return files(out / "mine" / "incast") | {name: (out / name).read_bytes() for name in ("index.html", "verdicts.csv")}


def test_every_executor_leaves_the_same_bytes_and_nothing_runs_twice(study: Path, tmp_path: Path) -> None:
    [here] = reproduce("mine", registry=study, out=tmp_path / "here")
    assert [(one.claim, one.verdict) for one in here.verdicts] == [("shared", "PASS")]
    with Counting(2) as pool:
        [there] = reproduce("mine", registry=study, out=tmp_path / "there", executor=pool)
        assert pool.asked == 8
        assert there.verdicts == here.verdicts
        assert outputs(tmp_path / "there") == outputs(tmp_path / "here")
        assert not list((tmp_path / "there" / "runs").glob("*.tables"))
        assert reproduce("mine", registry=study, out=tmp_path / "there", executor=pool)[0].failures == ()
        assert pool.asked == 8
    reproduce("mine", registry=study, out=tmp_path / "processes", executor="processes", jobs=1)
    assert outputs(tmp_path / "processes") == outputs(tmp_path / "here")


class Unreliable(Counting):
    """An executor whose worker dies at every third run, once or always."""

    def __init__(self, always: bool) -> None:
        super().__init__(1)
        self._always = always

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
        if self.asked % 3 == 2 and (self._always or args[-1] == 0):
            self.asked += 1
            raise OSError("the worker died")
        return super().submit(fn, *args, **named)


def test_a_worker_that_dies_is_tried_again_and_reported_in_the_end(study: Path, tmp_path: Path) -> None:
    with Unreliable(always=False) as pool:
        [one] = reproduce("mine", registry=study, out=tmp_path / "out", executor=pool)
    assert one.failures == () and pool.asked > 8
    with Unreliable(always=True) as pool:
        [one] = reproduce("mine", registry=study, out=tmp_path / "lost", executor=pool, retries=0)
    assert len(one.failures) == 2
    assert all(failure.endswith("OSError: the worker died") for failure in one.failures)
    # Results of earlier runs were stored, so only missing runs execute.
    with Counting(1) as reliable:
        [one] = reproduce("mine", registry=study, out=tmp_path / "lost", executor=reliable)
        assert reliable.asked == 2
    assert one.failures == ()


def test_other_seeds_are_shown_and_not_remembered(study: Path, tmp_path: Path) -> None:
    [own] = reproduce("mine", registry=study, out=tmp_path)
    before = (tmp_path / "verdicts.csv").read_bytes()
    [other] = reproduce("mine", registry=study, out=tmp_path, first_seed=10)
    assert other.folder != own.folder
    assert (other.folder / "values.csv").read_bytes() != (own.folder / "values.csv").read_bytes()
    assert (tmp_path / "verdicts.csv").read_bytes() == before
