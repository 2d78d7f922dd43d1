"""Learns the alphas of Dynamic Thresholds, and compares the result with DT, ABM and tuned DT.

``python python/examples/learn_alphas.py`` prints the table of docs/how-to/python.md. Needs NumPy.

One switch has bulk flows to three ports and queries to four ports. Each query is an incast of four
answers. The agent sets alpha of every port each 20 us, with one rule for all ports. The rule reads
the rate and the length of the port's queue, so the rule does not know which ports have queries.
The cross-entropy method searches for the four weights of the rule with the shortest mean query
completion time on the training seeds. The grid of alphas for tuned DT uses the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import bufferlab
from bufferlab import Arrival, Buffer, Departure, Policy, Scenario, Verdict, Weight, param
from bufferlab.gym import ALPHA_LOG2, BufferEnv

INTERVAL_PS = 20_000_000
TRAINING_SEEDS = range(1, 9)
UNSEEN_SEEDS = range(2001, 2021)
ALPHAS = [2.0**exponent for exponent in range(-6, 5)]
OBJECTIVE = "class.multi_get.qct_mean_ms"
JUDGED = (OBJECTIVE, "class.poisson.slowdown_mean", "all.goodput_gbps", "switches.lost_percent")
Array = np.ndarray[Any, Any]


def traffic() -> Scenario:
    """One switch with eight hosts: queries to h0 to h3, and bulk flows of 1 MB to h5 to h7.

    Senders send whole messages at once, as in the scenario ``star-incast``.
    """
    queries = {"kind": "multi_get", "clients": ["h0", "h1", "h2", "h3"], "item": "20 KB", "think_time": "500 us"}
    senders, receivers = ["h0", "h1", "h2", "h3", "h4"], ["h5", "h6", "h7"]
    bulk: dict[str, str | float | list[str]] = {"kind": "poisson", "sizes": "1 MB", "load": 0.55, "from": senders, "to": receivers}
    return Scenario.from_file("star-incast").with_({"workload": [queries, bulk], "transport.0.min_rto": "1 ms"})


class Rule:
    """The rule for alpha of each port: its logarithm is a weighted sum of numbers from the
    switch."""

    def __init__(self, weights: Sequence[float] | Array, ports: int) -> None:
        self.weights, self.ports = weights, ports
        self.busy = np.zeros(ports)

    def __call__(self, observation: Array) -> Array:
        """The action for an observation of a switch with one queue per port."""
        queue, rate = observation[: self.ports].astype(np.float64), observation[self.ports :]
        # The mean rate of about 16 intervals separates bulk flows from the start of a burst.
        self.busy += (np.minimum(rate, 1.0) - self.busy) / 16
        base, busy, length, total = self.weights
        action: Array = np.clip(base + busy * self.busy + length * queue + total * queue.sum(), *ALPHA_LOG2)
        return action


@bufferlab.register
class LearnedAlphas(Policy):
    """The rule for alpha as a buffer policy, for runs without the environment."""

    name = "learned-alphas"
    # The smallest value of a parameter is 0 by default, but weights of the rule may be negative.
    base: float = param(0.0, min=-100, doc="Logarithm of alpha (base 2) of an idle port.")
    busy: float = param(0.0, min=-100, doc="Weight of the mean rate of the port.")
    length: float = param(0.0, min=-100, doc="Weight of the length of the port's queue.")
    total: float = param(0.0, min=-100, doc="Weight of the occupancy of the buffer.")

    def start(self) -> None:
        self.rule = Rule((self.base, self.busy, self.length, self.total), self.switch.ports)
        self.capacity = np.array(self.switch.port_rates) * INTERVAL_PS / 8e12
        self.sent, self.at = [0] * self.switch.ports, 0
        self.set_alphas([0] * self.switch.ports)

    def set_alphas(self, lengths: list[int]) -> None:
        rates = np.minimum(self.sent / self.capacity, 2.0)
        observation = np.concatenate([np.array(lengths) / self.switch.capacity, rates])
        self.alphas = [Weight(2.0**action) for action in self.rule(observation.astype(np.float32))]
        self.sent, self.at = [0] * self.switch.ports, self.at + INTERVAL_PS

    def admit(self, arrival: Arrival, buffer: Buffer) -> Verdict:
        if not buffer.fits(arrival.size):
            return Verdict.FULL
        limit = self.alphas[arrival.port].of(buffer.free)
        return Verdict.DROP if buffer.queue_bytes(arrival.queue) + arrival.size > limit else Verdict.ADMIT

    def on_dequeue(self, departure: Departure, buffer: Buffer) -> None:
        self.sent[departure.port] += departure.size

    def next_timeout(self) -> int:
        return self.at

    def handle_timeout(self, now_ps: int, buffer: Buffer) -> None:
        if now_ps >= self.at:
            self.set_alphas(buffer.queue_lengths())


def episode(env: BufferEnv, weights: Sequence[float] | Array, seed: int) -> bufferlab.Run:
    """The finished run of one episode, in which the rule with the weights `weights` sets alpha."""
    observation, _ = env.reset(seed=seed)
    rule, is_over = Rule(weights, env.action_space.shape[0]), False
    while not is_over:
        observation, _, is_over, _, _ = env.step(rule(observation))
    return env.finish()


def learn(scenario: Scenario, *, generations: int = 5, candidates: int = 16, episodes: int = 4, seed: int = 0) -> Array:
    """The weights of the rule that the cross-entropy method finds. Equal seeds give equal
    weights."""
    random, env = np.random.default_rng(seed), BufferEnv(scenario, interval=INTERVAL_PS / 1e12)
    mean, spread = np.zeros(4), np.array([2.0, 6.0, 6.0, 3.0])
    for generation in range(generations):
        seeds = [TRAINING_SEEDS[(generation * episodes + one) % len(TRAINING_SEEDS)] for one in range(episodes)]
        tried = mean + spread * random.standard_normal((candidates, 4))
        # The environment reuses the simulation of a seed, so the outer loop is over seeds.
        costs = np.mean([[episode(env, weights, one).summary[OBJECTIVE] for weights in tried] for one in seeds], axis=0)
        best = tried[np.argsort(costs, kind="stable")[: candidates // 4]]
        # A fifth of the old standard deviation of the weights remains, so that the search continues
        # after a generation of similar candidates.
        mean, spread = best.mean(axis=0), 0.8 * best.std(axis=0) + 0.2 * spread
        print(f"generation {generation + 1}: {np.min(costs):.3f} ms, weights {np.round(mean, 2)}")
    return mean


def tuned_alpha(scenario: Scenario, seeds: range = TRAINING_SEEDS) -> float:
    """The alpha of Dynamic Thresholds with the smallest mean query completion time on the training
    seeds."""
    variants = [f"dt(alpha={alpha})" for alpha in ALPHAS]
    grid = bufferlab.compare(scenario.set("seed", seeds.start), variants=variants, seeds=len(seeds))
    cells = zip(ALPHAS, (grid[OBJECTIVE][label].estimate for label in grid.policies), strict=True)
    means = {alpha: estimate.mean for alpha, estimate in cells if estimate is not None}
    return min(means, key=lambda alpha: means[alpha])


def judge(scenario: Scenario, weights: Array, alpha: float, seeds: range = UNSEEN_SEEDS) -> bufferlab.Comparison:
    """Compares tuned DT, DT, ABM and the learned rule on seeds that no search has used."""
    values = ", ".join(f"{name}={value!r}" for name, value in zip(("base", "busy", "length", "total"), weights.tolist()))
    variants = [f"tuned DT: dt(alpha={alpha})", "dt", "abm", f"learned: learned-alphas({values})"]
    return bufferlab.compare(scenario.set("seed", seeds.start), variants=variants, seeds=len(seeds))


def show(comparison: bufferlab.Comparison) -> None:
    """Prints the mean of every policy with its 95 % interval, and the change against tuned DT,
    paired by seed."""
    for metric in JUDGED:
        print(metric)
        for policy, cell in comparison[metric].items():
            print(f"  {policy:10}{cell.estimate!s:24}{'' if cell.change is None else cell.change}")


if __name__ == "__main__":
    scenario = traffic()
    alpha, weights = tuned_alpha(scenario), learn(scenario)
    print(f"alpha of tuned DT: {alpha:g}; weights: {weights.tolist()}")
    show(judge(scenario, weights, alpha))
