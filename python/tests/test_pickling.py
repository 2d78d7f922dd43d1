"""Tests of pickles and deep copies of all public objects, also after the end of their process.

Objects that cannot be pickled raise a clear error.
"""

from __future__ import annotations

import copy
import gc
import importlib
import json
import multiprocessing
import os
import pickle
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bufferlab
from bufferlab import BufferlabError, Comparison, ResultsError, Run, Scenario, _folders, sonic, theory
from bufferlab import executors, gym

from .facts import facts, plain

OWN = '''
from bufferlab import Classifier, CongestionControl, Flow, MarkingRule, Policy, Topology, Verdict, Workload

seen = {}

class Stored(Policy):
    name = "stored"
    def admit(self, arrival, buffer):
        seen["Arrival"], seen["Buffer"] = arrival, buffer
        return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL
    def on_dequeue(self, departure, buffer):
        seen["Departure"] = departure

class Marks(MarkingRule):
    name = "stored_marks"
    def marks(self, packet, buffer):
        seen["Markable"] = packet
        return False

class Control(CongestionControl):
    name = "stored-control"
    wants_telemetry = True
    uses_ecn = True
    def on_ack(self, ack, window):
        seen["Ack"] = ack
        if ack.telemetry:
            seen["Hop"] = ack.telemetry[0]

class Sorts(Classifier):
    name = "stored-classifier"
    def classify(self, packet):
        seen["Unclassified"] = packet
        return packet.mapped

class Pair(Topology):
    name = "stored_pair"
    def graph(self):
        return ["a", "b"], ["s"], []

class Pulse(Workload):
    name = "stored_pulse"
    def flows(self, random):
        yield Flow(0, 0, 1, 1000)
'''

REFUSED = {"Ack", "Arrival", "Buffer", "BufferEnv", "BufferVectorEnv", "Departure", "Hop", "Markable", "Probe", "Simulation", "Tuner", "Unclassified"}
"""Classes whose objects cannot be pickled: objects that run, show a run at one moment, or have a
connection."""

ABSTRACT = {"Executor", "Future"}
"""Protocols, which users implement; their objects are not pickled."""


def public_classes() -> dict[str, type]:
    """Every class in the ``__all__`` of a public module of the package."""
    modules = [bufferlab]
    for module in pkgutil.iter_modules(bufferlab.__path__):
        if not module.name.startswith("_"):
            modules.append(importlib.import_module(f"bufferlab.{module.name}"))
    found: dict[str, type] = {}
    for one in modules:
        for name in one.__all__:
            value = getattr(one, name)
            # A typed table is a dictionary.
            if isinstance(value, type) and not typing.is_typeddict(value):
                found[f"{value.__module__.rpartition('.')[2]}.{name}"] = value
    return found


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Custom classes in a module that another process can import."""
    (tmp_path / "stored_classes.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    sys.modules.pop("stored_classes", None)
    return importlib.import_module("stored_classes")


def examples(own: Any, star: Scenario, tmp_path: Path) -> dict[str, Any]:
    """Returns an object of every class, by the name of the class; results are
    in temporary folders."""
    for one in (own.Stored, own.Marks, own.Control, own.Pulse, own.Sorts):
        bufferlab.register(one)
    watched = star.with_({"switch.policy": own.Stored, "switch.ecn": {"kind": own.Marks}, "transport.0.congestion_control": own.Control})
    watched = watched.set("switch.classifier", own.Sorts)
    bufferlab.run(watched)
    run = bufferlab.run(star)
    comparison = bufferlab.compare(star, ["dt", "cs"], seeds=2)
    grid = bufferlab.sweep(star, {"switch.buffer": ["200 KB", "400 KB"]})
    with pytest.raises(bufferlab.SweepError) as failed:
        bufferlab.sweep(star, {"switch.buffer": ["200 KB", "1 B"]})
    with pytest.raises(bufferlab.ScenarioError) as unread:
        star.set("switch.bufer", 3).check()
    tuning = bufferlab.tune(star, space={"alpha": bufferlab.Real(0.25, 16)}, objective="class.incast.qct_mean_ms", trials=2, seeds=1)
    switch = sonic.read("testdata/sonic/switch", chip="trident3")
    what_if = switch.what_if(traffic="incast", fan_in=2, duration="100 us")
    path = bufferlab.Path(10**10, 10**6, 1500, 10)
    shape = bufferlab.Switch(1000, (10**10,), 1, 1500, "paper", 1, (False,))
    network = bufferlab.Network(("a", "b"), (1, 1), ((0,), (1,)), ("s",), (1000,), 10**6)
    derivation = theory.drain_time()
    panel = theory.figure("abm-5")[0]
    reproduced = bufferlab.JudgedClaim("ABM-1", "PASS", "1 x", None)
    metric = comparison.metrics[0]
    simulation = bufferlab.Simulation(star)
    simulation.run_until("1 ms")
    parameter = bufferlab.policy_info("dt").parameters[0]
    conformance = bufferlab.conformance("dt", effort="quick")
    errors = {
        "ClassifierError": bufferlab.ClassifierError("m", "h", "c", "s", 1, "a", "b", 2, "t"),
        "ControlError": bufferlab.ControlError("m", "h", "c", 1, "a", "b", 2, "on_ack", "t"),
        "DomainError": bufferlab.DomainError("alpha", 1.0, "more"),
        "MarkingError": bufferlab.MarkingError("m", "h", "r", "s", 1, 2, 3, "t"),
        "MissingExtraError": bufferlab.MissingExtraError("numpy", "plot"),
        "PolicyError": bufferlab.PolicyError("m", "h", "p", "s", 1, 2, 3, "admit", "t"),
        "Problem": unread.value.problems[0],
        "ScenarioError": unread.value,
        "SweepError": failed.value,
        "ArgumentError": bufferlab.ArgumentError("m", "h", "seeds"),
        "UnknownNameError": bufferlab.UnknownNameError("m", "h", "name"),
        "WorkloadError": bufferlab.WorkloadError("m", "h", "w", "t"),
        "BufferlabWarning": bufferlab.BufferlabWarning("m"),
    }
    plain_errors = ("BufferlabError", "ConfigurationError", "ConformanceError", "ResultsError", "RunError")
    return {
        **{name: getattr(bufferlab, name)("message", "help") for name in plain_errors},
        **errors,
        **own.seen,
        "Answer": derivation.answers[0],
        "Axis": panel.x,
        "Box": gym.Box(0.0, 1.0, (3,), seed=1),
        "BufferEnv": gym.BufferEnv(star),
        "BufferVectorEnv": gym.BufferVectorEnv(star, 2),
        "Cable": bufferlab.Cable("a", "b", 1, 2),
        "Caveat": bufferlab.Caveat("a", "b", "c"),
        "Cell": comparison[metric.id]["cs"],
        "checks.Check": conformance.checks[0],
        "_derivations.Check": theory.Check("a", 1.0, 1.0, "equal", 0.0, True),
        "Choice": what_if.choices[0],
        "Classifier": own.Sorts(2),
        "Comparison": comparison,
        "Configuration": switch,
        "Confirmation": tuning.confirm(seeds=1),
        "Conformance": conformance,
        "CongestionControl": own.Control(path, bufferlab.Window(10.0)),
        "Derivation": derivation,
        "Difference": switch.diff(switch),
        "Estimate": bufferlab.Estimate(2, 1.0, 0.5),
        "Change": bufferlab.Change(2, -0.5, -0.6, -0.4),
        "Experiment": bufferlab.Experiment("a", "b", "c", ("d",)),
        "Explanation": switch.explain(),
        "Figure": panel,
        "Finding": switch.lint()[0],
        "Flow": bufferlab.Flow(1, 2, 3, 4, tag="a", query=5),
        "Flows": simulation.flows(),
        "Interval": gym.Interval(1, 2.0, 3, 4, 5, 6, 7, 0.5),
        "JudgedClaim": reproduced,
        "Line": derivation.lines[0],
        "MarkingRule": own.Marks(shape),
        "Metric": metric,
        "Network": network,
        "OneOf": bufferlab.OneOf("dctcp", "cubic"),
        "Parameter": parameter,
        "Path": path,
        "Policy": own.Stored(shape),
        "PolicyInfo": bufferlab.policy_info("abm"),
        "Prediction": switch.predict(),
        "Probe": switch.probe("pfc_xoff"),
        "Progress": bufferlab.Progress(0.5, 1, 2, 3, 4.0),
        "Proposal": tuning.best,
        "Queues": simulation.queues(),
        "Real": bufferlab.Real(0.1, 2.0),
        "Recommendation": what_if.run(seeds=1),
        "Reproduction": bufferlab.Reproduction("a", "b", "c", tmp_path, (reproduced,), ()),
        "Run": run,
        "Scenario": star,
        "Series": panel.series[0],
        "Simulation": simulation,
        "Summary": run.summary,
        "Sweep": grid,
        "Switch": shape,
        "SwitchState": simulation.switches[0],
        "Event": next(iter(bufferlab.Simulation(star))),
        "Table": run.flows,
        "Trial": bufferlab.trial("dt", arrivals=100),
        "TunedProfile": sonic.TunedProfile("a", 1, 1, (0, 2), 3),
        "Topology": own.Pair(),
        "Tuner": object.__new__(sonic.Tuner),
        "Tuning": tuning,
        "Unit": executors.Unit("a", (), (), False, None, ("1", None), None),
        "Vectors": switch.vectors(),
        "Verdict": bufferlab.Verdict.evict(3, "head"),
        "Verification": theory.Verification((), (), "text"),
        "Weight": bufferlab.Weight(0.3),
        "WhatIf": what_if,
        "Whole": bufferlab.Whole(1, 2),
        "Window": bufferlab.Window(10.0, 5.0, 7),
        "Workload": own.Pulse(network),
    }


def elsewhere(pickles: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """Unpickles objects in a new process and returns their facts."""
    folder.mkdir()
    files = []
    for name, content in pickles.items():
        files.append(folder / f"{name}.pickle")
        files[-1].write_bytes(content)
    program = Path(__file__).with_name("facts.py")
    done = subprocess.run([sys.executable, program, *files], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(zip(pickles, json.loads(done.stdout)))


def test_every_public_object_survives_or_says_that_it_does_not(own: Any, star: Scenario, tmp_path: Path) -> None:
    made = examples(own, star.set("duration", "4 ms"), tmp_path)
    short = {name: value for name, value in public_classes().items() if value.__name__ not in ABSTRACT}
    missing = [name for name in short if name not in made and name.rpartition(".")[2] not in made]
    assert not missing, f"add an example of {missing}, and see that it survives a pickle"
    before, pickles, copies = {}, {}, {}
    for name in list(made):
        thing = made.pop(name)
        if name in REFUSED:
            for attempt in (pickle.dumps, copy.deepcopy):
                with pytest.raises(BufferlabError, match="cannot be pickled or copied") as caught:
                    attempt(thing)
                assert caught.value.help, f"{name} does not say what to do instead"
            continue
        pickles[name] = pickle.dumps(thing)
        copies[name] = copy.deepcopy(thing)
        before[name] = plain(facts(thing))
    # Unpickled objects must not need the original objects, which are deleted with their folders.
    del thing, made
    gc.collect()
    different = [name for name, copied in copies.items() if plain(facts(copied)) != before[name]]
    assert not different, f"a deep copy differs: {different}"
    copies.clear()
    gc.collect()
    found = elsewhere(pickles, tmp_path / "pickles")
    different = [name for name, value in found.items() if value != before[name]]
    assert not different, f"another process reads something else: {different}"


def test_equal_objects_are_equal_and_have_one_hash(star: Scenario) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: bufferlab.Flow(1, 2, 3, 4, tag="a", query=5),
        lambda: bufferlab.Weight(0.5),
        lambda: bufferlab.Verdict.drop("early"),
        lambda: Scenario.from_file("scenarios/star-incast.toml", duration="4 ms"),
        lambda: bufferlab.run(star.set("duration", "4 ms")),
        lambda: bufferlab.compare(star.set("duration", "4 ms"), ["dt", "cs"]),
    ]
    for make in makers:
        first, second = make(), make()
        assert first == second and hash(first) == hash(second), first
        assert pickle.loads(pickle.dumps(first)) == first
        assert first != object()
    assert bufferlab.Window(2.0) == bufferlab.Window(2.0) != bufferlab.Window(3.0)
    with pytest.raises(TypeError):
        hash(bufferlab.Window(2.0))
    assert bufferlab.Flow(1, 2, 3, 4) != bufferlab.Flow(1, 2, 3, 5)
    assert bufferlab.Weight(0.5) != bufferlab.Weight(0.25)
    assert star != star.set("seed", 2)
    assert len({star, Scenario.from_file("scenarios/star-incast.toml", duration="4 ms"), star.set("seed", 2)}) == 2
    assert bufferlab.run(star, seed=1) != bufferlab.run(star, seed=2)


def test_a_run_of_another_process_can_be_read(star: Scenario) -> None:
    here = bufferlab.run(star)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(bufferlab.run, star).result()
        compared = pool.submit(bufferlab.compare, star, ["dt", "cs"]).result()
        repeated = pool.submit(bufferlab.repeat, star, seeds=2).result()
        swept = pool.submit(bufferlab.sweep, star, {"switch.buffer": ["200 KB", "300 KB"]}).result()
        failed = pool.submit(bufferlab.sweep, star, {"switch.buffer": ["200 KB", "1 B"]}).exception()
    # The process that executed the pickled runs has ended.
    assert there.flows == here.flows and there.summary == here.summary
    assert sorted(compared.runs()) == [("cs", 1), ("dt", 1)] and compared.run("dt", 1).flows == here.flows
    assert len(repeated.runs()) == 2
    assert len(swept.points()) == 2 and swept.table().num_rows > 0
    assert isinstance(failed, bufferlab.SweepError) and failed.sweep is not None
    assert list(failed.sweep.points()) == ["switch.buffer=200-KB"]


def test_joblib_returns_runs(star: Scenario) -> None:
    joblib = pytest.importorskip("joblib")
    runs = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(bufferlab.run)(star, seed=seed) for seed in (1, 2))
    assert [run.seed for run in runs] == [1, 2]
    assert [run.flows for run in runs] == [bufferlab.run(star, seed=seed).flows for seed in (1, 2)]


def test_the_folder_of_a_copy_ends_with_the_copy(star: Scenario) -> None:
    run = bufferlab.run(star)
    copied = pickle.loads(pickle.dumps(run))
    assert copied.folder != run.folder and copied.folder.is_dir()
    folder = copied.folder
    del copied
    gc.collect()
    assert not folder.parent.exists()


def test_a_deep_copy_shares_the_folder_and_keeps_it(star: Scenario) -> None:
    run = bufferlab.run(star)
    copied = copy.deepcopy(run)
    assert copied.folder == run.folder and copied.manifest is not run.manifest
    del run
    gc.collect()
    assert copied.flows.num_rows > 0


def test_what_is_too_large_to_travel_is_refused_when_it_is_pickled(star: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    run, grid = bufferlab.run(star), bufferlab.sweep(star, {"seed": [1]})
    compared = bufferlab.repeat(star, seeds=2)
    with pytest.raises(bufferlab.SweepError) as failed:
        bufferlab.sweep(star, {"switch.buffer": ["200 KB", "1 B"]})
    monkeypatch.setattr(_folders, "BYTES_MAX", 1000)
    for thing in (run, grid, compared, run.scenario):
        with pytest.raises(ResultsError, match="at most 0 MiB") as caught:
            pickle.dumps(thing)
        assert "`out`" in caught.value.help
    # The error of the failed sweep can still be pickled, too.
    arrived = pickle.loads(pickle.dumps(failed.value))
    assert arrived.failed == failed.value.failed and arrived.sweep is None


def test_a_run_that_is_gone_is_refused_when_it_is_pickled(star: Scenario) -> None:
    run = bufferlab.run(star)
    for path in run.folder.iterdir():
        path.unlink()
    with pytest.raises(ResultsError, match="no results to pickle"):
        pickle.dumps(run)


def test_a_run_with_a_folder_travels_as_its_absolute_path(star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    star = Scenario.from_toml(star.resolved, name="star")
    monkeypatch.chdir(tmp_path)
    run, compared = bufferlab.run(star, out="one"), bufferlab.compare(star, ["dt"], out="several")
    pickled = pickle.dumps((run, compared))
    assert len(pickled) < 100_000
    monkeypatch.chdir("/")
    run, compared = pickle.loads(pickled)
    assert run.folder == tmp_path / "one" and run.flows.num_rows > 0
    assert len(compared.runs()) == 1
    for path in sorted((tmp_path / "several").rglob("manifest.json")):
        path.unlink()
    with pytest.raises(ResultsError, match="no longer has runs"):
        compared.runs()


def test_the_scenario_of_a_run_outlives_it(star: Scenario) -> None:
    scenario = bufferlab.run(star).scenario
    gc.collect()
    assert scenario.name == "star-incast"
    scenario = bufferlab.run(star).scenario.set("switch.policy", "abm")
    gc.collect()
    assert scenario.policy == "abm"


def test_a_scenario_whose_file_another_process_does_not_see_travels_with_its_content(tmp_path: Path) -> None:
    for name in ("dumbbell.toml", "dumbbell-flows.csv"):
        (tmp_path / name).write_bytes(Path("scenarios", name).read_bytes())
    scenario = Scenario.from_file(tmp_path / "dumbbell.toml", duration="6 ms")
    here = bufferlab.run(scenario).flows
    pickled = pickle.dumps(scenario)
    for path in tmp_path.iterdir():
        path.unlink()
    there = pickle.loads(pickled)
    assert there == scenario
    assert bufferlab.run(there).flows == here


def test_a_comparison_whose_folder_is_gone_says_so(star: Scenario, tmp_path: Path) -> None:
    compared = bufferlab.compare(star, ["dt"], out=tmp_path / "all")
    os.rename(tmp_path / "all", tmp_path / "moved")
    with pytest.raises(ResultsError, match="no longer has runs"):
        compared.runs()
    assert len(Comparison(tmp_path / "moved").runs()) == 1


def test_a_run_that_cannot_be_read_is_a_results_error(star: Scenario, tmp_path: Path) -> None:
    bufferlab.run(star, out=tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_text("{")
    with pytest.raises(ResultsError, match="manifest.json"):
        Run(tmp_path / "run")
