"""Several episodes of the learning environment that advance together."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bufferlab import ArgumentError, Scenario
from bufferlab.gym import BufferEnv, BufferVectorEnv, Interval

np = pytest.importorskip("numpy")


@pytest.fixture
def short() -> Scenario:
    """An incast scenario whose episodes have about 25 steps of 100 us."""
    return Scenario.from_file("scenarios/star-incast.toml", changes={"transport.0.min_rto": "1 ms"}, duration="2 ms", drain="1500 us")


def test_vector_episodes_are_those_of_single_environments(short: Scenario) -> None:
    envs = BufferVectorEnv(short, 3, interval="100 us")
    singles = [BufferEnv(short, interval="100 us") for _ in range(3)]
    observations, infos = envs.reset(seed=5)
    assert infos["seed"].tolist() == [5, 6, 7] and infos["time_ps"].tolist() == [0, 0, 0]
    for index, env in enumerate(singles):
        assert (env.reset(seed=5 + index)[0] == observations[index]).all()
    random, ended, ends = np.random.default_rng(1), [False] * 3, 0
    for _ in range(80):
        actions = random.uniform(-7, 4, envs.action_space.shape)
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        for index, env in enumerate(singles):
            if ended[index]:
                # The next episode of this number has the seed after those of all others.
                seen, reward, over, info = env.reset(seed=env._seed + 3)[0], 0.0, False, {"interval": None}
            else:
                seen, reward, over, _, info = env.step(actions[index])
            assert (seen == observations[index]).all()
            assert (reward, over) == (rewards[index], terminations[index])
            assert infos["interval"][index] == info["interval"]
            assert infos["_interval"][index] == (not ended[index])
            ended[index], ends = over, ends + over
    assert ends >= 3 and not truncations.any() and min(env._seed for env in envs.envs) >= 8


def test_vector_episodes_depend_on_the_seed_alone(short: Scenario) -> None:
    def rewards(envs: BufferVectorEnv, seed: int) -> list[list[float]]:
        envs.reset(seed=seed)
        return [envs.step(np.full(envs.action_space.shape, step % 5 - 3.0))[1].tolist() for step in range(60)]

    envs = BufferVectorEnv(short, 2, interval="100 us")
    first = rewards(envs, 1)
    assert first == rewards(envs, 1) == rewards(BufferVectorEnv(BufferEnv(short, interval="100 us"), 2), 1)
    assert first != rewards(envs, 2)


def test_the_environment_is_a_vector_environment_of_gymnasium(short: Scenario) -> None:
    vector = pytest.importorskip("gymnasium.vector")
    from gymnasium.vector.utils import batch_space
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    envs = BufferVectorEnv(short, 2, interval="100 us")
    assert isinstance(envs, vector.VectorEnv) and envs.metadata["autoreset_mode"] is vector.AutoresetMode.NEXT_STEP
    assert envs.observation_space == batch_space(envs.single_observation_space, 2)
    assert envs.action_space == batch_space(envs.single_action_space, 2)
    theirs = vector.SyncVectorEnv([lambda: BufferEnv(short, interval="100 us")] * 2)
    counted = RecordEpisodeStatistics(envs)
    ours = counted.reset(seed=3)[0]
    assert envs.observation_space.contains(ours) and (ours == theirs.reset(seed=3)[0]).all()
    envs.action_space.seed(1)
    returns = np.zeros(2)
    for _ in range(100):
        actions = envs.action_space.sample()
        seen, rewards, over, cut, infos = counted.step(actions)
        expected = theirs.step(actions)
        assert (seen == expected[0]).all() and (rewards == expected[1]).all()
        assert (over == expected[2]).all() and (cut == expected[3]).all()
        returns += rewards
        if over.any():
            break
    assert over.any()
    assert np.allclose(infos["episode"]["r"][over], returns[over])
    counted.close()
    assert envs.closed


def test_all_episodes_can_continue_from_one_state(short: Scenario) -> None:
    env = BufferEnv(short, interval="100 us")
    env.reset(seed=2)
    low, high = np.full(env.action_space.shape, -7.0), np.full(env.action_space.shape, 4.0)
    for _ in range(8):
        seen = env.step(high)[0]
    envs = BufferVectorEnv(env, 2)
    assert (envs.fork_from(env) == np.stack([seen, seen])).all()
    observations, rewards, *_ = envs.step(np.stack([high, low]))
    expected = env.fork().step(high)
    assert (observations[0] == expected[0]).all() and rewards[0] == expected[1]
    alone = env.step(low)
    assert (observations[1] == alone[0]).all() and rewards[1] == alone[1]


def test_some_episodes_can_begin_anew(short: Scenario) -> None:
    envs = BufferVectorEnv(short, 2, interval="100 us")
    envs.reset(seed=4)
    for _ in range(5):
        before = envs.step(np.zeros(envs.action_space.shape))[0]
    after, infos = envs.reset(seed=9, options={"reset_mask": np.array([False, True])})
    assert (after[0] == before[0]).all()
    assert infos["time_ps"].tolist() == [500_000_000, 0] and infos["seed"].tolist() == [4, 10]


def test_rewards_can_use_completion_times_of_queries(short: Scenario) -> None:
    def reward(interval: Interval) -> float:
        return -interval.query_time_s

    env = BufferEnv(short, interval="100 us", reward=reward)
    env.reset(seed=1)
    total, count, over = 0.0, 0, False
    while not over:
        _, got, over, _, info = env.step(np.zeros(env.action_space.shape))
        total, count = total + got, count + info["interval"].completed_queries
    times = [time for time in env.finish().queries["qct_ns"].to_pylist() if time is not None]
    assert count == len(times) > 2
    assert -total == pytest.approx(sum(times) / 1e9)


def test_wrong_arguments_are_named(short: Scenario) -> None:
    envs = BufferVectorEnv(short, 2, interval="100 us")
    envs.reset()
    with pytest.raises(ArgumentError, match="^num_envs"):
        BufferVectorEnv(short, 0)
    with pytest.raises(ArgumentError, match="^actions"):
        envs.step(np.zeros(3))
    with pytest.raises(ArgumentError, match="^seed"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(ArgumentError, match="^options"):
        envs.reset(options={"reset_mask": np.array([False, False])})
    with pytest.raises(ArgumentError, match="^env"):
        envs.fork_from(BufferEnv("first"))


def test_the_vector_environment_needs_no_gymnasium() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from bufferlab.gym import BufferVectorEnv\n"
        "envs = BufferVectorEnv('star-incast', 2)\n"
        "envs.reset(seed=1); envs.step(envs.action_space.sample()); envs.close()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
