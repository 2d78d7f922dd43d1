"""Tests of custom congestion controls: flows equal flows of built-in congestion controls, errors,
processes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ClassVar, Literal

import pytest

import bufferlab
from bufferlab import Ack, CongestionControl, ControlError, Scenario, ScenarioError, Window, register, run

CONTROL = "transport.0.congestion_control"


@register
class PythonReno(CongestionControl):
    """NewReno, written in Python."""

    name = "py-newreno"

    def on_ack(self, ack: Ack, window: Window) -> None:
        if ack.may_grow:
            window.grow(ack.delivered)

    def on_congestion(self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window) -> None:
        base = window.size if event == "mark" else float(flight)
        window.slow_start_threshold = max(base / 2.0, 2.0)


@register
class PythonDctcp(CongestionControl):
    """DCTCP (RFC 8257), written in Python."""

    name = "py-dctcp"
    uses_ecn = True
    gain: float = 0.0625

    def start(self, window: Window) -> None:
        self.alpha, self.delivered, self.marked, self.end = 1.0, 0, 0, 0

    def on_ack(self, ack: Ack, window: Window) -> None:
        self.delivered += ack.delivered
        if ack.marked:
            self.marked += ack.delivered
        if ack.acknowledged > self.end:
            self.alpha = (1.0 - self.gain) * self.alpha + self.gain * self.marked / max(self.delivered, 1)
            self.delivered, self.marked, self.end = 0, 0, ack.next
        if ack.may_grow:
            window.grow(ack.delivered)

    def on_congestion(self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window) -> None:
        if event == "mark":
            window.slow_start_threshold = max(window.size * (1.0 - self.alpha / 2.0), 2.0)
        else:
            window.slow_start_threshold = max(flight / 2.0, 2.0)


@register
class Aimd(CongestionControl):
    """Additive increase and multiplicative decrease, with slow start."""

    name = "py-aimd"

    def on_ack(self, ack: Ack, window: Window) -> None:
        if ack.may_grow:
            slow_start = window.size < window.slow_start_threshold
            window.size += ack.delivered if slow_start else ack.delivered / window.size

    def on_congestion(self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window) -> None:
        window.slow_start_threshold = max(flight / 2, 2)


class Broken(CongestionControl):
    """A congestion control that works for three ACKs. At the fourth ACK, its subclasses fail."""

    name = "broken-control"

    def start(self, window: Window) -> None:
        self.seen = 0

    def on_ack(self, ack: Ack, window: Window) -> None:
        self.seen += 1
        if self.seen > 3:
            self.go_wrong(ack, window)

    def go_wrong(self, ack: Ack, window: Window) -> None:
        raise NotImplementedError


@register
class RaisesOnAck(Broken):
    name = "raises-on-ack"

    def go_wrong(self, ack: Ack, window: Window) -> None:
        window.size = 1 / (ack.delivered - ack.delivered)


@register
class LeavesNoWindow(Broken):
    name = "leaves-no-window"

    def go_wrong(self, ack: Ack, window: Window) -> None:
        window.size = float("nan")


@pytest.fixture
def small(star: Scenario) -> Scenario:
    """A scenario with a small buffer, which causes losses and timeouts."""
    return star.set("switch.buffer", "60 KB")


def flows(scenario: Scenario) -> object:
    return run(scenario).flows.arrow


@pytest.mark.parametrize("persistent", [False, True])
def test_newreno_in_python_sends_what_the_built_in_one_sends(small: Scenario, persistent: bool) -> None:
    scenario = small.set("transport.0.persistent", persistent)
    theirs = run(scenario.set(CONTROL, "newreno")).flows
    assert any(theirs.arrow["timeouts"].to_pylist()), "losses must be common"
    assert flows(scenario.set(CONTROL, PythonReno)) == theirs.arrow


@pytest.mark.parametrize(
    ("buffer", "size", "load", "seed", "has_timeouts"),
    [("800 KB", "200 KB", 0.6, 1, False), ("800 KB", "4 MB", 0.6, 3, False), ("400 KB", "4 MB", 0.3, 3, False), ("400 KB", "1 MB", 0.6, 1, True)],
)
def test_aimd_in_twenty_lines_has_the_results_of_newreno(
    star: Scenario, buffer: str, size: str, load: float, seed: int, has_timeouts: bool
) -> None:
    assert len(inspect.getsource(Aimd).splitlines()) <= 20
    bulk: dict[str, str | float] = {"kind": "poisson", "sizes": size, "load": load}
    scenario = star.with_({"workload": [bulk], "switch.buffer": buffer, "transport.0.initial_window": 10, "seed": seed})
    native, custom, again = (run(scenario.set(CONTROL, name)) for name in ("newreno", "py-aimd", "py-aimd"))
    sent_again, timeouts = (native.flows.arrow[column].to_pylist() for column in ("retransmitted_packets", "timeouts"))
    assert any(sent_again) and any(timeouts) == has_timeouts
    for table in native.tables:
        assert native.table(table) == custom.table(table), table
    assert dict(native.summary) == dict(custom.summary)
    assert custom == again


def test_dctcp_in_python_sends_what_the_built_in_one_sends(star: Scenario) -> None:
    marking = star.with_({"switch.ecn": {"kind": "step", "threshold": "30 KB"}, "transport.0.initial_window": 10})
    theirs = run(marking.set(CONTROL, "dctcp")).flows
    assert any(theirs.arrow["marked_packets"].to_pylist()), "marks must be common"
    assert flows(marking.set(CONTROL, PythonDctcp)) == theirs.arrow
    assert flows(marking.set(CONTROL, {"name": "py-dctcp", "gain": 0.5})) == flows(
        marking.set(CONTROL, {"name": "dctcp", "gain": 0.5})
    )


def test_a_control_that_says_nothing_of_congestion_halves_as_newreno(small: Scenario) -> None:
    @register
    class Silent(CongestionControl):
        name = "silent"

        def on_ack(self, ack: Ack, window: Window) -> None:
            if ack.may_grow:
                window.grow(ack.delivered)

    assert flows(small.set(CONTROL, Silent)) == flows(small.set(CONTROL, "newreno"))


def failure(scenario: Scenario, control: type[CongestionControl]) -> ControlError:
    with pytest.raises(ControlError) as caught:
        run(scenario.set(CONTROL, control))
    return caught.value


def test_what_a_control_raises_ends_the_run_with_flow_method_and_traceback(star: Scenario) -> None:
    error = failure(star, RaisesOnAck)
    assert (error.control, error.method, error.dst[0]) == ("raises-on-ack", "on_ack", "h")
    assert error.time_ps > 0 and error.flow >= 0
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert "in go_wrong" in error.traceback and "ZeroDivisionError" in error.traceback
    place = f"congestion control raises-on-ack failed in flow {error.flow} ({error.src} to {error.dst}) at "
    assert str(error).startswith(place)
    assert "on_ack: raised ZeroDivisionError: division by zero (test_congestion.py, line " in str(error)


def test_a_control_that_leaves_no_window_ends_the_run(star: Scenario) -> None:
    error = failure(star, LeavesNoWindow)
    assert error.method == "on_ack" and error.traceback == "" and error.__cause__ is None
    assert "left window.size = NaN; expected a finite number of segments" in str(error)


def test_a_control_that_fails_at_a_loss_or_at_the_start_of_a_flow_says_so(small: Scenario) -> None:
    @register
    class FailsAtLoss(PythonReno):
        name = "fails-at-loss"

        def on_congestion(
            self, event: Literal["loss", "mark", "timeout"], flight: int, now_ps: int, window: Window
        ) -> None:
            raise RuntimeError(f"no answer to a {event}")

    assert failure(small, FailsAtLoss).method == "on_congestion"

    @register
    class FailsLater(PythonReno):
        name = "fails-later"
        made: ClassVar[int] = 0

        def start(self, window: Window) -> None:
            type(self).made += 1
            if type(self).made > 6:
                raise RuntimeError("enough")

    error = failure(small, FailsLater)
    assert error.method == "start" and "RuntimeError: enough" in str(error)


def test_parameters_and_what_refuses_them_are_errors_of_the_scenario(star: Scenario) -> None:
    @register
    class Picky(PythonReno):
        name = "picky-control"
        gain: float = bufferlab.param(0.5, min=0.1, max=1, doc="How picky it is.")

        def start(self, window: Window) -> None:
            if self.gain > 0.9:
                raise ValueError(f"{self.gain} with a first window of {self.path.initial_window}")

    with pytest.raises(ScenarioError, match=r"gain: 9 is out of range"):
        star.set(CONTROL, {"name": Picky, "gain": 9.0}).check()
    with pytest.raises(ScenarioError, match=r"picky-control raised ValueError: 0\.95 with a first window of"):
        star.set(CONTROL, {"name": Picky, "gain": 0.95}).check()
    star.set(CONTROL, {"name": Picky, "gain": 0.2}).check()


def test_a_class_that_cannot_be_a_control_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"Nameless has no name: add name = \"my-control\""):

        @register
        class Nameless(CongestionControl):
            def on_ack(self, ack: Ack, window: Window) -> None:
                pass

    with pytest.raises(TypeError, match=r"does not define on_ack\(self, ack, window\)"):

        @register
        class Idle(CongestionControl):
            name = "idle-control"

    with pytest.raises(TypeError, match="Misspelt defines on_congestoin, which is never called: did you mean on_congestion"):

        @register
        class Misspelt(PythonReno):
            name = "misspelt-control"

            def on_congestoin(self, event: str, flight: int, now_ps: int, window: Window) -> None:
                pass

    with pytest.raises(ValueError, match="belongs to the congestion control TCP NewReno"):

        @register
        class Impostor(PythonReno):
            name = "newreno"

    assert bufferlab.custom_congestion_controls()["py-dctcp"] is PythonDctcp


def test_comparisons_and_sweeps_run_over_custom_controls(small: Scenario) -> None:
    own = small.set(CONTROL, PythonReno)
    comparison = bufferlab.compare(own, ["dt", "cs"], seeds=2)
    assert comparison.policies == ("dt", "cs")
    grid = bufferlab.sweep(small, {CONTROL: [PythonReno, "newreno"]})
    means = [point["all.slowdown_p99"]["dt"].estimate for point in grid.points().values()]
    assert len(means) == 2 and means[0] == means[1]


def test_rates_by_telemetry_govern_their_window(star: Scenario) -> None:
    seen: list[int] = []

    @register
    class Watches(CongestionControl):
        name = "watches"
        wants_telemetry = True
        governs_window = True
        starts_at_line_rate = True

        def on_ack(self, ack: Ack, window: Window) -> None:
            [hop] = ack.telemetry
            seen.append(hop.queue_bytes)
            window.size = 4.0
            window.pacing_gap_ps = self.path.base_rtt_ps // 4

    assert run(star.set(CONTROL, Watches)).flows.num_rows > 0
    assert len(seen) > 100 and max(seen) > 0


MODULE = '''
from bufferlab import Ack, CongestionControl, Window, register

@register
class Shipped(CongestionControl):
    name = "shipped-control"
    def on_ack(self, ack, window):
        if ack.may_grow:
            window.grow(ack.delivered)
'''

MAIN = '''
from bufferlab import Scenario, compare, run
from own_module import Shipped

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("transport.0.congestion_control", Shipped)
    print(run(star).flows.num_rows)
    print(compare(star, ["dt"], executor="processes", jobs=1)["all.flows"]["dt"].estimate.mean)
'''


def test_a_scenario_takes_its_own_control_along_to_another_process(as_program: Callable[[str, str], list[str]]) -> None:
    here, there = as_program(MODULE, MAIN)
    assert float(here) == float(there) > 0
