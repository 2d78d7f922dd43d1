"""An environment for reinforcement learning: actions are alphas, observations are lengths and
rates.

The environment has the interface of Gymnasium, and is a ``gymnasium.Env`` if Gymnasium is
installed. Without Gymnasium, small replacements define its spaces. The environment needs NumPy.

>>> from bufferlab.gym import BufferEnv
>>> env = BufferEnv("star-incast", interval="10 us")
>>> observation, info = env.reset(seed=3)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> observation.shape == env.observation_space.shape
True

:class:`BufferVectorEnv` advances several episodes together.

>>> from bufferlab.gym import BufferVectorEnv
>>> envs = BufferVectorEnv("star-incast", 3, interval="10 us")
>>> observations, infos = envs.reset(seed=3)
>>> observations.shape == envs.observation_space.shape, infos["seed"].tolist()
(True, [3, 4, 5])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arguments
from .runs import Run
from .scenario import ScenarioLike, as_scenario
from .simulation import Simulation, numpy_module, picoseconds

if TYPE_CHECKING:
    import numpy

    _Base = object
    _VectorBase = object
else:
    try:
        from gymnasium import Env as _Base
        from gymnasium.vector import VectorEnv as _VectorBase
    except ImportError:
        _Base = _VectorBase = object

__all__ = ["Box", "BufferEnv", "BufferVectorEnv", "Interval"]

ALPHA_LOG2 = (-7.0, 4.0)
"""Smallest and largest action of an agent: the logarithm to base 2 of alpha."""

RATE_MAX = 2.0
"""Largest value of a rate in an observation. The bytes of a packet count when its transmission
starts, so the rate of a short interval can be above 1."""


class Box:
    """A replacement for ``gymnasium.spaces.Box`` with only the methods that an agent needs."""

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
        """Draws a random array within the bounds of the box."""
        drawn: numpy.ndarray[Any, Any] = self._random.uniform(self.low, self.high).astype(self.dtype)
        return drawn

    def contains(self, value: Any) -> bool:
        """Whether ``value`` is an array within the bounds of the box."""
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


def _autoreset() -> Any:
    """The mode of the automatic reset: in the step after the end of an episode."""
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError:
        return "NextStep"
    return AutoresetMode.NEXT_STEP


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
    minus the fraction of arrived packets that the switch lost."""
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
        self._time = 0
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
        self._time = now
        return self._observation(seen), float(self._reward(interval)), is_over, False, info

    def fork(self) -> BufferEnv:
        """Returns a copy of the environment in its current state: equal actions then have equal
        outcomes. Several environments can begin from one state."""
        copy: BufferEnv = BufferEnv.__new__(BufferEnv)
        copy.__dict__.update(self.__dict__)
        copy._simulation = self._running().fork()
        return copy

    def _another(self) -> BufferEnv:
        """Returns an environment of equal scenario and options, before its first episode. Both
        share the simulation at its start."""
        copy: BufferEnv = BufferEnv.__new__(BufferEnv)
        copy.__dict__.update(self.__dict__)
        copy._simulation = None
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
        self._seen = seen
        return observed


_Batch = tuple[
    "numpy.ndarray[Any, Any]", "numpy.ndarray[Any, Any]", "numpy.ndarray[Any, Any]", "numpy.ndarray[Any, Any]", dict[str, Any]
]


class BufferVectorEnv(_VectorBase):  # type: ignore[misc, unused-ignore]
    """Several episodes of a :class:`BufferEnv` that advance together.

    The class is a ``gymnasium.vector.VectorEnv`` if Gymnasium is installed. An episode that has
    ended begins anew in the next step, with reward 0. Equal seeds and actions give equal episodes:
    episode ``i`` has the seed ``seed + i``, and the next episode of this number has a seed that is
    larger by ``num_envs``.

    Parameters
    ----------
    scenario
        A scenario with the options of :class:`BufferEnv`, or a :class:`BufferEnv`.
    num_envs
        Number of episodes that advance together.
    options
        The keyword arguments of :class:`BufferEnv`.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": _autoreset()}

    def __init__(self, scenario: ScenarioLike | BufferEnv, num_envs: int, **options: Any) -> None:
        np = self._np = numpy_module()
        self.num_envs = _arguments.whole("num_envs", num_envs, least=1)
        if isinstance(scenario, BufferEnv):
            if options:
                raise _arguments.refuse("options", options, "no options beside a BufferEnv, which has its own")
            first = scenario
        else:
            first = BufferEnv(scenario, **options)
        self.envs = tuple(first._another() for _ in range(self.num_envs))
        self.single_action_space = first.action_space
        self.single_observation_space = first.observation_space
        actions, observations = first.action_space.shape[0], first.observation_space.shape[0]
        self.action_space = _box(*ALPHA_LOG2, (self.num_envs, actions))
        self.observation_space = _box(0.0, RATE_MAX, (self.num_envs, observations))
        self._next_seeds = [first._next_seed + index for index in range(self.num_envs)]
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._observations: numpy.ndarray[Any, Any] = np.zeros(self.observation_space.shape, dtype=np.float32)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[numpy.ndarray[Any, Any], dict[str, Any]]:
        """Begins all episodes, or those of ``options["reset_mask"]``.

        Without ``seed``, the first episodes have the scenario's seed and the following seeds.
        """
        np, count = self._np, self.num_envs
        if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
            if len(seed) != count:
                raise _arguments.refuse("seed", seed, f"a seed, or {count} seeds")
            given = [None if one is None else _arguments.whole("seed", one) for one in seed]
            seeds = [next if one is None else one for one, next in zip(given, self._next_seeds)]
        elif seed is None:
            seeds = self._next_seeds
        else:
            first = _arguments.whole("seed", seed)
            seeds = [first + index for index in range(count)]
        if _VectorBase is not object:
            super().reset(seed=seed if isinstance(seed, int) else None)  # type: ignore[misc, unused-ignore]
        mask = np.ones(count, dtype=np.bool_) if options is None else np.asarray(options.get("reset_mask", [True] * count))
        if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
            raise _arguments.refuse("options", options, f'"reset_mask" with {count} truth values, one of them true')
        observations = np.zeros(self.observation_space.shape, dtype=np.float32)
        for index in np.flatnonzero(mask):
            observations[index] = self._begin(index, seeds[index])
        kept = np.flatnonzero(~mask)
        if len(kept):
            observations[kept] = self._observations[kept]
        self._ended[mask] = False
        self._observations = observations
        return observations.copy(), {**self._times(mask), "seed": np.array([env._seed for env in self.envs]), "_seed": mask.copy()}

    def step(self, actions: Any) -> _Batch:
        """Advances every episode by one interval. An episode that ended in the last step begins
        anew instead."""
        np = self._np
        try:
            given = np.asarray(actions, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != self.action_space.shape:
            count, size = self.action_space.shape
            raise _arguments.refuse("actions", actions, f"an array of {count} times {size} numbers")
        observations = np.empty(self.observation_space.shape, dtype=np.float32)
        rewards = np.zeros(self.num_envs)
        ended = np.zeros(self.num_envs, dtype=np.bool_)
        intervals = np.full(self.num_envs, None, dtype=object)
        for index, env in enumerate(self.envs):
            if self._ended[index]:
                observations[index] = self._begin(index, self._next_seeds[index])
                continue
            observations[index], rewards[index], ended[index], _, info = env.step(given[index])
            intervals[index] = info["interval"]
        infos = {**self._times(np.ones_like(ended)), "interval": intervals, "_interval": ~self._ended}
        self._ended, self._observations = ended, observations
        return observations.copy(), rewards, ended.copy(), np.zeros_like(ended), infos

    def fork_from(self, env: BufferEnv) -> numpy.ndarray[Any, Any]:
        """Continues every episode from a copy of the state of ``env``, and returns the
        observations. So an agent can try several actions in one state."""
        if not isinstance(env, BufferEnv):
            raise _arguments.refuse("env", env, "a BufferEnv that was reset")
        if (env.action_space.shape, env.observation_space.shape) != (
            self.single_action_space.shape,
            self.single_observation_space.shape,
        ):
            raise _arguments.refuse("env", env, "a BufferEnv with the spaces of this environment")
        self.envs = tuple(env.fork() for _ in range(self.num_envs))
        self._ended[:] = False
        self._observations = self._np.repeat(env._observation(env._seen)[None], self.num_envs, axis=0)
        observations: numpy.ndarray[Any, Any] = self._observations.copy()
        return observations

    def close(self, **_: Any) -> None:
        """Frees the memory of all simulations."""
        for env in self.envs:
            env.close()
        self.closed = True

    def __reduce__(self) -> Any:
        raise _arguments.not_copied("BufferVectorEnv", "create one in each process")

    def _begin(self, index: int, seed: int) -> numpy.ndarray[Any, Any]:
        self._next_seeds[index] = seed + self.num_envs
        return self.envs[index].reset(seed=seed)[0]

    def _times(self, mask: numpy.ndarray[Any, Any]) -> dict[str, Any]:
        np = self._np
        return {"time_ps": np.array([env._time for env in self.envs], dtype=np.int64), "_time_ps": mask.copy()}
