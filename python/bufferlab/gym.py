"""An environment for reinforcement learning: actions are alphas, observations are lengths and
rates.

The environment has the interface of Gymnasium, and is a ``gymnasium.Env`` if Gymnasium is
installed. Without Gymnasium, its spaces are small stand-ins. NumPy is needed.

>>> from bufferlab.gym import BufferEnv
>>> env = BufferEnv("star-incast", interval="10 us")
>>> observation, info = env.reset(seed=3)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> observation.shape == env.observation_space.shape
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arguments
from .runs import Run
from .scenario import ScenarioLike, as_scenario
from .simulation import Simulation, numpy_module, picoseconds

if TYPE_CHECKING:
    import numpy

    _Base = object
else:
    try:
        from gymnasium import Env as _Base
    except ImportError:
        _Base = object

__all__ = ["Box", "BufferEnv", "Interval"]

ALPHA_LOG2 = (-7.0, 4.0)
"""Smallest and largest action: the logarithm to base 2 of alpha."""

RATE_MAX = 2.0
"""Largest value of a rate in an observation. The bytes of a packet count when its transmission
starts, so the rate of a short interval can be above 1."""


class Box:
    """A replacement for ``gymnasium.spaces.Box`` with the part that an agent needs."""

    def __init__(self, low: float, high: float, shape: tuple[int, ...], seed: int | None = None) -> None:
        np = numpy_module()
        self.shape = shape
        self.dtype = np.dtype(np.float32)
        self.low = np.full(shape, low, dtype=np.float32)
        self.high = np.full(shape, high, dtype=np.float32)
        self._random = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"Box({self.low.min()}, {self.high.max()}, {self.shape})"

    def seed(self, seed: int | None = None) -> None:
        """Sets the seed of :meth:`sample`."""
        self._random = numpy_module().random.default_rng(seed)

    def sample(self) -> numpy.ndarray[Any, Any]:
        """Draws a random element of the box."""
        drawn: numpy.ndarray[Any, Any] = self._random.uniform(self.low, self.high).astype(self.dtype)
        return drawn

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is an element of this box."""
        np = numpy_module()
        given = np.asarray(value)
        return given.shape == self.shape and bool(np.all((given >= self.low) & (given <= self.high)))


def _box(low: float, high: float, shape: tuple[int, ...]) -> Any:
    try:
        from gymnasium import spaces
    except ImportError:
        return Box(low, high, shape)
    np = numpy_module()
    return spaces.Box(low=low, high=high, shape=shape, dtype=np.float32)


class Interval(NamedTuple):
    """Events at the switch between two actions of the agent, for a custom reward."""

    sent_bytes: int
    """Bytes that the ports sent in the interval."""
    capacity_bytes: float
    """Bytes that the ports could have sent in the interval."""
    arrived_packets: int
    """Packets that arrived at the switch in the interval."""
    lost_packets: int
    """Packets that the switch refused or evicted in the interval."""
    marked_packets: int
    """Packets that the switch marked in the interval."""
    occupancy_bytes: int
    """Bytes in the buffer at the end of the interval."""
    completed_queries: int = 0
    """Queries of the whole network that completed in the interval."""
    query_time_s: float = 0.0
    """Sum of the completion times of these queries (s)."""


def throughput_without_losses(interval: Interval) -> float:
    """The default reward of an interval. The reward is the used fraction of the ports' capacity,
    minus the lost fraction of the arrived packets."""
    lost = interval.lost_packets / interval.arrived_packets if interval.arrived_packets else 0.0
    return interval.sent_bytes / interval.capacity_bytes - lost


_Step = tuple["numpy.ndarray[Any, Any]", float, bool, bool, dict[str, Any]]


class BufferEnv(_Base):  # type: ignore[misc, unused-ignore]
    """Dynamic Thresholds of one switch, whose alphas an agent sets at fixed intervals.

    An action is an array of float32: the logarithm to base 2 of alpha, between -7 and 4, for each
    port or queue. An observation is an array of float32: the length of each queue as a fraction of
    the buffer, then the rate of each port in the last interval as a fraction of its line rate. An
    episode ends with the run (``terminated``). Equal seeds and actions give equal episodes.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, the path of a file, or a dictionary. The scenario's policy decides
        until the first action. The switch must be lossy.
    interval
        Simulated time between two actions of the agent.
    switch
        Name or number of the switch whose alphas the agent sets.
    per
        Whether an action has an alpha for each ``"port"`` or for each ``"queue"``.
    reward
        A function of an :class:`Interval`; by default :func:`throughput_without_losses`.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        interval: str | float = "10 us",
        switch: int | str = 0,
        per: Literal["port", "queue"] = "port",
        reward: Callable[[Interval], float] = throughput_without_losses,
    ) -> None:
        self._scenario = as_scenario(scenario)
        self._interval = picoseconds("interval", interval)
        if self._interval == 0:
            raise _arguments.refuse("interval", interval, "a time above 0")
        if not isinstance(per, str) or per not in ("port", "queue"):
            raise _arguments.refuse("per", per, '"port" or "queue"')
        if not callable(reward):
            raise _arguments.refuse("reward", reward, "a function of an Interval")
        self._reward = reward
        self._np = numpy_module()
        self._seed = self._next_seed = self._scenario.seed
        self._started: tuple[int, Simulation] | None = None
        self._simulation: Simulation | None = None
        first = self._initial(self._seed)
        self._switch = first._switch(switch)
        state = first.switches[self._switch]
        self._ports, self._queues = state.ports, state.ports * state.queues_per_port
        actions = self._ports if per == "port" else self._queues
        self._repeat = self._queues // actions
        self.action_space = _box(*ALPHA_LOG2, (actions,))
        self.observation_space = _box(0.0, RATE_MAX, (self._queues + self._ports,))
        self._interval_bytes = sum(first._run.port_rates(self._switch)) * self._interval / 8e12

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[numpy.ndarray[Any, Any], dict[str, Any]]:
        """Begins an episode. Without ``seed``, the first episode has the scenario's seed, and every
        later episode has the previous seed plus 1.
        """
        self._seed = self._next_seed if seed is None else _arguments.whole("seed", seed)
        self._next_seed = self._seed + 1
        if _Base is not object:
            super().reset(seed=seed)  # type: ignore[misc, unused-ignore]
        self._simulation = self._initial(self._seed).fork()
        self._next = self._interval
        run = self._simulation._run
        self._ledger = run.ledger(self._switch)
        _, seen, *_ = run.act(self._switch, None, 1, 0, self._interval, self._ledger)
        return self._observation(seen), {"time_ps": 0, "seed": self._seed}

    def step(self, action: Any) -> _Step:
        """Sets the alphas of the switch, and advances the simulation by one interval."""
        simulation, np = self._running(), self._np
        try:
            given = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != self.action_space.shape:
            raise _arguments.refuse("action", action, f"an array of {self.action_space.shape[0]} numbers")
        run = simulation._run
        self._ledger, seen, change, is_over = run.act(
            self._switch, given.tobytes(), self._repeat, self._next, self._interval, self._ledger
        )
        self._next += self._interval
        sent, arrived, _, lost, marked, queries, query_ns, occupancy, now = change
        interval = Interval(sent, self._interval_bytes, arrived, lost, marked, occupancy, queries, query_ns / 1e9)
        info = {"time_ps": now, "interval": interval}
        return self._observation(seen), float(self._reward(interval)), is_over, False, info

    def fork(self) -> BufferEnv:
        """Returns a copy of the environment in its current state: equal actions then have equal
        outcomes. So several environments can begin from one state."""
        copy: BufferEnv = BufferEnv.__new__(BufferEnv)
        copy.__dict__.update(self.__dict__)
        copy._simulation = self._running().fork()
        return copy

    def finish(self) -> Run:
        """Runs the episode to its end with the last alphas, and returns the finished run."""
        simulation = self._running()
        self._simulation = None
        return simulation.finish()

    def render(self) -> None:
        """Does nothing, because the environment draws no picture."""

    def close(self) -> None:
        """Frees the memory of the environment's simulations."""
        self._simulation = self._started = None

    def __reduce__(self) -> Any:
        raise _arguments.not_copied("BufferEnv", "take a copy with fork(), or create one in each process")

    def _running(self) -> Simulation:
        if self._simulation is None:
            raise _arguments.refuse("", self, "an environment that was reset", "call reset() first")
        return self._simulation

    def _initial(self, seed: int) -> Simulation:
        """The simulation at its start. Episodes with one seed share this simulation."""
        if self._started is None or self._started[0] != seed:
            self._started = (seed, Simulation(self._scenario, seed=seed))
        return self._started[1]

    def _observation(self, seen: bytes) -> numpy.ndarray[Any, Any]:
        """Copies the observation to memory that the agent may change."""
        observed: numpy.ndarray[Any, Any] = self._np.frombuffer(bytearray(seen), dtype=self._np.float32)
        return observed
