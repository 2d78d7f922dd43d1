"""Tests of wrong answers, exceptions and interruptions in every method of every kind of custom
class. The error always names the class, the method, and the place and time or the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bufferlab
from bufferlab import (
    BufferlabError,
    Cable,
    Classifier,
    CongestionControl,
    Flow,
    MarkingRule,
    Policy,
    Scenario,
    ScenarioError,
    Topology,
    Value,
    Verdict,
    Workload,
    run,
)

Make = Callable[[Any], dict[str, Value]]

TIME = r"[0-9.]+ [munp]?s"
IN_SWITCH = rf"policy NAME failed in switch switch( \(port \d+, priority \d+\))? at {TIME}: "
IN_FLOW = rf"congestion control NAME failed in flow \d+ \(h\d+ to h\d+\) at {TIME}: "
AT_PACKET = rf"marking rule NAME failed in switch switch \(port \d+, priority \d+\) at {TIME}: "
OF_PACKET = rf"classifier NAME failed in switch switch \(flow \d+, h\d+ to h\d+\) at {TIME}: "
AS_KEY = r"KEY: .*NAME "

ROUND_ROBIN: dict[str, Value] = {"switch.queues_per_port": 2, "switch.scheduler": "round_robin"}
LOSSLESS: dict[str, Value] = {"switch.pfc": {"priorities": [0]}}
MESSAGES: dict[str, Value] = {"kind": "poisson", "sizes": "4 KB", "load": 0.1}
PERSISTENT: dict[str, Value] = {"transport.0.persistent": True, "transport.0.initial_window": 10, "workload": [MESSAGES]}


def admits(self: Any, arrival: Any, buffer: Any) -> Verdict:
    return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL


def evicts(self: Any, arrival: Any, buffer: Any) -> Verdict:
    return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.evict(buffer.longest_queue()[0])


def grows(self: Any, ack: Any, window: Any) -> None:
    window.grow(ack.delivered)


KINDS: dict[type, tuple[str, dict[str, Any], Make, str]] = {
    # Base class: separator of names, methods that work, keys of a scenario, place of a failure.
    Policy: ("-", {"admit": admits}, lambda own: {"switch.policy": own, "switch.buffer": "60 KB"}, IN_SWITCH),
    CongestionControl: ("-", {"on_ack": grows}, lambda own: {"transport.0.congestion_control": own, "switch.buffer": "60 KB"}, IN_FLOW),
    MarkingRule: ("_", {"marks": lambda self, packet, buffer: False}, lambda own: {"switch.ecn": {"kind": own}, "transport.0.congestion_control": "dctcp"}, AT_PACKET),
    Classifier: ("-", {"classify": lambda self, packet: packet.mapped}, lambda own: {"switch.classifier": own, "switch.queues_per_port": 2}, OF_PACKET),
    Workload: ("_", {}, lambda own: {"workload": [{"kind": own}]}, r"workload NAME failed: "),
    Topology: ("_", {}, lambda own: {"topology": {"kind": own}}, r"KEY: NAME failed: "),
}
KEYS = {"Policy": "switch.policy.name", "CongestionControl": "transport.0.congestion_control.name", "MarkingRule": "switch.ecn.kind"}
KEYS |= {"Classifier": "switch.classifier.name", "Workload": "workload.0.kind", "Topology": "topology.kind"}


def own(kind: type, hook: str, act: Callable[[], Any], **methods: Any) -> Any:
    """A custom class of a kind, whose method ``hook`` returns the result of ``act``."""
    separator, working, *_ = KINDS[kind]

    def method(self: Any, *arguments: Any) -> Any:
        return act()

    name = f"faulty{separator}{kind.__name__.lower()}"
    others = {} if hook in working else working
    return type("Faulty", (kind,), {"name": name, **others, **methods, hook: method, "__module__": __name__})


def scenario_of(kind: type, cls: Any, keys: dict[str, Value]) -> Scenario:
    star = Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")
    return star.with_({**KINDS[kind][2](cls), **keys})


def message(kind: type, cls: Any, keys: dict[str, Value]) -> str:
    with pytest.raises(BufferlabError) as caught:
        run(scenario_of(kind, cls, keys))
    return caught.value.message


def raises(exception: type[BaseException]) -> Callable[[], Any]:
    def act() -> Any:
        raise exception("enough")

    return act


Case = tuple[type, str, dict[str, Any], dict[str, Value]]
HOOKS: list[Case] = [
    (Policy, "start", {}, {}),
    (Policy, "admit", {}, {}),
    (Policy, "on_enqueue", {}, {}),
    (Policy, "on_dequeue", {}, {}),
    (Policy, "on_drop", {}, {}),
    (Policy, "on_evict", {"admit": evicts}, {}),
    (Policy, "on_empty_visit", {}, ROUND_ROBIN),
    (Policy, "next_timeout", {}, {}),
    (Policy, "handle_timeout", {"next_timeout": lambda self: 5_000_000}, {}),
    (Policy, "poll_expulsion", {}, {}),
    (Policy, "pause_demand", {}, LOSSLESS),
    (Policy, "classify", {}, {}),
    (Policy, "threshold", {}, {"output.packets": "all"}),
    (CongestionControl, "start", {}, {}),
    (CongestionControl, "on_ack", {}, {}),
    (CongestionControl, "on_congestion", {}, {}),
    (CongestionControl, "begin_message", {}, PERSISTENT),
    (MarkingRule, "start", {}, {}),
    (MarkingRule, "marks", {}, {}),
    (Classifier, "start", {}, {}),
    (Classifier, "classify", {}, {}),
    (Workload, "start", {"flows": lambda self, random: []}, {}),
    (Workload, "flows", {}, {}),
    (Workload, "describe", {"flows": lambda self, random: []}, {}),
    (Topology, "start", {"graph": lambda self: None}, {}),
    (Topology, "graph", {}, {}),
]
BEFORE_THE_RUN = ("start", "describe")


def named_by(case: Case) -> str:
    return f"{case[0].__name__}.{case[1]}"


@pytest.mark.parametrize("case", HOOKS, ids=map(named_by, HOOKS))
def test_what_a_method_raises_is_told_with_class_method_and_place(case: Case) -> None:
    kind, hook, methods, keys = case
    cls = own(kind, hook, raises(RuntimeError), **methods)
    told = message(kind, cls, keys)
    place = AS_KEY if hook in BEFORE_THE_RUN else KINDS[kind][3] + re.escape(hook) + ": "
    place = place.replace("NAME", cls.name).replace("KEY", re.escape(KEYS[kind.__name__]))
    raised = r"raised RuntimeError: enough \(test_custom_faults\.py, line \d+\)"
    assert re.search(place + raised, told), told


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("case", HOOKS, ids=map(named_by, HOOKS))
def test_an_interruption_in_a_method_is_no_mistake_of_its_class(case: Case, exception: type[BaseException]) -> None:
    kind, hook, methods, keys = case
    with pytest.raises(exception, match="enough"):
        run(scenario_of(kind, own(kind, hook, raises(exception), **methods), keys))
    # The next error is not mistaken for the interruption.
    with pytest.raises(ScenarioError):
        Scenario.from_file("scenarios/star-incast.toml", {"switch.buffer": "1 parsec"}).check()


NAN = float("nan")
Answers = dict[tuple[type, str, str], list[Any]]
WRONG: Answers = {
    # Class, method, what is expected: wrong answers.
    (Policy, "admit", "expected a Verdict"): [None, True, 0, NAN, "drop"],
    (Policy, "next_timeout", "expected a time in picoseconds, or None"): [-1, NAN, 1.5, "1 us"],
    (Policy, "poll_expulsion", r'expected \(queue, "head" or "tail"\), or None'): [3, (0, "middle"), (-1, "tail"), (NAN, "head"), "tail"],
    (Policy, "pause_demand", r"expected True \(pause\), False \(resume\), or None"): [1, NAN, "pause"],
    (Policy, "classify", "expected a queue of the port"): [None, -1, 9, NAN, "0", 0.0],
    (Policy, "threshold", r"expected a number of bytes \(int\), or None"): [-1, NAN, 1.5, "1 KB"],
    (MarkingRule, "marks", r"expected True \(mark\) or False"): [None, 1, NAN, "yes"],
    (Classifier, "classify", "expected a queue of the port"): [None, -1, 2, 256, NAN, "0", 1.0],
    (Workload, "flows", "expected flows"): [None, 3, NAN, "ab", [None], [(0, 0, 1, 1)]],
    (Topology, "graph", "expected a tuple of hosts, switches and cables"): [None, 3, NAN, "abc", (), [[], [], []]],
}
ANSWERS = [(kind, hook, answer, expected) for (kind, hook, expected), answers in WRONG.items() for answer in answers]


@pytest.mark.parametrize(("kind", "hook", "answer", "expected"), ANSWERS)
def test_a_wrong_answer_is_told_with_what_is_expected(kind: type, hook: str, answer: Any, expected: str) -> None:
    [case] = [case for case in HOOKS if case[:2] == (kind, hook)]
    cls = own(kind, hook, lambda: answer, **case[2])
    told = message(kind, cls, case[3])
    place = (KINDS[kind][3] + hook + ": ").replace("NAME", cls.name).replace("KEY", re.escape(KEYS[kind.__name__]))
    assert re.search(place + "answered .*; " + expected, told), told


@pytest.mark.parametrize("field", ["size", "slow_start_threshold", "pacing_gap_ps"])
@pytest.mark.parametrize("value", [NAN, -1, "wide", None])
@pytest.mark.parametrize("hook", ["on_ack", "on_congestion", "start"])
def test_a_window_that_no_flow_can_have_is_told_with_the_flow(hook: str, field: str, value: Any) -> None:
    def method(self: Any, *arguments: Any) -> None:
        setattr(arguments[-1], field, value)

    cls = own(CongestionControl, "begin_message", lambda: None, **{hook: method})
    told = message(CongestionControl, cls, {})
    place = AS_KEY if hook == "start" else IN_FLOW + hook + ": "
    place = place.replace("NAME", cls.name).replace("KEY", re.escape(KEYS["CongestionControl"]))
    assert re.search(place, told), told
    assert field in told or "window" in told, told


FLOWS: list[tuple[tuple[Any, ...], str]] = [
    ((NAN, 0, 1, 1), "start_ps is nan"),
    ((-1, 0, 1, 1), "start_ps is -1"),
    ((0, None, 1, 1), "src is None"),
    ((0, 0, "h1", 1), "dst is 'h1'"),
    ((0, 0, 1, 1.5), "size is 1.5"),
    ((0, 0, 99, 1), "flow 0 goes from host 0 to host 99; there are 8 hosts"),
]


@pytest.mark.parametrize(("fields", "expected"), FLOWS)
def test_a_flow_with_a_wrong_field_is_told_with_the_field(fields: Any, expected: str) -> None:
    def flows(self: Any, random: Any) -> Iterator[Flow]:
        yield Flow(*fields)

    cls = own(Workload, "describe", lambda: "words", flows=flows)
    told = message(Workload, cls, {})
    assert told.startswith("workload faulty_workload failed: flows: ") and expected in told


def test_a_cable_with_a_wrong_field_is_told_with_the_field() -> None:
    cls = own(Topology, "graph", lambda: (["a", "b"], ["s"], [Cable("a", "s", -1, 0)]))
    told = message(Topology, cls, {})
    assert "topology.kind: faulty_topology failed: graph: raised ArgumentError: rate_bps is -1 (int)" in told


def test_parameters_that_no_class_can_have_are_told_with_their_name() -> None:
    cases: list[tuple[Any, str]] = [
        (bufferlab.param(5, unit="time"), "its default is 5, expected a time"),
        (bufferlab.param(5, unit="rate"), "its default is 5, expected a rate"),
        (bufferlab.param(-5, unit="bytes"), "its default is -5, expected a whole number"),
        (bufferlab.param("5 parsec", unit="bytes"), "parsec"),
        (-3, "its default is -3, expected a whole number"),
        (NAN, "Faulty"),
        (bufferlab.param(9, max=4), "9"),
        ("word", "a word needs its choices"),
        ([], "a parameter is a number, a flag or a text"),
    ]
    for default, expected in cases:
        for kind in KINDS:
            cls = own(kind, KINDS_REQUIRED[kind], lambda: None, amount=default, __annotations__={"amount": "int"})
            with pytest.raises(bufferlab.ArgumentError, match="amount") as caught:
                bufferlab.register(cls)
            assert "Faulty" in str(caught.value) and expected in str(caught.value), str(caught.value)


KINDS_REQUIRED = {kind: kind._required[0] for kind in KINDS}  # type: ignore[attr-defined]


def test_a_value_beyond_the_maximum_of_a_parameter_is_refused_also_with_a_unit() -> None:
    for unit, most, value in [("bytes", 1_000, "2 KB"), ("time", 1_000_000, "2 us"), ("rate", 10**9, "2 Gb/s")]:
        default = {"bytes": "1 KB", "time": "1 us", "rate": "1 Gb/s"}[unit]
        amount = bufferlab.param(default, unit=unit, max=most)  # type: ignore[arg-type]
        cls = own(Topology, "graph", lambda: None, amount=amount, __annotations__={"amount": "int"})
        with pytest.raises(ScenarioError, match=f"faulty_topology raised ValueError: amount is {2 * most}, expected at most {most}"):
            scenario_of(Topology, cls, {"topology.amount": value}).check()
    cls = own(Topology, "graph", lambda: None, amount=bufferlab.param(3, max=4), __annotations__={"amount": "int"})
    with pytest.raises(ScenarioError, match=r"topology\.amount"):
        scenario_of(Topology, cls, {"topology.amount": 5}).check()
