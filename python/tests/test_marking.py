"""Tests of custom marking rules: marks equal marks of built-in rules, complete errors,
processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import bufferlab
from bufferlab import Buffer, BufferlabWarning, Markable, MarkingError, MarkingRule, Scenario, ScenarioError, Value, register, run


@register
class PythonStep(MarkingRule):
    """The step marking of DCTCP, written in Python."""

    name = "py_step"
    threshold: int = bufferlab.param("30 KB", unit="bytes", min=1)

    def marks(self, packet: Markable, buffer: Buffer) -> bool:
        return not packet.departing and buffer.queue_bytes(packet.queue) > self.threshold


@register
class Broken(MarkingRule):
    """A marking rule that works for three packets. At the fourth packet, the rule and its
    subclasses fail."""

    name = "py_broken"

    def start(self) -> None:
        self.seen = 0

    def marks(self, packet: Markable, buffer: Buffer) -> bool:
        self.seen += 1
        return self.go_wrong(packet) if self.seen > 3 else False

    def go_wrong(self, packet: Markable) -> bool:
        raise RuntimeError("enough")


@pytest.fixture
def dctcp(star: Scenario) -> Scenario:
    return star.with_({"transport.0.congestion_control": "dctcp", "transport.0.initial_window": 10})


def marked(scenario: Scenario, rule: Mapping[str, Value]) -> list[int]:
    queues = run(scenario.set("switch.ecn", rule)).queues
    return [int(packets or 0) for packets in queues["marked_packets"].to_pylist()]


def test_a_step_in_python_marks_what_the_built_in_one_marks(dctcp: Scenario) -> None:
    theirs = marked(dctcp, {"kind": "step", "threshold": "30 KB"})
    assert sum(theirs) > 100, "marks must be common"
    assert marked(dctcp, {"kind": "py_step"}) == theirs
    assert marked(dctcp, {"kind": PythonStep, "threshold": "12 KB"}) == marked(dctcp, {"kind": "step", "threshold": "12 KB"})
    slices = dctcp.set("switch.hardware", {"slices": 2})
    assert marked(slices, {"kind": "py_step"}) == marked(slices, {"kind": "step", "threshold": "30 KB"})
    with pytest.warns(BufferlabWarning, match="switches mark no priority"):
        assert sum(marked(dctcp, {"kind": "py_step", "priorities": []})) == 0


def test_a_rule_hears_of_every_packet_when_it_comes_and_when_it_leaves(dctcp: Scenario) -> None:
    seen: list[tuple[bool, int, int, int]] = []

    @register
    class Watches(MarkingRule):
        name = "py_watches"

        def marks(self, packet: Markable, buffer: Buffer) -> bool:
            assert packet.queue == packet.port * self.switch.queues_per_port + packet.priority
            assert packet.size >= 54 and packet.flow >= 0 and packet.now_ps >= packet.waited_ps
            seen.append((packet.departing, packet.port, packet.waited_ps, buffer.queue_bytes(packet.queue)))
            return False

    assert sum(marked(dctcp, {"kind": Watches})) == 0
    arrived = [packet for packet in seen if not packet[0]]
    departed = [packet for packet in seen if packet[0]]
    assert len(arrived) >= len(departed) > 100
    assert {waited for _, _, waited, _ in arrived} == {0}
    assert max(waited for _, _, waited, _ in departed) > 0


def test_what_a_rule_raises_ends_the_run_with_place_and_traceback(dctcp: Scenario) -> None:
    with pytest.raises(MarkingError) as caught:
        marked(dctcp, {"kind": Broken})
    error = caught.value
    assert error.rule == "py_broken" and error.time_ps > 0 and error.port >= 0 and error.priority == 0
    assert isinstance(error.__cause__, RuntimeError) and "in go_wrong" in error.traceback
    place = f"marking rule py_broken failed in switch {error.switch} (port {error.port}, priority 0) at "
    assert str(error).startswith(place)
    assert "marks: raised RuntimeError: enough (test_marking.py, line " in str(error)


def test_an_answer_that_is_none_ends_the_run(dctcp: Scenario) -> None:
    @register
    class Mute(Broken):
        name = "py_mute"

        def go_wrong(self, packet: Markable) -> bool:
            return 1  # type: ignore[return-value]

    with pytest.raises(MarkingError, match=r"marks: answered 1 \(int\); expected True \(mark\) or False"):
        marked(dctcp, {"kind": Mute})


def test_parameters_and_what_refuses_them_are_errors_of_the_scenario(dctcp: Scenario) -> None:
    @register
    class Picky(PythonStep):
        name = "py_picky"

        def start(self) -> None:
            if self.threshold > self.switch.capacity:
                raise ValueError("beyond the buffer")

    with pytest.raises(ScenarioError, match=r"threshold"):
        dctcp.set("switch.ecn", {"kind": Picky, "threshold": "0 B"}).check()
    with pytest.raises(ScenarioError, match=r"py_picky raised ValueError: beyond the buffer"):
        dctcp.set("switch.ecn", {"kind": Picky, "threshold": "1 GB"}).check()
    dctcp.set("switch.ecn", {"kind": Picky, "threshold": "1 KB"}).check()


def test_a_class_that_cannot_be_a_rule_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"does not define marks\(self, packet, buffer\)"):

        @register
        class Idle(MarkingRule):
            name = "py_idle"

    with pytest.raises(ValueError, match="belongs to the marking rule"):

        @register
        class Impostor(PythonStep):
            name = "red"

    assert bufferlab.custom_marking_rules()["py_step"] is PythonStep


def test_comparisons_run_over_own_rules(dctcp: Scenario) -> None:
    own = dctcp.set("switch.ecn", {"kind": PythonStep})
    built_in = dctcp.set("switch.ecn", {"kind": "step", "threshold": "30 KB"})
    first, second = (bufferlab.compare(scenario, ["dt", "cs"], seeds=2) for scenario in (own, built_in))
    assert first["all.slowdown_p99"]["dt"].values == second["all.slowdown_p99"]["dt"].values


MODULE = """
from bufferlab import MarkingRule, register

@register
class Shipped(MarkingRule):
    name = "shipped_rule"
    def marks(self, packet, buffer):
        return packet.waited_ps > 5_000_000
"""

MAIN = """
from bufferlab import Scenario, compare, run
from own_module import Shipped

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("transport.0.congestion_control", "dctcp")
    star = star.set("switch.ecn", {"kind": Shipped})
    print(run(star).summary["all.slowdown_p99"])
    print(compare(star, ["dt"], executor="processes", jobs=1)["all.slowdown_p99"]["dt"].estimate.mean)
"""


def test_a_scenario_takes_its_own_rule_along_to_another_process(as_program: Callable[[str, str], list[str]]) -> None:
    here, there = as_program(MODULE, MAIN)
    assert float(here) == float(there) > 1
