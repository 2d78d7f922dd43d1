"""Tests of simulations that are advanced, inspected, changed and copied, and of the environment."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bufferlab
from bufferlab import Arrival, Buffer, Policy, Scenario, Simulation, Verdict
from bufferlab.gym import BufferEnv, Interval

from .folders import same_results


def test_a_stepped_run_has_the_bytes_of_a_batch_run(star: Scenario, tmp_path: Path) -> None:
    scenario = star.set("output.sample_interval", "20 us")
    bufferlab.run(scenario, out=tmp_path / "batch")
    draw = random.Random(5)
    simulation = Simulation(scenario)
    for _ in range(30):
        if draw.random() < 0.5:
            simulation.run_until(simulation.now + draw.random() * 2e-4)
        else:
            simulation.step(draw.randrange(500))
        if draw.random() < 0.3:
            simulation = simulation.fork()
    simulation.finish(out=tmp_path / "stepped")
    same_results(tmp_path / "batch", tmp_path / "stepped")


def test_views_have_the_state_of_the_moment(star: Scenario) -> None:
    simulation = Simulation(star)
    simulation.run_until("500 us")
    assert simulation.now_ps == 500_000_000 and not simulation.is_finished
    while simulation.switches[0].occupancy < 100_000:
        simulation.step(100)
    [switch] = simulation.switches
    queues = simulation.queues()
    assert queues.occupancy.shape == (switch.ports, switch.queues_per_port)
    assert queues.occupancy.sum() == switch.occupancy > 0
    left = queues.dropped + queues.departed + queues.evicted
    assert ((queues.arrived > left) == (queues.occupancy > 0)).all() and (queues.arrived >= left).all()
    limit = (switch.capacity - switch.occupancy) / 2
    assert np.allclose(queues.threshold, limit, atol=1)
    flows = simulation.flows()
    assert len(flows) > 0 and (flows.window >= 1).all() and (flows.delivered <= flows.size).all()
    assert set(flows.src.tolist()) <= set(range(len(simulation.hosts)))


def test_iteration_yields_what_happened(star: Scenario, tmp_path: Path) -> None:
    bufferlab.run(star, out=tmp_path / "batch")
    simulation = Simulation(star)
    events = []
    for event in simulation:
        assert event.time_ps == simulation.now_ps
        events.append(event)
        if len(events) == 1000:
            break
    simulation.run_until("1 ms")
    events.extend(simulation)
    assert simulation.is_finished and next(iter(simulation), None) is None
    times = [event.time_ps for event in events]
    assert times == sorted(times) and len(events) <= simulation.events
    [switch] = simulation.switches
    nodes = {*simulation.hosts, switch.name}
    for event in events:
        assert event.node is None or event.node in nodes
        assert (event.kind == "arrival") == (event.packet is not None) == (event.bytes is not None)
        assert event.node == switch.name or not (event.dropped or event.evicted or event.marked)
    assert {"arrival", "transmission", "flow", "sender", "duration"} <= {event.kind for event in events}
    simulation.finish(out=tmp_path / "stepped")
    same_results(tmp_path / "batch", tmp_path / "stepped")


def test_the_losses_of_all_events_are_the_losses_of_the_run(star: Scenario) -> None:
    simulation = Simulation(star)
    dropped = sum(event.dropped for event in simulation)
    assert dropped == simulation.queues().dropped.sum() > 0
    flows = simulation.finish().flows.to_pydict()
    assert dropped == sum(flows["dropped_packets"])


def test_a_loop_may_change_the_simulation(star: Scenario) -> None:
    simulation = Simulation(star)
    for event in simulation:
        if event.dropped:
            simulation.set_policy("cs")
            break
    changed = simulation.finish()
    assert changed.flows != bufferlab.run(star).flows
    assert "policy cs()" in (changed.folder / "scenario.toml").read_text()


def test_a_cable_changes_its_rate(star: Scenario) -> None:
    star = star.set("switch.policy", "cs")
    simulation, slower = Simulation(star), Simulation(star)
    cable = next(number for number, ends in enumerate(slower.cables) if "h0" in ends)
    slower.run_until("500 us")
    slower.set_rate(cable, "1 Gb/s")
    full, slow = simulation.finish(), slower.finish()
    ideal, times = full.flows["ideal_ns"].to_pylist(), slow.flows["fct_ns"].to_pylist()
    assert slow.flows["ideal_ns"].to_pylist() == ideal and len(times) == len(ideal)
    assert slow.summary["class.incast.qct_mean_ms"] > full.summary["class.incast.qct_mean_ms"]  # type: ignore[operator]
    assert f"# 500 us: cable {cable} at 1 Gb/s" in (slow.folder / "scenario.toml").read_text()
    with pytest.raises(bufferlab.RunError, match="cut through"):
        Simulation(star.set("switch.hardware.cut_through", "64 B")).set_rate(0, 1e9)
    with pytest.raises(bufferlab.RunError, match="a packet would take more"):
        Simulation(star).set_rate(0, 1)


def test_views_of_transports(star: Scenario) -> None:
    simulation = Simulation(star)
    for event in simulation:
        if event.packet == "ack" and event.node in simulation.hosts:
            break
    flows = simulation.flows()
    known = ~np.isnan(flows.rtt)
    assert known.any() and (flows.rtt[known] > 1e-6).all() and (flows.rtt[known] < 1e-2).all()
    assert (flows.acknowledged <= flows.sent).all() and flows.acknowledged.sum() > 0
    assert np.isnan(flows.rate).all() and (flows.slow_start_threshold >= 1).all()


def test_a_fork_under_another_policy_equals_a_run_that_changes_then(star: Scenario) -> None:
    simulation = Simulation(star)
    simulation.run_until("900 us")
    fork = simulation.fork()
    for one in (simulation, fork):
        one.set_policy("abm", alpha=0.25)
    changed, forked = simulation.finish(), fork.finish()
    assert changed.flows == forked.flows and changed.manifest == forked.manifest
    assert changed.flows != bufferlab.run(star).flows
    assert [caveat["id"] for caveat in changed.manifest["caveats"]][-1] == "changed-during-run"
    text = (changed.folder / "scenario.toml").read_text()
    assert text.startswith("# Changed during the run:\n# 900 us: switch 0: policy abm(alpha = ")


def test_alphas_flows_and_cables_change_during_a_run(star: Scenario) -> None:
    simulation = Simulation(star)
    simulation.run_until("500 us")
    simulation.set_alphas(0.125)
    [switch] = simulation.switches
    limit = (switch.capacity - switch.occupancy) / 8
    assert np.allclose(simulation.queues().threshold, limit, atol=1)
    number = simulation.start_flow(0, simulation.hosts[1], 50_000)
    assert number in simulation.flows().number
    simulation.set_cable(0, up=False)
    simulation.run_until("600 us")
    simulation.set_cable(0, up=True)
    result = simulation.finish()
    rows = {row["flow_id"]: row for row in result.flows.rows()}
    assert rows[number]["size_bytes"] == 50_000


def test_wrong_arguments_are_named(star: Scenario) -> None:
    simulation = Simulation(star)
    with pytest.raises(bufferlab.ArgumentError, match='time is "soon"'):
        simulation.run_until("soon")
    with pytest.raises(bufferlab.UnknownNameError, match='there is no policy "amb"') as caught:
        simulation.set_policy("amb")
    assert "abm" in caught.value.help
    with pytest.raises(bufferlab.ArgumentError, match="alphas is .*, expected one number or"):
        simulation.set_alphas([1.0, 2.0])
    with pytest.raises(bufferlab.UnknownNameError, match="there is no host"):
        simulation.start_flow("nobody", 0, 1_000)
    with pytest.raises(bufferlab.RunError, match="to itself"):
        simulation.start_flow(0, 0, 1_000)
    simulation.finish()
    with pytest.raises(bufferlab.ArgumentError, match="the simulation is finished"):
        simulation.step()


class Patient(Policy):
    """A policy that counts its packets, and drops every twentieth packet."""

    name = "patient"

    def start(self) -> None:
        self.seen = 0

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        self.seen += 1
        if not buffer.fits(arrival.size):
            return Verdict.FULL
        return Verdict.DROP if self.seen % 20 == 0 else Verdict.ADMIT


class Lonely(Patient):
    """A policy whose instances cannot be copied."""

    name = "lonely"

    def __deepcopy__(self, memo: object) -> object:
        raise TypeError("there is only one")


def test_policies_in_python_are_copied_or_named(star: Scenario) -> None:
    bufferlab.register(Patient)
    bufferlab.register(Lonely)
    patient = star.set("switch.policy", "patient")
    batch = bufferlab.run(patient)
    simulation = Simulation(patient)
    simulation.run_until("800 us")
    fork = simulation.fork()
    fork.run_until("2 ms")
    assert simulation.finish() == batch == fork.finish()
    lonely = Simulation(star.set("switch.policy", "lonely"))
    with pytest.raises(bufferlab.RunError, match="policy lonely of switch .* cannot be copied"):
        lonely.fork()


def episode(env: BufferEnv, seed: int, steps: int) -> list[tuple[list[float], float, int]]:
    """Observation, reward and time (ps) at the start and after each step of random actions."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    seen: list[tuple[list[float], float, int]] = [(observation.tolist(), 0.0, 0)]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation) and not truncated
        seen.append((observation.tolist(), reward, info["time_ps"]))
        if terminated:
            break
    return seen


def test_episodes_depend_on_the_seed_alone(star: Scenario) -> None:
    env, other = BufferEnv(star), BufferEnv(star)
    first = episode(env, 3, 200)
    assert first == episode(other, 3, 200) == episode(env, 3, 200)
    assert first != episode(env, 4, 200)
    assert [time for _, _, time in first[:4]] == [0, 10_000_000, 20_000_000, 30_000_000]


def test_an_environment_forks_and_ends(star: Scenario) -> None:
    env = BufferEnv(star, per="queue", reward=lambda it: -float(it.lost_packets))
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape)
    for _ in range(20):
        env.step(action)
    copy = env.fork()
    for _ in range(100_000):
        ours, theirs = env.step(action), copy.step(action)
        assert (ours[0] == theirs[0]).all() and ours[1] == theirs[1] <= 0
        if ours[2]:
            break
    assert ours[2] and theirs[2] and isinstance(ours[4]["interval"], Interval)
    assert env.finish().flows == copy.finish().flows


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")
def test_gymnasium_accepts_the_environment(star: Scenario) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    env = BufferEnv(star)
    assert isinstance(env, gymnasium.Env)
    check_env(env, skip_render_check=True)


def test_the_package_needs_no_gymnasium() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from bufferlab.gym import Box, BufferEnv\n"
        "env = BufferEnv('star-incast')\n"
        "env.reset(seed=1); env.step(env.action_space.sample())\n"
        "assert isinstance(env.action_space, Box)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example program that learns the alphas of Dynamic Thresholds."""
    path = Path(__file__).parents[1] / "examples" / "learn_alphas.py"
    spec = importlib.util.spec_from_file_location("learn_alphas", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "learn_alphas", module)
    spec.loader.exec_module(module)
    return module


def test_a_learned_rule_gives_the_run_of_its_episode_as_a_policy(learning: ModuleType) -> None:
    scenario = learning.traffic().set("duration", "3 ms")
    weights = (3.7, -9.3, 2.1, -0.5)
    env = BufferEnv(scenario, interval=learning.INTERVAL_PS / 1e12)
    policy = dict(zip(("base", "busy", "length", "total"), weights), name="learned-alphas")
    in_episode = learning.episode(env, weights, 3)
    as_policy = bufferlab.run(scenario.set("switch.policy", policy), seed=3)
    assert in_episode.flows == as_policy.flows
    assert in_episode.flows != bufferlab.run(scenario, seed=3).flows


def test_the_example_learns_the_same_rule_each_time(learning: ModuleType) -> None:
    scenario = learning.traffic().set("duration", "2 ms")
    once, again = (learning.learn(scenario, generations=2, candidates=4, episodes=1) for _ in range(2))
    assert (once == again).all()
    assert (once != learning.learn(scenario, generations=2, candidates=4, episodes=1, seed=1)).any()


def test_the_learned_rule_is_judged_on_unseen_seeds_and_beats_the_default(
    learning: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: set[int] = set()
    episode, compared = learning.episode, bufferlab.compare

    def recorded(env: BufferEnv, weights: Any, seed: int) -> bufferlab.Run:
        used.add(seed)
        run: bufferlab.Run = episode(env, weights, seed)
        return run

    def recorded_comparison(scenario: Scenario, **how: Any) -> bufferlab.Comparison:
        comparison = compared(scenario, **how)
        used.update(comparison.seeds)
        return comparison

    monkeypatch.setattr(learning, "episode", recorded)
    monkeypatch.setattr(bufferlab, "compare", recorded_comparison)
    scenario = learning.traffic().set("duration", "5 ms")
    weights = learning.learn(scenario, generations=3, candidates=8, episodes=4)
    alpha = learning.tuned_alpha(scenario, learning.TRAINING_SEEDS[:2])
    assert used <= set(learning.TRAINING_SEEDS)
    judged = learning.judge(scenario, weights, alpha, learning.UNSEEN_SEEDS[:8])
    tuned, dt, abm, learned = judged.policies
    assert (tuned, dt, abm, learned) == ("tuned DT", "dt", "abm", "learned")
    assert not set(judged.seeds) & set(learning.TRAINING_SEEDS)
    cells = judged[learning.OBJECTIVE]
    assert cells[learned].estimate.mean < cells[dt].estimate.mean
