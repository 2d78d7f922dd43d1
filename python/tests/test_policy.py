"""Tests of custom policies: verdicts equal verdicts of built-in policies, errors, processes,
conformance."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

import bufferlab
from bufferlab import (
    Arrival,
    Buffer,
    ConformanceError,
    Departure,
    Policy,
    PolicyError,
    RunError,
    Scenario,
    ScenarioError,
    Verdict,
    Weight,
    conformance,
    param,
    register,
    run,
    trial,
)


@register
class PythonDt(Policy):
    """Dynamic Thresholds, written in Python."""

    name = "py-dt"
    alpha: float = 0.5

    def start(self) -> None:
        self.weight = Weight(self.alpha)

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        if not buffer.fits(arrival.size):
            return Verdict.FULL
        if buffer.queue_bytes(arrival.queue) + arrival.size > self.weight.of(buffer.free):
            return Verdict.DROP
        return Verdict.ADMIT

    def threshold(self, queue: int, tags: list[str], buffer: Buffer) -> int:
        return self.weight.of(buffer.free)


@register
class PythonLqd(Policy):
    """Longest Queue Drop, written in Python."""

    name = "py-lqd"

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        if buffer.fits(arrival.size):
            return Verdict.ADMIT
        lengths = buffer.queue_lengths()
        own = lengths[arrival.queue] + arrival.size
        lengths[arrival.queue] = -1
        longest = max(lengths)
        victim = lengths.index(longest)
        leads = own > longest or (own == longest and arrival.queue < victim)
        if arrival.evictions == 0 and leads:
            return Verdict.FULL
        return Verdict.evict(victim, "tail")


class Broken(Policy):
    """A policy that admits every packet that fits; its subclasses fail after a hundred packets."""

    name = "broken"

    def start(self) -> None:
        self.seen = 0

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        self.seen += 1
        if self.seen > 100:
            return self.go_wrong(arrival, buffer)
        return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL

    def go_wrong(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        raise NotImplementedError


@register
class Raises(Broken):
    name = "raises"

    def go_wrong(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        return Verdict.ADMIT if 1 / (arrival.size - arrival.size) else Verdict.DROP


@register
class TalksNonsense(Broken):
    name = "talks-nonsense"

    def go_wrong(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        return True  # type: ignore[return-value]


@register
class EvictsFromEmptyQueues(Broken):
    name = "evicts-from-empty-queues"

    def go_wrong(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        empty = [queue for queue, length in enumerate(buffer.queue_lengths()) if length == 0]
        return Verdict.evict(empty[0]) if empty else Verdict.FULL


def failure(scenario: Scenario, policy: type[Policy]) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        run(scenario.set("switch.policy", policy))
    return caught.value


@pytest.mark.parametrize("alpha", [0.5, 0.3])
def test_dt_in_python_gives_the_verdicts_of_the_built_in_one_on_a_million_arrivals(alpha: float) -> None:
    ours, theirs = trial(PythonDt, alpha=alpha), trial("dt", alpha=alpha)
    assert len(ours.verdicts) == 1_000_000
    assert 100_000 < theirs.drops < 900_000, "both verdicts must be common"
    assert ours.verdicts == theirs.verdicts


def test_push_out_in_python_gives_the_verdicts_of_the_built_in_one() -> None:
    ours, theirs = trial(PythonLqd, arrivals=200_000), trial("lqd", arrivals=200_000, ties="first")
    assert theirs.drops > 10_000
    assert ours.verdicts == theirs.verdicts


def test_a_run_with_dt_in_python_writes_the_same_flows(star: Scenario) -> None:
    ours = run(star.set("switch.policy", {"name": "py-dt", "alpha": 0.25}))
    theirs = run(star.set("switch.policy", {"name": "dt", "alpha": 0.25}))
    assert (ours.policy, theirs.policy) == ("py-dt", "dt")
    for table in ("flows", "queries", "queues", "drops", "links", "occupancy"):
        files = [(result.folder / f"{table}.parquet").read_bytes() for result in (ours, theirs)]
        assert files[0] == files[1], table
    assert theirs.drops.num_rows > 0


def test_a_policy_that_raises_is_told_with_place_time_and_its_own_traceback(star: Scenario) -> None:
    error = failure(star, Raises)
    line = Raises.go_wrong.__code__.co_firstlineno + 1
    assert re.sub(r"at [0-9.]+ [mun]?s:", "at T:", error.message) == (
        "policy raises failed in switch switch (port 6, priority 0) at T: admit: "
        f"raised ZeroDivisionError: division by zero (test_policy.py, line {line})"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None
    assert "in go_wrong" in error.traceback and "in admit" in error.traceback
    assert (error.policy, error.switch, error.port, error.priority) == ("raises", "switch", 6, 0)
    assert error.method == "admit" and error.time_ps > 0
    assert isinstance(error, RunError) and "conformance" in error.help


def test_a_policy_that_answers_nonsense_is_told_what_is_expected(star: Scenario) -> None:
    assert failure(star, TalksNonsense).message.endswith(
        "admit: answered True (bool); expected a Verdict: Verdict.ADMIT, Verdict.drop(...), Verdict.evict(...)"
    )


def test_an_impossible_eviction_is_told_with_the_queue(star: Scenario) -> None:
    assert failure(star, EvictsFromEmptyQueues).message.endswith(
        "admit: asked to remove a packet from queue 0 (port 0, priority 0), which is empty"
    )


def test_a_failed_run_leaves_its_folder_as_it_was(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(star, out=out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(PolicyError):
        run(star.set("switch.policy", Raises), out=out, replace=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_policy_error_travels_to_other_processes_with_its_traceback(star: Scenario) -> None:
    error = failure(star, Raises)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is PolicyError
    assert (copy.message, copy.traceback, copy.port) == (error.message, error.traceback, error.port)


def test_hooks_are_told_what_happened_and_may_read_the_buffer_within_the_call_only(star: Scenario) -> None:
    kept: list[Buffer] = []

    @register
    class Watches(Policy):
        name = "watches"

        def start(self) -> None:
            self.stored = {queue: 0 for queue in range(self.switch.queues)}
            self.due = 100_000_000

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            assert buffer.queue_bytes(arrival.queue) == self.stored[arrival.queue]
            kept.append(buffer)
            return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.drop("buffer_full")

        def on_enqueue(self, arrival: Arrival, buffer: Buffer) -> None:
            self.stored[arrival.queue] += arrival.size
            assert sum(self.stored.values()) == buffer.occupancy == buffer.capacity - buffer.free

        def on_dequeue(self, departure: Departure, buffer: Buffer) -> None:
            self.stored[departure.queue] -= departure.size
            assert departure.enqueued_at_ps <= departure.now_ps

        def on_drop(self, arrival: Arrival, reason: str, buffer: Buffer) -> None:
            assert reason == "buffer-full"

        def next_timeout(self) -> int:
            return self.due

        def handle_timeout(self, now_ps: int, buffer: Buffer) -> None:
            self.due = now_ps + 100_000_000

    result = run(star.set("switch.policy", Watches))
    assert result.flows == run(star.set("switch.policy", "cs")).flows
    with pytest.raises(RuntimeError, match="only within the call"):
        _ = kept[0].occupancy


def test_the_buffer_names_the_queues_that_it_has() -> None:
    @register
    class Asks(Policy):
        name = "asks"

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            assert buffer.queue_bytes(16)
            return Verdict.ADMIT

    with pytest.raises(PolicyError, match="IndexError: there is no queue 16: the switch has 16, numbered from 0"):
        trial(Asks, arrivals=10)


def test_a_policy_may_choose_the_queue_within_the_port() -> None:
    @register
    class ByFlow(Policy):
        name = "by-flow"

        def classify(self, now_ps: int, flow: int, priority: int, size: int) -> int:
            return flow % 2

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            assert arrival.priority == arrival.flow % 2 and arrival.queue == 2 * arrival.port + arrival.priority
            return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL

    assert 0 < trial(ByFlow, arrivals=1000).drops < 1000

    @register
    class LosesItsWay(ByFlow):
        name = "loses-its-way"

        def classify(self, now_ps: int, flow: int, priority: int, size: int) -> int:
            return -1

    with pytest.raises(PolicyError, match=r"classify: answered -1 \(int\); expected a queue of the port"):
        trial(LosesItsWay, arrivals=10)


def test_a_hook_that_raises_ends_the_run_too(star: Scenario) -> None:
    @register
    class FailsLate(PythonDt):
        name = "fails-late"

        def on_dequeue(self, departure: Departure, buffer: Buffer) -> None:
            raise KeyError(departure.queue)

    error = failure(star, FailsLate)
    assert error.method == "on_dequeue" and isinstance(error.__cause__, KeyError)


def test_comparisons_and_sweeps_take_custom_policies_by_class_and_name(star: Scenario) -> None:
    comparison = bufferlab.compare(star, ["dt", PythonDt, "py-lqd"], seeds=2)
    assert comparison.policies == ("dt", "py-dt", "py-lqd")
    change = comparison["switches.lost_percent"]["py-dt"].change
    assert change is not None and change.mean == 0.0
    with pytest.raises(bufferlab.SweepError) as caught:
        bufferlab.sweep(star, {"switch.buffer": ["200 KB", "400 KB"]}, policies=[PythonDt, Raises])
    grid = caught.value.sweep
    assert grid is not None and len(grid.points()) == 2
    assert "ZeroDivisionError" in str(caught.value)


def test_one_failed_run_of_several_harms_no_other(star: Scenario, tmp_path: Path) -> None:
    scenarios = [star.set("switch.policy", policy) for policy in ("dt", Raises, PythonDt)]
    jobs = [(scenario._load(), tmp_path / str(number), list[tuple[str, str, str]]()) for number, scenario in enumerate(scenarios)]
    first, second, third = bufferlab._bufferlab.execute(jobs, 2, False, None)
    assert first is None and third is None and isinstance(second, PolicyError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "2"]


def test_parameters_are_declared_in_the_class_and_checked_in_scenarios(star: Scenario) -> None:
    seen: list[tuple[object, ...]] = []

    @register
    class Declares(Policy):
        name = "declares"
        alpha: float = param(0.5, min=0.1, max=8, doc="How generous it is.")
        reserve: int = param("10 KB", unit="bytes")
        period: int = param("80 us", unit="time")
        packets: int = 3
        strict: bool = False
        mode: Literal["soft", "hard"] = "soft"

        def start(self) -> None:
            seen.append((self.alpha, self.reserve, self.period, self.packets, self.strict, self.mode))

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            return Verdict.FULL

    given: dict[str, bufferlab.Value] = {"name": Declares, "alpha": 2, "reserve": "1 KB", "period": "5 ns", "strict": True, "mode": "hard"}
    star.set("switch.policy", given).check()
    assert seen[-1] == (2.0, 1000, 5000, 3, True, "hard")
    star.set("switch.policy", Declares).check()
    assert seen[-1] == (0.5, 10_000, 80_000_000, 3, False, "soft")
    info = bufferlab.policy_info("declares")
    assert (info.title, [parameter.name for parameter in info.parameters][:2]) == ("Declares", ["alpha", "reserve"])
    with pytest.raises(ScenarioError, match=r"switch\.policy\.alpha: 9 is out of range") as caught:
        star.set("switch.policy", {"name": "declares", "alpha": 9.0}).check()
    assert "How generous it is." in str(caught.value)
    with pytest.raises(ScenarioError, match="did you mean `alpha`"):
        star.set("switch.policy", {"name": "declares", "alfa": 1.0}).check()


def test_a_class_that_cannot_be_a_policy_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match="Nameless has no name: add name"):

        @register
        class Nameless(Policy):
            def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
                return Verdict.DROP

    with pytest.raises(TypeError, match="does not define admit"):

        @register
        class Idle(Policy):
            name = "idle"

    with pytest.raises(ValueError, match=r"names are lower-case letters"):

        @register
        class Shouts(PythonDt):
            name = "DT!"

    with pytest.raises(ValueError, match="belongs to the policy Dynamic Thresholds"):

        @register
        class Impostor(PythonDt):
            name = "dt"

    with pytest.raises(ValueError, match="belongs to .*PythonDt; choose another for"):

        @register
        class Second(PythonDt):
            name = "py-dt"

    with pytest.raises(ValueError, match=r"Wordy\.mode: a word needs its choices"):

        @register
        class Wordy(PythonDt):
            name = "wordy"
            mode: str = "soft"

    with pytest.raises(ValueError, match=r"there is no reason of a drop \"full\"\nhelp: choose one of: buffer-full, over-threshold"):
        Verdict.drop("full")
    with pytest.raises(ValueError, match='there is no end of a queue "middle"\nhelp: choose one of: head, tail'):
        Verdict.evict(0, "middle")  # type: ignore[arg-type]


def test_a_class_that_is_written_again_takes_the_place_of_its_former_self(star: Scenario) -> None:
    for verdict in (Verdict.FULL, Verdict.ADMIT):

        @register
        class Rewritten(Policy):
            name = "rewritten"
            answer = verdict

            def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
                return self.answer if buffer.fits(arrival.size) else Verdict.FULL

    assert trial("rewritten", arrivals=10).drops == 0
    assert bufferlab.custom_policies()["rewritten"] is Rewritten


def test_a_policy_that_cannot_be_built_says_why(star: Scenario) -> None:
    @register
    class Picky(PythonDt):
        name = "picky"

        def start(self) -> None:
            raise ValueError(f"{self.switch.ports} ports are too many")

    with pytest.raises(ScenarioError, match=r"picky raised ValueError: 8 ports are too many \(test_policy.py, line"):
        run(star.set("switch.policy", Picky))


def test_the_conformance_suite_is_one_call(star: Scenario) -> None:
    report = conformance(PythonDt)
    assert report.holds and len(report.checks) == 11, report
    assert report.checks[0].scripts == 5**6 + 4**6 + 40, "as much as every built-in policy"
    report.raise_for_failures()
    broken = conformance(EvictsFromEmptyQueues)
    assert not broken.holds
    assert "which is empty" in broken.failures[0].why
    assert "operation" in (broken.failures[0].counterexample or "")
    with pytest.raises(ConformanceError, match="FAIL  stays within the buffer"):
        broken.raise_for_failures()
    raising = conformance(Raises)
    assert "ZeroDivisionError: division by zero" in str(raising) and "in go_wrong" in str(raising)


def test_the_example_of_the_documentation_runs_and_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path("docs/how-to/custom-policies.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    assert len(example.splitlines()) < 30
    exec(example.replace("seeds=5", "seeds=1"), {"__name__": "example"})
    assert "fair-share" in capsys.readouterr().out


MODULE = '''
from bufferlab import Arrival, Buffer, Policy, Verdict, register

@register
class Shipped(Policy):
    name = "shipped"
    def admit(self, arrival, buffer):
        return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL
'''

MAIN = '''
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from bufferlab import Scenario, compare, run
{definition}

def drops(scenario):
    return run(scenario).flows.num_rows

if __name__ == "__main__":
    star = Scenario.from_file("scenarios/star-incast.toml", duration="2 ms").set("switch.policy", Shipped)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(drops, star).result())
    print(compare(star, [Shipped, "cs"], executor="processes", jobs=1)["all.flows"]["shipped"].estimate)
'''


@pytest.mark.parametrize("definition", ["from own_module import Shipped", MODULE])
def test_a_scenario_takes_its_custom_policy_along_to_another_process(
    definition: str, as_program: Callable[[str, str], list[str]]
) -> None:
    flows, compared = as_program(MODULE, MAIN.replace("{definition}", definition))
    assert flows == compared and int(flows) > 0


def test_a_class_of_a_notebook_travels_whole(star: Scenario, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")

    # Another process cannot import this policy's class. So the class is pickled by value, like
    # classes of a notebook.
    @register
    class Local(Policy):
        name = "local"

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            return Verdict.ADMIT if buffer.fits(arrival.size) else Verdict.FULL

    packed = tmp_path / "scenario.pickle"
    packed.write_bytes(pickle.dumps(star.set("switch.policy", Local)))
    code = f"import pickle, bufferlab; print(bufferlab.run(pickle.load(open({str(packed)!r}, 'rb'))).policy)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "local\n", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_ends_a_run_whose_verdicts_are_pythons(tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text(MODULE)
    program = tmp_path / "main.py"
    program.write_text(
        "import sys, bufferlab\n"
        "from own_module import Shipped\n"
        "star = bufferlab.Scenario.from_file('scenarios/star-incast.toml', duration='10000 s')\n"
        "def told(progress):\n"
        "    print('running', flush=True)\n"
        "try:\n"
        "    bufferlab.run(star.set('switch.policy', Shipped), progress=told)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        # Read the rest of the output before the wait, because a full pipe would block the program.
        process.stdout.read()
        assert process.wait(60) == 42


def test_a_misspelt_hook_is_refused_with_the_right_name() -> None:
    with pytest.raises(TypeError, match=r"Misspelt defines on_dequeu, which is never called: did you mean on_dequeue\?"):

        @register
        class Misspelt(PythonDt):
            name = "py-misspelt"

            def on_dequeu(self, departure: Departure, buffer: Buffer) -> None:
                pass

    @register
    class Helped(PythonDt):
        name = "py-helped"

        def threshold_of_mine(self) -> float:
            return self.alpha

    assert Helped.name in bufferlab.custom_policies()


def test_a_classifier_that_names_a_queue_beyond_the_last_ends_the_run(star: Scenario) -> None:
    @register
    class Beyond(PythonDt):
        name = "py-beyond"

        def classify(self, now_ps: int, flow: int, priority: int, size: int) -> int:
            return 99

    with pytest.raises(PolicyError, match=r"classify: answered 99 \(int\); expected a queue of the port \(int\), below 1"):
        run(star.set("switch.policy", Beyond))


@pytest.mark.parametrize("exception", [SystemExit, KeyboardInterrupt])
def test_what_is_no_mistake_of_the_class_stays_what_it_is(star: Scenario, exception: type[BaseException]) -> None:
    @register
    class Leaves(PythonDt):
        name = f"py-leaves-{exception.__name__.lower()}"

        def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
            raise exception("enough")

    with pytest.raises(exception, match="enough"):
        run(star.set("switch.policy", Leaves))
