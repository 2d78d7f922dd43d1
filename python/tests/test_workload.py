"""Tests of custom workloads: yielded flows, equal flows for equal seeds, and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

import bufferlab
from bufferlab import Flow, RunError, Scenario, ScenarioError, Workload, WorkloadError, param, register, run


@register
class PythonPulses(Workload):
    """Every host sends to the next host, all at the same time."""

    name = "py_pulses"
    size: int = param("5 KB", unit="bytes")
    period: int = param("1 ms", unit="time")

    def flows(self, random: Random) -> Iterator[Flow]:
        hosts = len(self.network.hosts)
        for start in range(0, self.network.duration_ps, self.period):
            for src in range(hosts):
                yield Flow(start, src, (src + 1) % hosts, self.size)


@register
class RandomPairs(Workload):
    name = "random_pairs"
    count: int = 50

    def flows(self, random: Random) -> Iterator[Flow]:
        hosts = range(len(self.network.hosts))
        for number in range(self.count):
            src, dst = random.sample(hosts, 2)
            start = random.randrange(self.network.duration_ps)
            yield Flow(start, src, dst, 1000 + number, tag="odd" if number % 2 else None)


@register
class Faulty(Workload):
    name = "faulty"
    what: str = param("raise", choices=["raise", "host", "self", "empty", "late", "other"])

    def start(self) -> None:
        if len(self.network.hosts) < 3:
            raise ValueError("three hosts at least")

    def flows(self, random: Random) -> Iterator[Flow]:
        yield Flow(0, 0, 1, 1000)
        if self.what == "raise":
            raise RuntimeError("out of flows")
        if self.what == "other":
            yield (0, 0, 1, 1000)  # type: ignore[misc]
        late = self.network.duration_ps
        wrong = {"host": (0, 0, 99, 1), "self": (0, 2, 2, 1), "empty": (0, 0, 1, 0), "late": (late, 0, 1, 1)}
        yield Flow(*wrong[self.what])


def with_workload(scenario: Scenario, **keys: bufferlab.Value) -> Scenario:
    return scenario.set("workload", [keys])


def test_the_flows_are_those_that_the_class_yields(star: Scenario) -> None:
    result = run(with_workload(star, kind=PythonPulses, size="7 KB"))
    rows = sorted(result.flows.arrow.to_pylist(), key=lambda row: row["flow_id"])
    assert len(rows) == 4 * 8
    assert [(row["start_ns"], row["src_host"], row["dst_host"]) for row in rows[6:9]] == [
        (0, "h6", "h7"),
        (0, "h7", "h0"),
        (1_000_000, "h0", "h1"),
    ]
    assert {row["size_bytes"] for row in rows} == {7000}
    assert {row["class"] for row in rows} == {"py_pulses"}


def drawn(scenario: Scenario) -> list[tuple[object, ...]]:
    rows = run(scenario).flows.arrow.to_pylist()
    return sorted((row["start_ns"], row["src_host"], row["dst_host"], row["size_bytes"], row["class"]) for row in rows)


def test_a_seed_brings_the_same_flows_whatever_else_there_is(star: Scenario) -> None:
    alone = with_workload(star, kind=RandomPairs)
    first = drawn(alone)
    assert first == drawn(alone) == drawn(alone.set("switch.policy", "cs"))
    assert first != drawn(alone.set("seed", 2))
    assert {row[-1] for row in first} == {"random_pairs", "random_pairs odd"}
    both = star.set("workload", [{"kind": "random_pairs"}, {"kind": PythonPulses}, {"kind": "random_pairs", "class": "second"}])
    rows = drawn(both)
    assert [row for row in rows if str(row[-1]).startswith("random_pairs")] == first
    second = [row[:4] for row in rows if str(row[-1]).startswith("second")]
    assert len(second) == 50 and second != [row[:4] for row in first], "a class has random numbers of its own"


def test_flows_with_one_query_are_one_query(star: Scenario) -> None:
    @register
    class Asks(Workload):
        name = "asks"

        def flows(self, random: Random) -> Iterator[Flow]:
            for query in (70, 5):
                for server in range(1, 4):
                    yield Flow(query * 1_000_000, server, 0, 2000, query=query)

    queries = run(with_workload(star, kind=Asks)).queries.arrow.to_pylist()
    assert sorted((row["start_ns"], row["fan_in"], row["request_bytes"]) for row in queries) == [(5_000, 3, 6000), (70_000, 3, 6000)]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("host", "flow 1 goes from host 0 to host 99; there are 8 hosts, numbered from 0"),
        ("self", "flow 1 goes from host 2 to itself"),
        ("empty", "flow 1 has 0 bytes; expected at least 1"),
        ("late", "flow 1 starts at 4ms; flows start before the scenario's duration"),
        ("other", r"answered (0, 0, 1, 1000) (tuple); expected flows only: yield bufferlab.Flow"),
    ],
)
def test_a_flow_that_no_network_can_carry_is_refused(star: Scenario, what: str, message: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        run(with_workload(star, kind=Faulty, what=what))
    assert f"workload faulty failed: flows: {message}" in str(caught.value).replace("4 ms", "4ms").replace("4.000 ms", "4ms")
    assert caught.value.traceback == ""


def test_what_a_workload_raises_is_the_cause(star: Scenario) -> None:
    scenario = with_workload(star, kind=Faulty)
    with pytest.raises(WorkloadError, match=r"flows: raised RuntimeError: out of flows \(test_workload.py, line") as caught:
        run(scenario)
    assert isinstance(caught.value.__cause__, RuntimeError) and "in flows" in caught.value.traceback
    with pytest.raises(RunError):
        scenario.check()


def test_what_start_raises_is_an_error_of_the_scenario(star: Scenario) -> None:
    with pytest.raises(ScenarioError, match="faulty raised ValueError: three hosts at least") as caught:
        with_workload(star.set("topology.hosts", 2), kind=Faulty).check()
    assert caught.value.key == "workload.0.kind"
    with pytest.raises(ScenarioError, match="did you mean `size`"):
        with_workload(star, kind=PythonPulses, siez="1 KB").check()


def test_a_class_that_cannot_be_a_workload_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"Idle does not define flows\(self, random\)"):

        @register
        class Idle(Workload):
            name = "idle"

    with pytest.raises(ValueError, match="names are lower-case letters and digits joined by \"_\""):

        @register
        class Dashed(PythonPulses):
            name = "py-pulses"

    with pytest.raises(ValueError, match="every workload has this key"):

        @register
        class Hides(PythonPulses):
            name = "hides"
            transport: int = 1

    assert bufferlab.custom_workloads()["py_pulses"] is PythonPulses


def test_comparisons_take_custom_workloads(star: Scenario) -> None:
    comparison = bufferlab.compare(with_workload(star, kind=RandomPairs), ["dt", "cs"], seeds=2)
    assert comparison["all.flows"]["dt"].values == comparison["all.flows"]["cs"].values == (50.0, 50.0)


MODULE = '''
from bufferlab import Flow, Workload, register

@register
class Shipped(Workload):
    name = "shipped_workload"
    def flows(self, random):
        for number in range(50):
            src, dst = random.sample(range(len(self.network.hosts)), 2)
            yield Flow(random.randrange(self.network.duration_ps), src, dst, 1000 + number)
'''

MAIN = '''
from bufferlab import Scenario, compare, run
from own_module import Shipped

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("workload", [{"kind": Shipped}])
    print(run(star).flows.num_rows)
    print(compare(star, ["dt"], executor="processes", jobs=1)["all.flows"]["dt"].estimate.mean)
'''


def test_a_scenario_takes_its_own_workload_along_to_another_process(as_program: Callable[[str, str], list[str]]) -> None:
    here, there = as_program(MODULE, MAIN)
    assert float(here) == float(there) == 50
