"""Tests of custom topologies: results equal results of built-in topologies, complete errors,
processes."""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bufferlab
from bufferlab import ArgumentError, Cable, Graph, Scenario, ScenarioError, Topology, param, register, run


@register
class LeafSpine(Topology):
    """Racks of hosts on leaves, and a cable from every leaf to every spine."""

    name = "py_leaf_spine"
    leaves: int = param(2, min=1)
    hosts_per_leaf: int = param(4, min=1)
    spines: int = param(2, min=1)
    host_rate: int = param("10 Gb/s", unit="rate")
    fabric_rate: int = param("40 Gb/s", unit="rate")
    delay: int = param("1 us", unit="time")

    def graph(self) -> Graph:
        hosts = [f"h{host}" for host in range(self.leaves * self.hosts_per_leaf)]
        leaves = [f"leaf{leaf}" for leaf in range(self.leaves)]
        spines = [f"spine{spine}" for spine in range(self.spines)]
        cables = [Cable(host, leaves[i // self.hosts_per_leaf], self.host_rate, self.delay) for i, host in enumerate(hosts)]
        cables += [Cable(leaf, spine, self.fabric_rate, self.delay) for leaf in leaves for spine in spines]
        return hosts, leaves + spines, cables


@pytest.fixture
def fabric(star: Scenario) -> Scenario:
    """A scenario with random traffic between racks."""
    traffic: dict[str, bufferlab.Value] = {"kind": "poisson", "sizes": "40 KB", "load": 0.5, "load_of": "host_links", "pattern": "other_rack"}
    return star.with_({"workload": [traffic], "duration": "1 ms"})


KEYS: dict[str, bufferlab.Value] = {
    "leaves": 3, "hosts_per_leaf": 4, "spines": 2, "host_rate": "10 Gb/s", "fabric_rate": "10 Gb/s", "delay": "2 us"
}  # fmt: skip


def in_fabric(scenario: Scenario, kind: Any, **keys: bufferlab.Value) -> Scenario:
    return scenario.set("topology", {"kind": kind, **KEYS, **keys})


@pytest.mark.parametrize("keys", [{}, {"multipath": "spray"}, {"change": [{"link": "leaf0-spine0", "rate": "1 Gb/s"}]}])
def test_a_leaf_spine_in_python_writes_the_files_of_the_built_in_one(fabric: Scenario, keys: dict[str, bufferlab.Value]) -> None:
    small = fabric.set("switch.buffer", "60 KB")
    ours, theirs = (run(in_fabric(small, kind, **keys)) for kind in (LeafSpine, "leaf_spine"))
    assert theirs.drops.num_rows > 0 and theirs.flows.num_rows > 100
    for table in theirs.tables:
        files = [(result.folder / f"{table}.parquet").read_bytes() for result in (ours, theirs)]
        assert files[0] == files[1], table
    assert dict(ours.summary) == dict(theirs.summary)
    resolved = ours.scenario.resolved
    assert 'kind = "py_leaf_spine"' in resolved and 'fabric_rate = "10 Gb/s"' in resolved and "leaves = 3" in resolved
    assert len(inspect.getsource(LeafSpine).splitlines()) <= 22


@register
class Given(Topology):
    """The graph that a test sets."""

    name = "py_given"
    parts: Any

    def graph(self) -> Graph:
        parts = type(self).parts
        return parts() if callable(parts) else parts  # type: ignore[no-any-return]


GBPS = 10**9
A, B, BETWEEN = Cable("a", "s", GBPS, 0), Cable("b", "t", GBPS, 0), Cable("s", "t", GBPS, 0)
NODES = (["a", "b"], ["s", "t"])


def broken(parts: Any) -> str:
    Given.parts = staticmethod(parts) if callable(parts) else parts
    scenario = Scenario.from_file("scenarios/star-incast.toml").set("topology", {"kind": Given})
    with pytest.raises(ScenarioError) as caught:
        scenario.check()
    assert caught.value.key == "topology.kind"
    return str(caught.value)


def test_a_graph_of_two_hosts_is_a_network(star: Scenario) -> None:
    Given.parts = (*NODES, [A, B, BETWEEN])
    flow: dict[str, bufferlab.Value] = {"kind": "poisson", "sizes": "1 KB", "load": 0.1, "load_of": "host_links", "pattern": "all_to_all"}
    scenario = star.with_({"topology": {"kind": Given}, "workload": [flow]})
    assert set(run(scenario).flows["src_host"].to_pylist()) == {"a", "b"}
    Given.parts = (iter(NODES[0]), tuple(NODES[1]), (cable for cable in [A, B, BETWEEN]))
    scenario.check()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (None, "graph: answered None (NoneType); expected a tuple of hosts, switches and cables"),
        (float("nan"), "graph: answered nan (float); expected a tuple of hosts, switches and cables"),
        (NODES, "(tuple); expected a tuple of hosts, switches and cables"),
        ((2, *NODES), "graph: hosts: answered 2 (int); expected a list of names"),
        (("ab", ["s"], []), "graph: hosts: answered 'ab' (str); expected a list of names"),
        ((["a", 1], ["s"], []), "graph: hosts[1]: answered 1 (int); expected a name (str)"),
        ((["a", "b"], [None], []), "graph: switches[0]: answered None (NoneType); expected a name (str)"),
        ((["a", ""], ["s"], []), "graph: hosts[1]: answered '' (str); expected a name (str)"),
        ((["a"], ["s"], []), "graph: 1 hosts; expected at least 2"),
        ((["a", "b"], [], []), "graph: 0 switches; expected at least 1"),
        ((["a", "s"], ["s"], []), 'graph: two nodes are called "s"'),
        ((*NODES, 3), "graph: cables: answered 3 (int); expected a list of bufferlab.Cable(...)"),
        ((*NODES, None), "graph: cables: answered None (NoneType); expected a list of bufferlab.Cable(...)"),
        ((*NODES, [A, ("b", "t")]), "graph: cables[1]: answered ('b', 't') (tuple); expected bufferlab.Cable(...)"),
        ((*NODES, [A, Cable("b", "tt", 1, 0)]), 'graph: cables[1] joins "b" and "tt"; there is no node "tt"'),
        ((*NODES, [A]), 'graph: host "b" has no cable'),
        ((*NODES, [A, B, A]), 'graph: host "a" has 2 cables; expected one'),
        ((*NODES, [A, B]), 'graph: the graph falls apart: no path from "s" to "b"'),
        ((*NODES, [Cable("a", "b", 1, 0)]), 'graph: cables[0] joins "a" and "b": two hosts'),
        ((*NODES, [A, B, BETWEEN, Cable("s", "s", 1, 0)]), 'graph: cables[3] joins "s" and "s": one node'),
        ((itertools.repeat("a"), ["s"], []), "graph: more than 262144 hosts; expected at most 262144"),
    ],
)
def test_a_graph_that_is_no_network_is_refused_by_name(parts: object, message: str) -> None:
    text = broken(parts)
    assert "py_given failed: graph: " in text
    assert message in text


def test_a_cable_to_an_unknown_node_suggests_the_nearest_one() -> None:
    nodes = (["left", "right"], ["leaf0"])
    cables = [Cable("left", "leaf0", 1, 0), Cable("right", "leef0", 1, 0)]
    assert 'did you mean "leaf0"?' in broken((*nodes, cables))


def test_what_graph_or_start_raises_is_an_error_of_the_scenario(star: Scenario) -> None:
    def wrong() -> Graph:
        return [], [], [Cable("a", "s", float("nan"), 0)]  # type: ignore[arg-type]

    text = broken(wrong)
    assert "py_given failed: graph: raised ArgumentError: rate_bps is nan (float), expected a whole number" in text
    assert f"(test_topology.py, line {wrong.__code__.co_firstlineno + 1})" in text

    @register
    class Picky(LeafSpine):
        name = "py_picky_fabric"

        def start(self) -> None:
            if self.spines > self.leaves:
                raise ValueError(f"{self.spines} spines are too many")

    with pytest.raises(ScenarioError, match=r"py_picky_fabric raised ValueError: 4 spines are too many \(test_topology.py, line"):
        star.set("topology", {"kind": Picky, "spines": 4}).check()
    with pytest.raises(ScenarioError, match="did you mean `spines`") as caught:
        star.set("topology", {"kind": Picky, "spine": 4}).check()
    assert "topology.spine" in [problem.key for problem in caught.value.problems]
    with pytest.raises(ScenarioError, match="a rate"):
        star.set("topology", {"kind": Picky, "host_rate": "10 KB"}).check()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("a", "b", 0, 0), "rate_bps: expected at least 1"),
        (("a", "b", -1, 0), "rate_bps is -1 (int), expected a whole number"),
        (("a", "b", 1.5, 0), "rate_bps is 1.5 (float), expected a whole number"),
        (("a", "b", "10 Gb/s", 0), "rate_bps is '10 Gb/s' (str), expected a whole number"),
        (("a", "b", 1, None), "delay_ps is None, expected a whole number"),
        (("a", "b", 1, -5), "delay_ps is -5 (int), expected a whole number"),
        (("a", "b", 1, 2**64 - 1), "delay_ps: "),
        ((7, "b", 1, 0), "a is 7 (int), expected the name of a host or a switch"),
        (("a", None, 1, 0), "b is None, expected the name of a host or a switch"),
    ],
)
def test_a_cable_refuses_what_no_cable_has(fields: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Cable(*fields)
    assert str(caught.value).startswith(message)


def test_equal_cables_are_equal_also_after_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(A)) == A == Cable("a", "s", GBPS, 0) != B
    assert len({A, Cable("a", "s", GBPS, 0), B}) == 2
    assert repr(A) == "Cable(a to s, 1 Gb/s, 0 s)" or repr(A).startswith("Cable(a to s, 1")


def test_a_class_that_cannot_be_a_topology_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"Idle does not define graph\(self\)"):

        @register
        class Idle(Topology):
            name = "py_idle_fabric"

    with pytest.raises(TypeError, match="Misspelt defines grpah, which is never called: did you mean graph"):

        @register
        class Misspelt(LeafSpine):
            name = "py_misspelt_fabric"

            def grpah(self) -> Graph:
                return [], [], []

    with pytest.raises(ValueError, match="belongs to the topology Leaf-spine fabric"):

        @register
        class Impostor(LeafSpine):
            name = "leaf_spine"

    with pytest.raises(ValueError, match="every topology has this key"):

        @register
        class Hides(LeafSpine):
            name = "py_hides"
            multipath: int = 1

    assert bufferlab.custom_topologies()["py_leaf_spine"] is LeafSpine


def test_comparisons_and_sweeps_run_in_custom_topologies(fabric: Scenario, tmp_path: Path) -> None:
    own, built_in = (in_fabric(fabric, kind) for kind in (LeafSpine, "leaf_spine"))
    first, second = (bufferlab.compare(scenario, ["dt", "cs"], seeds=2) for scenario in (own, built_in))
    assert first["all.slowdown_p99"]["dt"].values == second["all.slowdown_p99"]["dt"].values
    sweep = bufferlab.sweep(own, {"topology.spines": [1, 2]}, policies=["dt"], seeds=1, out=tmp_path / "sweep")
    one, two = (point["all.slowdown_mean"]["dt"].values[0] for point in sweep.points().values())
    assert one is not None and two is not None and one > two


MODULE = '''
import bufferlab
from bufferlab import Cable, Topology

@bufferlab.register
class Ring(Topology):
    """Switches in a ring, one host on each."""

    name = "shipped_ring"
    switches: int = bufferlab.param(4, min=3)
    rate: int = bufferlab.param("10 Gb/s", unit="rate")
    delay: int = bufferlab.param("2 us", unit="time")

    def graph(self):
        numbers = range(self.switches)
        hosts, switches = [f"h{i}" for i in numbers], [f"s{i}" for i in numbers]
        cables = [Cable(hosts[i], switches[i], self.rate, self.delay) for i in numbers]
        cables += [Cable(switches[i - 1], switches[i], self.rate, self.delay) for i in numbers]
        return hosts, switches, cables
'''

MAIN = """
import pickle
from bufferlab import Scenario, compare, run
from own_module import Ring

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("topology", {"kind": Ring, "switches": 8})
    star = star.set("workload.0.pattern", "all_to_all")
    print(run(star).summary["all.slowdown_p99"])
    for executor in ("processes", "threads"):
        print(compare(star, ["dt"], executor=executor, jobs=2)["all.slowdown_p99"]["dt"].estimate.mean)
    assert pickle.loads(pickle.dumps(star)) == star
"""


def test_a_scenario_takes_its_topology_along_to_another_process(as_program: Callable[[str, str], list[str]]) -> None:
    here, there, beside = as_program(MODULE, MAIN)
    assert float(here) == float(there) == float(beside) > 1
    assert len(inspect.cleandoc(MODULE).splitlines()) <= 20
