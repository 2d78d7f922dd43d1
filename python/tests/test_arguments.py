"""Tests that errors name the wrong argument, for every argument of every public call."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

import bufferlab
from bufferlab import ArgumentError, BufferlabError, Run, Scenario, UnknownNameError, _calculators, gym, plot, sonic, theory
from bufferlab._custom import Custom
from bufferlab.scenario import as_scenario

NAN = float("nan")
ARRAY = numpy.array([1, 2])
SURROGATE = "\ud800"

WHOLE: list[Any] = [-1, NAN, 1.5, "3", "dt", [1, 2], ARRAY, True, 1 << 70, object()]
FLAG: list[Any] = [None, "yes", 1, [], ARRAY]
PATH: list[Any] = [3, b"folder", [], "", "a\0b", SURROGATE, NAN]
TEXT: list[Any] = [3, b"text", [], NAN, ARRAY, SURROGATE]
WORD: list[Any] = [3, [], "dorp", NAN, ARRAY]
SCENARIO: list[Any] = [None, 3, b"star", [], NAN, ARRAY, "", "star-incest", "missing-file.toml", {3: 4}, {"seed": None}]
POLICIES: list[Any] = ["dt", 3, NAN, {"dt": 1}, [3], [None], ["amb"], ["dt", ["abm"]], ARRAY, [int], [SURROGATE]]
VARIANTS: list[Any] = ["dt(alpha=0.5)", 3, [3], [None], ["amb(alpha=1)"], ["missing.py:Mine"], [int], ARRAY]
NAME: list[Any] = [None, 3, [], "all.slowdown_p98", SURROGATE, ARRAY]
EXECUTOR: list[Any] = ["ray", "thread", 3, None, object, []]
PROGRESS: list[Any] = [3, "yes", []]
QUANTITY: list[Any] = ["5 parsec", NAN, -1, [1], object(), True, ARRAY]
NUMBER: list[Any] = [NAN, "x", [1], ARRAY, True, object()]
OTHER: list[Any] = [3, "text", [], object()]

VARY: list[Any] = [
    None,
    [],
    "switch.buffer",
    {},
    {3: [1]},
    {"switch.buffer": "200 KB"},
    {"switch.buffer": 3},
    {"switch.buffer": []},
    {"switch.buffer": [None]},
    {"switch.buffer": [NAN]},
    {"switch.buffer": [object()]},
    {"switch.buffer": [[object()]]},
]
SPACE: list[Any] = [
    None,
    [],
    {},
    {3: bufferlab.Real(0.1, 1.0)},
    {"alpha": 3},
    {"alpha": (1, 1)},
    {"alpha": (NAN, 1)},
    {"alpha": ("a", "b")},
    {"alpha": bufferlab.OneOf()},
    {"alpha": bufferlab.Whole(1, 2, step=0)},
    {"alpha": [3]},
    {"alfa": bufferlab.Real(0.1, 1.0)},
]

SWITCH: list[Any] = [-1, 99, NAN, 1.5, "nobody", [1, 2], ARRAY, True, object()]

KINDS: dict[str, list[Any]] = {
    "action": [None, NAN, "x", [1], [[1.0] * 8], object()],
    "actions": [None, NAN, "x", [1], [1.0] * 8, object()],
    "alphas": [None, NAN, -1, "x", [1, 2, 3], ARRAY, {}, object()],
    "cable": [None, *WHOLE],
    "class_index": [None, *WHOLE],
    "interval": [None, 0, *QUANTITY],
    "options": [],
    "per": [None, *WORD],
    "reward": [None, 3, "text"],
    "after": QUANTITY,
    "allow": [3, "SB008", {"SB008": None}, {3: "why"}],
    "apply": FLAG,
    "arrivals": [None, *WHOLE],
    "arrow": [None, *OTHER],
    "at": NUMBER,
    "at_once": [None, 0, *WHOLE],
    "attempts": [None, 0, *WHOLE],
    "ax": OTHER,
    "bins": [None, 0, *WHOLE],
    "bytes": [None, *WHOLE],
    "changes": [3, "switch.policy", [1]],
    "chip": TEXT,
    "choices": ["ab", 3, [3], [None]],
    "column": NAME,
    "comparison": [None, *OTHER],
    "count": [None, *WHOLE],
    "default": [None, [], {}, object()],
    "doc": [None, *TEXT],
    "down": [None, *WHOLE],
    "drain_buffer": FLAG,
    "dst": [None, *WHOLE],
    "dst_port": [None, *WHOLE],
    "duration": QUANTITY,
    "effort": [None, *WORD],
    "end": ["middle"],
    "env": [None, *OTHER],
    "event": [None, *WORD],
    "executor": EXECUTOR,
    "factor": [None, -1, -0.5, float("inf"), *NUMBER],
    "fan_in": WHOLE,
    "faults": [None, *WHOLE],
    "figure": [None, *OTHER],
    "first_seed": [None, *WHOLE],
    "folder": PATH,
    "hold": [None, *WHOLE],
    "id": NAME,
    "iteration": [None, *WHOLE],
    "jobs": [0, *WHOLE],
    "journal": [None, *PATH],
    "key": [None, *TEXT],
    "leaves": WHOLE,
    "load": [None, -1, *NUMBER],
    "lossless": FLAG,
    "max": NUMBER,
    "metric": NAME,
    "min": NUMBER,
    "most_evictions": WHOLE,
    "name": NAME,
    "nth": [None, 0, *WHOLE],
    "num_envs": [None, 0, *WHOLE],
    "objective": [None, 3, [], [3], ["all.slowdown_p98"], "all.slowdown_p98"],
    "other": [None, *OTHER],
    "against": OTHER,
    "other_limits": FLAG,
    "out": PATH,
    "own": [None, 3, "dt", int],
    "pacing_gap_ps": WHOLE,
    "packet_bytes": [None, 0, *WHOLE],
    "parameters": [3, "alpha", [1], {"alfa": 1}, {"alpha": "x"}, {"alpha": None}, {"alpha": NAN}, {3: 4}],
    "path": PATH,
    "percent": FLAG,
    "percentile": [None, -1, 101, *NUMBER],
    "pg": [None, *WHOLE],
    "policies": POLICIES,
    "policy": [3, NAN, [], "amb", int, ARRAY, SURROGATE],
    "port": WHOLE,
    "probe": [None, *WORD],
    "profile": WORD,
    "progress": PROGRESS,
    "query": WHOLE,
    "queue": [None, *WHOLE],
    "reason": ["full"],
    "redis": TEXT,
    "registry": PATH,
    "replace": FLAG,
    "request": ["5 parsec", NAN, -1, 0, [1], object(), ARRAY],
    "retries": [None, *WHOLE],
    "round_trip_us": [None, -1, *NUMBER],
    "run": [None, *OTHER],
    "runs": [None, 3, "text", object(), [3], {"a": 3}],
    "sampler": OTHER,
    "scale": [None, *WORD],
    "scenario": SCENARIO,
    "seed": WHOLE,
    "seeds": [0, *WHOLE],
    "shared": FLAG,
    "size": [None, *WHOLE],
    "slow_start_threshold": [-1, *NUMBER],
    "space": SPACE,
    "src": [None, *WHOLE],
    "src_port": [None, *WHOLE],
    "start_ps": [None, *WHOLE],
    "sweep": [None, *OTHER],
    "switch": ["spine", 3, [], ARRAY],
    "table": [None, *WORD],
    "tables": [None, 3, "text", [], {3: 4}, {"seed": None}, {"seed": NAN}, {"seed": object()}],
    "tag": [3, [], b"a"],
    "tail": FLAG,
    "text": [None, *TEXT],
    "traffic": [None, *WORD],
    "traffic_class": [3, [], ARRAY],
    "trials": [None, 0, *WHOLE],
    "unit": WORD,
    "up": [None, *WHOLE],
    "value": [None, NAN, object(), [object()], {3: 4}, 1 << 70, SURROGATE],
    "variant": [3, "amb(alpha=1)", int, [], ARRAY],
    "variants": VARIANTS,
    "vary": VARY,
    "vectors": ["missing-vectors.txt", *PATH],
    "verify": FLAG,
    "warm_up": QUANTITY,
    "watch": ["all.goodput_gbps", 3, [3]],
    "x": ["nothing", 3],
    "y": ["nothing", 3],
}
"""Wrong values by name of the argument, for all calls except the calls that `OF_ONE` lists."""

OF_ONE: dict[str, list[Any]] = {
    "BufferEnv.switch": [None, *SWITCH],
    "BufferVectorEnv.reset.seed": [-1, NAN, 1.5, "dt", [1], [1, "dt"], [1, -1], object()],
    "Simulation.queues.switch": [None, *SWITCH],
    "Simulation.run_until.time": [None, *QUANTITY],
    "Simulation.set_alphas.switch": [None, *SWITCH],
    "Simulation.set_cable.up": [None, 1, "yes", []],
    "Simulation.set_policy.switch": SWITCH,
    "Simulation.set_rate.rate": [None, 0, *QUANTITY],
    "Scenario.name": [None, "", "a/b", *TEXT],
    "Scenario.from_toml.name": [None, "", "a/b", *TEXT],
    "Table.name": [None, *TEXT],
    "Table.to_pandas.dtype_backend": [None, *WORD],
    "Table.to_pandas.types_mapper": OTHER,
    "Table.from_parquet.name": [None, *TEXT],
    "Comparison.policies": ["dt", 3, [3], [None]],
    "Comparison.run.policy": [None, 3, "amb", SURROGATE],
    "Comparison.run.seed": [None, 99, *WHOLE],
    "Window.size": [None, -1, *NUMBER],
    "Probe.check.value": [None, *WHOLE],
    "Tuner.journal": PATH,
    "Tuning.confirm.seeds": [None, 0, *WHOLE],
    "tune.jobs": [None, *WHOLE],
    "repeat.seeds": [None, 0, *WHOLE],
    "Configuration.what_if.request": ["5 parsec", NAN, -1, 0, 1.5, [1], object(), ARRAY],
}

NOT_CHECKED: dict[str, str] = {
    "Box": "made by BufferEnv, as are its methods, which Gymnasium defines",
    "Box.contains": "answers False",
    "Box.seed": "NumPy checks the seed",
    "Interval": "made by BufferEnv",
    "Event": "made by Simulation",
    "run_unit": "the unit is made by the package, on another machine",
    "OneOf.written": "Optuna says which value it is",
    "Real.written": "Optuna says which value it is",
    "Whole.written": "Optuna says which value it is",
    "Configuration": "made by sonic.read",
    "Probe": "made by Configuration.probe",
    "WhatIf": "made by Configuration.what_if",
    "Summary": "made by Run.summary",
    "Tuning": "made by tune",
    "OneOf": "the values are those of a scenario, which refuses them when they are set",
}

#: Words that must not occur in an error: words of Rust, and messages of Python that do not name the
#: wrong argument.
FOREIGN = re.compile(
    r"unsigned|OverflowError|convert|cast as|NoneType|integral|out of range|has no attribute|not supported between|not iterable|"
    r"subscriptable|positional|PyErr|Rust|u16|u32|u64|usize|f64|size 1|ambiguous|surrogates"
)


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, method and class with arguments, by name."""
    found = [one.name for one in pkgutil.iter_modules(bufferlab.__path__) if not one.name.startswith("_")]
    modules = [bufferlab, *(importlib.import_module(f"bufferlab.{name}") for name in found)]
    seen = set()
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            is_class = isinstance(value, type) and not getattr(value, "_is_protocol", False)
            if not (is_class or inspect.isfunction(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            where = f"plot.{name}" if module is plot else name
            if not isinstance(value, type):
                yield where, value
                continue
            if issubclass(value, (Custom, BaseException)):
                continue
            if not hasattr(value, "__dataclass_fields__") and value.__module__ != "bufferlab._bufferlab":
                yield name, value
            for method, member in vars(value).items():
                if method == "__getitem__" or not method.startswith("_"):
                    member = getattr(member, "__func__", member)
                    if inspect.isfunction(member):
                        yield f"{name}.{method}", member


def arguments(call: Any) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(call).parameters.values()
    except ValueError:
        return []
    return [one for one in parameters if one.name not in ("self", "cls", "keep", "_write", "kept", "fn")]


class Subjects:
    """Objects whose methods the test calls, and a valid call of every public function."""

    def __init__(self, folder: Path) -> None:
        star = Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
        self.star = star
        self.folder = folder
        self.run = bufferlab.run(star, out=folder / "run")
        self.comparison = bufferlab.compare(star, ["dt", "cs"], out=folder / "several")
        self.sweep = bufferlab.sweep(star, {"switch.buffer": ["200 KB", "400 KB"]}, out=folder / "grid")
        objective = "class.incast.qct_mean_ms"
        self.tuning = bufferlab.tune(star, space={"alpha": (0.25, 16)}, objective=objective, trials=1, seeds=1)
        self.switch = sonic.read("testdata/sonic/switch", chip="trident3")
        self.what_if = self.switch.what_if(traffic="incast", fan_in=2, duration="100 us")
        self.probe = self.switch.probe("pfc_xoff")
        self.simulation = bufferlab.Simulation(star)
        self.env = gym.BufferEnv(star)
        self.env.reset(seed=1)
        self.envs = gym.BufferVectorEnv(star, 2)
        self.envs.reset(seed=1)

    def calls(self) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
        """Public functions and methods with valid arguments, by name; a star marks positional
        arguments."""
        metric = "class.incast.qct_mean_ms"
        star, out = self.star, self.folder / "unused"
        ports = {"src_port": 0, "dst_port": 1}
        return {
            "as_scenario": (as_scenario, {"scenario": star}),
            "compare": (bufferlab.compare, {"scenario": star, "out": out}),
            "repeat": (bufferlab.repeat, {"scenario": star, "seeds": 2, "out": out}),
            "run": (bufferlab.run, {"scenario": star, "out": out}),
            "sweep": (bufferlab.sweep, {"scenario": star, "vary": {"seed": [1]}, "out": out}),
            "explain": (bufferlab.explain, {"scenario": star}),
            "conformance": (bufferlab.conformance, {"policy": "dt", "effort": "quick"}),
            "trial": (bufferlab.trial, {"policy": "dt", "arrivals": 10}),
            "tune": (
                bufferlab.tune,
                {"scenario": star, "space": {"alpha": (0.25, 16)}, "objective": metric, "trials": 1, "seeds": 1},
            ),
            "reproduce": (bufferlab.reproduce, {"*names": "abm/fig6", "out": out}),
            "param": (bufferlab.param, {"default": 1}),
            "register": (bufferlab.register, {"own": int}),
            "policy_info": (bufferlab.policy_info, {"name": "dt"}),
            "scenarios": (bufferlab.scenarios, {}),
            "figure": (theory.figure, {"name": "abm-5"}),
            "read": (sonic.read, {"*paths": "testdata/sonic/switch"}),
            "read_chips": (sonic.read_chips, {"*paths": "testdata/sonic/switch"}),
            "plot.cdf": (plot.cdf, {"runs": self.run}),
            "plot.compare": (plot.compare, {"comparison": self.comparison, "metric": metric}),
            "plot.occupancy": (plot.occupancy, {"run": self.run}),
            "plot.slowdown_by_size": (plot.slowdown_by_size, {"runs": self.run}),
            "plot.sweep": (plot.sweep, {"sweep": self.sweep, "metric": metric}),
            "plot.theory_figure": (plot.theory_figure, {"figure": theory.figure("abm-5")[0]}),
            "Figure.plot": (theory.figure("abm-5")[0].plot, {}),
            "Run": (Run, {"folder": self.run.folder}),
            "Run.table": (self.run.table, {"name": "flows"}),
            "Summary.metric": (self.run.summary.metric, {"id": metric}),
            "Summary.__getitem__": (self.run.summary.__getitem__, {"id": metric}),
            "Comparison": (bufferlab.Comparison, {"folder": self.comparison.folder}),
            "Comparison.metric": (self.comparison.metric, {"id": metric}),
            "Comparison.__getitem__": (self.comparison.__getitem__, {"metric": metric}),
            "Comparison.run": (self.comparison.run, {"policy": "dt", "seed": 1}),
            "Comparison.report": (self.comparison.report, {}),
            "Simulation": (bufferlab.Simulation, {"scenario": star}),
            "Simulation.run_until": (self.simulation.run_until, {"time": 0.0}),
            "Simulation.step": (self.simulation.step, {}),
            "Simulation.queues": (self.simulation.queues, {}),
            "Simulation.set_policy": (self.simulation.set_policy, {"policy": "dt"}),
            "Simulation.set_alphas": (self.simulation.set_alphas, {"alphas": 1.0}),
            "Simulation.start_flow": (self.simulation.start_flow, {"src": 0, "dst": 1, "size": 1}),
            "Simulation.set_cable": (self.simulation.set_cable, {"cable": 0, "up": True}),
            "Simulation.set_rate": (self.simulation.set_rate, {"cable": 0, "rate": "1 Gb/s"}),
            "Simulation.finish": (self.simulation.finish, {}),
            "BufferEnv": (gym.BufferEnv, {"scenario": star}),
            "BufferEnv.reset": (self.env.reset, {}),
            "BufferEnv.step": (self.env.step, {"action": [0.0] * 8}),
            "BufferVectorEnv": (gym.BufferVectorEnv, {"scenario": star, "num_envs": 2}),
            "BufferVectorEnv.reset": (self.envs.reset, {}),
            "BufferVectorEnv.step": (self.envs.step, {"actions": [[0.0] * 8] * 2}),
            "BufferVectorEnv.fork_from": (self.envs.fork_from, {"env": self.env}),
            "BufferVectorEnv.close": (self.envs.close, {}),
            "Sweep": (bufferlab.Sweep, {"folder": self.sweep.folder}),
            "Scenario": (Scenario, {"tables": {"extends": "scenarios/star-incast.toml"}}),
            "Scenario.from_file": (Scenario.from_file, {"path": "scenarios/star-incast.toml"}),
            "Scenario.from_toml": (Scenario.from_toml, {"text": "seed = 3"}),
            "Scenario.__getitem__": (star.__getitem__, {"key": "seed"}),
            "Scenario.set": (star.set, {"key": "seed", "value": 3}),
            "Scenario.with_": (star.with_, {}),
            "Table": (bufferlab.Table, {"arrow": self.run.flows.arrow}),
            "Table.from_parquet": (bufferlab.Table.from_parquet, {"path": self.run.folder / "flows.parquet", "name": "flows"}),
            "Table.to_pandas": (self.run.flows.to_pandas, {}),
            "Table.__getitem__": (self.run.flows.__getitem__, {"column": "fct_ns"}),
            "Proposal.mean": (self.tuning.baseline.mean, {"metric": metric}),
            "Tuning.confirm": (self.tuning.confirm, {"seeds": 1}),
            "Tuning.plot_tradeoff": (self.tuning.plot_tradeoff, {}),
            "Derivation.__getitem__": (theory.drain_time().__getitem__, {"name": theory.drain_time().answers[0].name}),
            "Configuration.lint": (self.switch.lint, {}),
            "Configuration.predict": (self.switch.predict, {}),
            "Configuration.vectors": (self.switch.vectors, {}),
            "Configuration.probe": (self.switch.probe, {"probe": "pfc_xoff"}),
            "Configuration.diff": (self.switch.diff, {"other": self.switch}),
            "Configuration.what_if": (self.switch.what_if, {"traffic": "incast", "fan_in": 2}),
            "WhatIf.run": (self.what_if.run, {"seeds": 1}),
            "Probe.same_chip": (self.probe.same_chip, {"probe": "pfc_xon"}),
            "Probe.request": (self.probe.request, {"op": "drain"}),
            "Probe.prepare": (self.probe.prepare, ports),
            "Probe.persist": (self.probe.persist, {**ports, "count": 1, "pg": 3}),
            "Probe.check": (self.probe.check, {**ports, "value": 1}),
            "Tuner": (sonic.Tuner, {"redis": "127.0.0.1:1"}),
            "Tuner.step": (object.__new__(sonic.Tuner).step, {"at": 1.0}),
        }


NATIVE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Flow": (bufferlab.Flow, {"start_ps": 1, "src": 0, "dst": 1, "size": 10, "tag": None, "query": None}),
    "Weight": (bufferlab.Weight, {"factor": 0.5}),
    "Weight.of": (bufferlab.Weight(0.5).of, {"bytes": 10}),
    "Window": (bufferlab.Window, {"size": 10.0, "slow_start_threshold": 5.0, "pacing_gap_ps": 1}),
    "Verdict.drop": (bufferlab.Verdict.drop, {"reason": "early"}),
    "Verdict.evict": (bufferlab.Verdict.evict, {"queue": 3, "end": "head"}),
}
"""Classes of the extension module, which have no signatures in Python."""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Subjects:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[2])
        return Subjects(tmp_path_factory.mktemp("subjects"))


def attempt(call: Callable[..., Any], right: Mapping[str, Any], argument: str, wrong: Any) -> None:
    given = {name: value for name, value in right.items() if not name.startswith("*")}
    positional = [value for name, value in right.items() if name.startswith("*")]
    if f"*{argument}" in right:
        positional = [wrong]
    elif getattr(call, "__name__", "") == "__getitem__":
        positional, given = [wrong], {}
    elif getattr(getattr(call, "__self__", None), "__class__", None) in (bufferlab.Weight,) or call in (bufferlab.Weight,):
        positional, given = [wrong], {}
    else:
        given[argument] = wrong
    found = call(*positional, **given)
    # The file of a scenario is read when the scenario's content is first needed.
    if isinstance(found, Scenario):
        found.check()


def complaint(where: str, call: Callable[..., Any], right: Mapping[str, Any], argument: str, wrong: Any) -> str | None:
    """Describes the defect of an error message for a wrong value; ``None`` if the message is
    good."""
    said = f"{where}({argument}={wrong!r})"
    try:
        attempt(call, right, argument, wrong)
    except BufferlabError as error:
        text = str(error)
        names = [argument, str(right.get("key", argument)), *(str(key) for key in wrong if wrong)] if isinstance(wrong, dict) else [argument]
        if argument == "value":
            names.append(str(right.get("key")))
        if isinstance(error, bufferlab.ScenarioError) and argument in ("scenario", "path"):
            # The error about a missing file has the path of the file instead of the argument's
            # name.
            names.append(str(wrong))
        if not any(name in text for name in names):
            return f"{said} does not name the argument: {text}"
        foreign = FOREIGN.search(text.replace(repr(wrong), ""))
        return None if foreign is None else f"{said} has foreign words ({foreign.group()}): {text}"
    except Exception as error:
        return f"{said} raises {type(error).__name__}: {error}"
    return f"{said} is accepted"


def test_every_wrong_argument_is_named(subjects: Subjects) -> None:
    calls = subjects.calls()
    complaints, tried, missing = [], 0, []
    for where, call in public():
        if where in NOT_CHECKED or where in _calculators.__all__:
            continue
        found = arguments(call)
        if where not in calls:
            if found:
                missing.append(where)
            continue
        for one in found:
            name = one.name
            if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and f"*{name}" not in calls[where][1]:
                continue
            wrongs = OF_ONE.get(f"{where}.{name}", KINDS.get(name))
            if f"*{name}" in calls[where][1]:
                wrongs = PATH if name == "paths" else TEXT
            if wrongs is None:
                missing.append(f"{where}.{name}")
                continue
            for wrong in wrongs:
                tried += 1
                complaints.append(complaint(where, *calls[where], name, wrong))
    for where, (call, right) in NATIVE.items():
        for name in right:
            for wrong in OF_ONE.get(f"{where}.{name}", KINDS[name]):
                tried += 1
                complaints.append(complaint(where, call, right, name, wrong))
    assert not missing, f"say which values of these are wrong: {missing}"
    bad = [one for one in complaints if one is not None]
    assert not bad, f"{len(bad)} of {tried}:\n" + "\n".join(bad)
    assert tried > 1000
    assert not (subjects.folder / "unused").exists(), "something has begun before it was refused"


def test_every_wrong_argument_of_a_calculator_is_named() -> None:
    bad = []
    for name in _calculators.__all__:
        call = getattr(theory, name)
        needed = {one.name: "10 Gb/s" for one in arguments(call) if one.default is one.empty}
        for one in arguments(call):
            wrongs: list[Any] = [object(), [object()], {"a": 1}, NAN]
            written = str(one.annotation)
            if "bool" not in written:
                wrongs.append(True)
            if "None" not in written and "Literal" not in written:
                wrongs.append(None)
            if "Quantity" in written or "int" in written:
                wrongs += [-1, "5 parsec"] + [ARRAY] * ("Sequence" not in written)
            if "Literal" in written:
                wrongs += ["dorp", 3]
            bad += [complaint(name, call, needed, one.name, wrong) for wrong in wrongs]
    found = [one for one in bad if one is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: bufferlab.compare("star-incast", ["amb"]), "abm"),
        (lambda: bufferlab.compare("star-incast", variants=["amb(alpha=1)"]), "abm"),
        (lambda: bufferlab.policy_info("occami"), "occamy"),
        (lambda: bufferlab.explain("star-incast", event="dorp"), "drop"),  # type: ignore[arg-type]
        (lambda: bufferlab.sweep("star-incast", {"seed": [1]}, executor="process"), "processes"),  # type: ignore[arg-type]
        (lambda: bufferlab.trial("dt", alfa=1), "alpha"),
        (lambda: theory.figure("abm5"), "abm-5"),
        (lambda: bufferlab.run("star-incest"), "star-incast"),
        (lambda: bufferlab.reproduce("reveri"), "reverie"),
        (lambda: Scenario.from_file("star-incast", {"switch.bufer": "1 MB"}).check(), "buffer"),
        (lambda: sonic.read("testdata/sonic/switch", chip="trident33").predict(), "trident3"),
    ],
)
def test_a_near_miss_is_suggested(call: Callable[[], object], near: str) -> None:
    with pytest.raises(BufferlabError, match=f"[Dd]id you mean [`\"]{near}[`\"]"):
        call()


def test_a_text_instead_of_a_list_says_how_to_write_it(star: Scenario) -> None:
    for wrong in (lambda: bufferlab.compare(star, "dt"), lambda: bufferlab.sweep(star, {}, policies="dt")):
        with pytest.raises(ArgumentError) as caught:
            wrong()
        assert "policies" in str(caught.value) or "vary" in str(caught.value)
    with pytest.raises(ArgumentError, match=r"policies is 'dt' \(str\), expected a list") as caught:
        bufferlab.compare(star, "dt")
    assert caught.value.help == "write policies=['dt']"
    with pytest.raises(ArgumentError) as caught:
        bufferlab.compare(star, "dt, cs")
    assert caught.value.help == "write policies=['dt', 'cs']"
    with pytest.raises(ArgumentError, match=r'vary\["switch.buffer"\]'):
        bufferlab.sweep(star, {"switch.buffer": "200 KB"})


def test_arrays_are_lists_and_numbers_of_numpy_are_numbers(star: Scenario) -> None:
    assert Scenario({"extends": "scenarios/star-incast.toml", "seed": numpy.int64(7)}).seed == 7
    assert star.set("switch.policy.alpha", numpy.array([0.5])).resolved == star.set("switch.policy.alpha", [0.5]).resolved
    assert bufferlab.run(star, seed=numpy.int64(2)).seed == 2
    grid = bufferlab.sweep(star, {"switch.policy.alpha": numpy.array([0.5, 2.0])}, seeds=numpy.int64(1))
    assert len(grid.points()) == 2


def test_a_wrong_argument_is_what_it_was_before_and_an_error_of_the_package() -> None:
    assert issubclass(ArgumentError, (BufferlabError,)) and issubclass(ArgumentError, TypeError) and issubclass(ArgumentError, ValueError)
    assert issubclass(UnknownNameError, ArgumentError) and issubclass(UnknownNameError, KeyError)


def test_computed_lists_of_names_are_well_typed(star: Scenario) -> None:
    """Passes computed lists as arguments, for the type checker that reads this file."""
    names: list[str] = ["dt", "abm"]
    tables: list[str] = ["flows", "queues"]
    variants: list[str] = [f"dt(alpha={alpha})" for alpha in (0.5, 1)]
    alphas: list[float] = [0.5, 1.0]
    space: list[bufferlab.Real] = [bufferlab.Real(0.25, 16)]
    comparison = bufferlab.compare(star, names)
    assert bufferlab.compare(star, variants=variants).policies == ("dt(alpha=0.5)", "dt(alpha=1)")
    assert len(bufferlab.sweep(star, {"switch.policy.alpha": alphas}, policies=names).points()) == 2
    assert [comparison.run(name, 1).table(table).name for name in names for table in tables] == tables * 2
    assert star.set("switch.policy", names[1]).policy == "abm"
    found = bufferlab.tune(star, space={"alpha": space}, objective="class.incast.qct_mean_ms", trials=1, seeds=1)
    assert len(found.trials) == 1
