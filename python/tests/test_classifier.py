"""Tests of custom classifiers: queues equal queues of built-in classifiers, complete errors,
processes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import bufferlab
from bufferlab import Classifier, ClassifierError, Scenario, ScenarioError, Unclassified, register, run

CLASSIFIER = "switch.classifier"


@register
class PythonPriority(Classifier):
    """The built-in classifier `priority`, written in Python."""

    name = "py-priority"
    lowest: int = 0

    def classify(self, packet: Unclassified) -> int:
        return max(self.lowest, min(packet.priority, self.queues_per_port - 1))


@register
class ShortFirst(Classifier):
    """Sends the first packets of a flow to the last queue, and the other packets to queue 0."""

    name = "py-short-first"
    packets: int = bufferlab.param(4, min=1)

    def start(self) -> None:
        self.seen: dict[int, int] = {}

    def classify(self, packet: Unclassified) -> int:
        seen = self.seen[packet.flow] = self.seen.get(packet.flow, 0) + 1
        return self.queues_per_port - 1 if seen <= self.packets else 0


@register
class Broken(Classifier):
    """A classifier that works for three packets. At the fourth packet, it fails."""

    name = "py-broken"

    def start(self) -> None:
        self.seen = 0

    def classify(self, packet: Unclassified) -> int:
        self.seen += 1
        return self.go_wrong(packet) if self.seen > 3 else packet.mapped

    def go_wrong(self, packet: Unclassified) -> int:
        raise RuntimeError("enough")


@pytest.fixture
def queues(star: Scenario) -> Scenario:
    """A scenario with four queues per port, data in queue 1 and ACKs in queue 3."""
    keys = {"switch.queues_per_port": 4, "transport.0.data_priority": 1, "transport.0.control_priority": 3}
    return star.with_(keys)


def by_queue(scenario: Scenario) -> list[int]:
    """Number of packets that joined the queues of each number."""
    packets = [0] * 4
    for row in run(scenario).queues.arrow.to_pylist():
        packets[row["priority"]] += row["enqueued_packets"]
    return packets


@pytest.mark.parametrize("keys", [{}, {"switch.hardware": {"slices": 2}}, {"switch.policy": "losspass"}])
def test_a_classifier_in_python_writes_the_files_of_the_built_in_one(queues: Scenario, keys: dict[str, bufferlab.Value]) -> None:
    scenario = queues.with_({**keys, "switch.buffer": "100 KB"})
    ours, theirs = (run(scenario.set(CLASSIFIER, name)) for name in ("py-priority", "priority"))
    assert theirs.drops.num_rows > 0
    for table in theirs.tables:
        files = [(result.folder / f"{table}.parquet").read_bytes() for result in (ours, theirs)]
        assert files[0] == files[1], table
    assert dict(ours.summary) == dict(theirs.summary)


def test_a_classifier_chooses_the_queue_and_has_parameters(queues: Scenario) -> None:
    zero, data, two, acks = by_queue(queues)
    assert zero == two == 0 and data > 0 and acks > 0
    assert by_queue(queues.set(CLASSIFIER, PythonPriority)) == [0, data, 0, acks]
    assert by_queue(queues.set(CLASSIFIER, {"name": PythonPriority, "lowest": 2})) == [0, 0, data, acks]
    first = by_queue(queues.set(CLASSIFIER, ShortFirst))
    assert first[1] == first[2] == 0 < first[3] < first[0]
    trap: dict[str, bufferlab.Value] = {"name": "elephant-trap", "short_packets": 4, "short_queue": 3}
    assert first[3] <= by_queue(queues.set(CLASSIFIER, trap))[3]


def test_a_packet_shows_its_header(queues: Scenario) -> None:
    seen: list[tuple[int, int, int, bool]] = []

    @register
    class Watches(Classifier):
        name = "py-watches-header"

        def classify(self, packet: Unclassified) -> int:
            assert packet.mapped == min(packet.priority, 3) and packet.flow >= 0
            assert packet.control == ("control" in packet.tags) and not packet.lossless
            seen.append((packet.now_ps, packet.size, packet.priority, packet.control))
            return packet.mapped

    run(queues.set(CLASSIFIER, Watches))
    assert [now for now, *_ in seen] == sorted(now for now, *_ in seen)
    assert {priority for _, _, priority, control in seen if control} == {3}
    assert {priority for _, size, priority, _ in seen if size > 1_000} == {1}


def failure(scenario: Scenario, own: type[Classifier]) -> ClassifierError:
    with pytest.raises(ClassifierError) as caught:
        run(scenario.set(CLASSIFIER, own))
    return caught.value


def test_what_a_classifier_raises_ends_the_run_with_flow_time_and_traceback(queues: Scenario) -> None:
    error = failure(queues, Broken)
    assert (error.classifier, error.switch) == ("py-broken", "switch")
    assert error.flow is not None and error.src != error.dst and error.time_ps > 0
    assert isinstance(error.__cause__, RuntimeError) and "in go_wrong" in error.traceback
    place = f"classifier py-broken failed in switch switch (flow {error.flow}, {error.src} to {error.dst}) at "
    assert str(error).startswith(place)
    assert "classify: raised RuntimeError: enough (test_classifier.py, line " in str(error)
    assert error.help.startswith("mend the classifier")
    flows = run(queues).flows.arrow.to_pylist()
    [flow] = [row for row in flows if row["flow_id"] == error.flow]
    assert (flow["src_host"], flow["dst_host"]) == (error.src, error.dst)


@pytest.mark.parametrize("answer", [4, 99, 256, -1, 1.0, float("nan"), "1", None])
def test_an_answer_that_is_no_queue_ends_the_run(queues: Scenario, answer: object) -> None:
    @register
    class Astray(Broken):
        name = "py-astray"

        def go_wrong(self, packet: Unclassified) -> int:
            return answer  # type: ignore[return-value]

    error = failure(queues, Astray)
    assert error.message.endswith(f"classify: answered {answer!r} ({type(answer).__name__}); expected a queue of the port (int), from 0 to 3")
    assert error.flow is not None and error.traceback == "" and error.__cause__ is None


def test_parameters_and_what_refuses_them_are_errors_of_the_scenario(queues: Scenario) -> None:
    @register
    class Picky(PythonPriority):
        name = "py-picky-classifier"

        def start(self) -> None:
            if self.lowest >= self.queues_per_port:
                raise ValueError(f"there are {self.queues_per_port} queues")

    with pytest.raises(ScenarioError, match="did you mean `lowest`"):
        queues.set(CLASSIFIER, {"name": Picky, "lowst": 1}).check()
    with pytest.raises(ScenarioError, match="py-picky-classifier raised ValueError: there are 4 queues") as caught:
        queues.set(CLASSIFIER, {"name": Picky, "lowest": 4}).check()
    assert caught.value.key == "switch.classifier.name"
    with pytest.raises(ScenarioError, match='did you mean "py-priority"'):
        queues.set(CLASSIFIER, "py-prioritty").check()


def test_a_class_that_cannot_be_a_classifier_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"Idle does not define classify\(self, packet\)"):

        @register
        class Idle(Classifier):
            name = "py-idle-classifier"

    with pytest.raises(TypeError, match="Misspelt defines clasify, which is never called: did you mean classify"):

        @register
        class Misspelt(PythonPriority):
            name = "py-misspelt-classifier"

            def clasify(self, packet: Unclassified) -> int:
                return 0

    with pytest.raises(ValueError, match="belongs to the classifier Priority"):

        @register
        class Impostor(PythonPriority):
            name = "priority"

    assert bufferlab.custom_classifiers()["py-priority"] is PythonPriority


def test_runs_fork_with_the_state_of_their_classifier(queues: Scenario) -> None:
    scenario = queues.set(CLASSIFIER, ShortFirst)
    simulation = bufferlab.Simulation(scenario)
    simulation.run_until("800 us")
    fork = simulation.fork()
    fork.run_until("2 ms")
    assert simulation.finish() == run(scenario) == fork.finish()

    @register
    class Single(PythonPriority):
        name = "py-single"

        def __deepcopy__(self, memo: object) -> object:
            raise TypeError("there is only one")

    with pytest.raises(ClassifierError, match=r"py-single failed in switch switch at 0.*: copy.deepcopy: raised TypeError: there is only one"):
        bufferlab.Simulation(queues.set(CLASSIFIER, Single)).fork()


def test_comparisons_and_sweeps_run_over_classifiers(queues: Scenario, tmp_path: Path) -> None:
    own, built_in = (queues.set(CLASSIFIER, name) for name in (PythonPriority, "priority"))
    first, second = (bufferlab.compare(scenario, ["dt", "cs"], seeds=2) for scenario in (own, built_in))
    assert first["all.slowdown_p99"]["dt"].values == second["all.slowdown_p99"]["dt"].values
    sweep = bufferlab.sweep(queues, {CLASSIFIER: [PythonPriority, "priority"]}, policies=["dt"], seeds=1, out=tmp_path / "sweep")
    ours, theirs = (point["all.slowdown_p99"]["dt"].values for point in sweep.points().values())
    assert ours == theirs


MODULE = '''
import bufferlab
from bufferlab import Classifier

@bufferlab.register
class Shipped(Classifier):
    """Large packets join the last queue."""

    name = "shipped-classifier"
    above: int = bufferlab.param("1 KB", unit="bytes")

    def classify(self, packet):
        return self.queues_per_port - 1 if packet.size > self.above else 0
'''

MAIN = """
from bufferlab import Scenario, compare, run
from own_module import Shipped

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("switch.queues_per_port", 2)
    star = star.set("switch.classifier", {"name": Shipped, "above": "500 B"})
    print(run(star).summary["all.slowdown_p99"])
    for executor in ("processes", "threads"):
        print(compare(star, ["dt"], executor=executor, jobs=2)["all.slowdown_p99"]["dt"].estimate.mean)
"""


def test_a_scenario_takes_its_classifier_along_to_another_process(as_program: Callable[[str, str], list[str]]) -> None:
    here, there, beside = as_program(MODULE, MAIN)
    assert float(here) == float(there) == float(beside) > 1
    assert len(inspect.cleandoc(MODULE).splitlines()) <= 20
