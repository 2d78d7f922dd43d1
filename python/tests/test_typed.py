"""Tests of the types of scenario tables.

``mypy --strict`` checks this file, too. It refuses a comment that ignores no error, so each such
comment shows that a mistake is refused.
"""

from __future__ import annotations

import typing

import pytest

import bufferlab
from bufferlab import Scenario, typed
from bufferlab.typed import DtPolicy, IncastWorkload, PoissonWorkload, ScenarioTables, SingleSwitchTopology, Switch, Transport

from . import scenario_types


def complete() -> ScenarioTables:
    """A scenario with types."""
    return {
        "duration": "1 ms",
        "topology": SingleSwitchTopology(kind="single_switch", hosts=4, rate="10 Gb/s", delay="2 us"),
        "switch": Switch(buffer="100 KB", policy=DtPolicy(name="dt", alpha=0.5), ecn={"kind": "step", "threshold": "30 KB"}),
        "transport": [Transport(congestion_control="dctcp")],
        "workload": [
            IncastWorkload(kind="incast", fan_in=3, request="60 KB", queries_per_second_per_host=500.0),
            {"kind": "poisson", "class": "web", "sizes": "web_search", "load": 0.4},
        ],
    }


def test_typed_tables_are_a_scenario() -> None:
    scenario = Scenario(complete(), name="typed").check()
    assert (scenario["switch.policy"]["alpha"], scenario["workload.web.load"]) == (0.5, 0.4)
    assert bufferlab.run(complete()).policy == "dt"
    assert scenario.set("switch", Switch(buffer="1 MB"))["switch.buffer"] == "1 MB"
    assert scenario.with_({"workload": [PoissonWorkload(kind="poisson", sizes="50 KB", load=0.2)]})["workload.0.load"] == 0.2


def test_mistakes_are_refused_by_the_type_checker_and_by_the_scenario() -> None:
    misspelt: ScenarioTables = {"extends": "star-incast.toml", "swich": {}}  # type: ignore[typeddict-unknown-key]
    nested: ScenarioTables = {
        "extends": "scenarios/star-incast.toml",
        "switch": {"bufer": "1 MB"},  # type: ignore[typeddict-unknown-key]
    }
    parameter = DtPolicy(name="dt", alfa=1)  # type: ignore[typeddict-unknown-key]
    missing = IncastWorkload(kind="incast", fan_in=3)  # type: ignore[typeddict-item]
    value = SingleSwitchTopology(kind="single_switch", hosts="four")  # type: ignore[typeddict-item]
    star = Scenario.from_file("scenarios/star-incast.toml")
    for wrong in (
        Scenario(misspelt),
        Scenario(nested),
        star.set("switch.policy", parameter),
        star.set("workload", [missing]),
        star.set("topology", value),
    ):
        with pytest.raises(bufferlab.ScenarioError):
            wrong.check()


def test_every_type_can_be_resolved() -> None:
    for name in typed.__all__:
        kind = getattr(typed, name)
        if isinstance(kind, type):
            hints = typing.get_type_hints(kind, vars(typed))
            assert hints, name


def test_the_types_are_those_of_the_schema() -> None:
    text = scenario_types.FILE.read_text(encoding="utf-8")
    assert text == scenario_types.generate(), "stale: run `python -m python.tests.scenario_types`"
