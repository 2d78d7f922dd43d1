"""Tests that results for SONiC configurations equal the results of the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bufferlab import ArgumentError, ConfigurationError, sonic

ROOT = Path(__file__).parents[2]
SWITCH = ROOT / "testdata" / "sonic" / "switch"


def command_line(*args: str) -> str:
    program = os.environ.get("BUFFERLAB_CLI")
    if program is None:
        pytest.skip("BUFFERLAB_CLI names no program")
    return subprocess.run([program, "sonic", *args], capture_output=True, text=True, check=True).stdout


def test_both_front_ends_say_the_same() -> None:
    switch = sonic.read(SWITCH, chip="trident3")
    args = (str(SWITCH), "--chip", "trident3")
    assert switch.problems == ()
    assert str(switch.explain()) == command_line("explain", *args)
    assert str(switch.predict()) == command_line("predict", *args)
    assert str(switch.vectors()) == command_line("vectors", *args)
    assert switch.vectors().qos_params == command_line("vectors", *args, "--format", "yaml")
    found = json.loads(command_line("lint", *args, "--format", "json", "--fail-on", "never"))
    assert [dict(finding.plain) for finding in switch.lint()] == found


def test_findings_have_a_rule_a_place_and_a_message(tmp_path: Path) -> None:
    for file in SWITCH.iterdir():
        text = file.read_text().replace('"static_th": "4000000" },\n        "egress_lossy', '"static_th": "900000" },\n        "egress_lossy')
        (tmp_path / file.name).write_text(text)
    switch = sonic.read(tmp_path, chip="trident3")
    errors = {finding.rule for finding in switch.lint() if finding.severity == "error"}
    assert "SB009" in errors
    finding = next(finding for finding in switch.lint() if finding.rule == "SB009")
    assert finding.message and finding.name == "lossless-egress-binds"
    assert str(finding.place["file"]).endswith("buffers.json") and finding.place["line"] > 0
    with pytest.raises(ConfigurationError, match="SB999"):
        switch.lint(allow={"SB999": "no such rule"})


def test_a_what_if_ends_in_a_recommendation_and_a_scenario_to_keep(tmp_path: Path) -> None:
    switch = sonic.read(SWITCH, chip="trident3")
    plan = switch.what_if(duration="200 us", request="200 KB", fan_in=2)
    assert plan.choices[0].label == "today" and 'request = "200000 B"' in plan.scenario
    answer = plan.run(seeds=2, out=tmp_path, jobs=2)
    assert answer.choice in {choice.label for choice in plan.choices} | {"none"}
    assert answer.reasons and answer.caveats and "recommendation: " in str(answer)
    assert answer.comparison.policies[0] == "today" and len(answer.comparison.seeds) == 2
    assert (tmp_path / "what-if.toml").read_text() == plan.scenario
    assert plan.run(seeds=2).choice == answer.choice


def changed(folder: Path) -> sonic.Configuration:
    """The SONiC configuration with a shorter cable and twice the alpha of lossy queues."""
    for file in SWITCH.iterdir():
        (folder / file.name).write_text(file.read_text().replace('"300m"', '"40m"'))
    return sonic.read(folder, chip="trident3")


def test_a_difference_is_that_of_the_command_line(tmp_path: Path) -> None:
    switch, other = sonic.read(SWITCH, chip="trident3"), changed(tmp_path)
    difference = switch.diff(other)
    assert str(difference) == command_line("diff", str(SWITCH), str(tmp_path), "--chip", "trident3")
    assert difference.plain["changes"] and not difference.new_errors
    assert switch.diff(switch).plain["changes"] == []


def test_a_leaf_spine_has_the_switch_at_every_place() -> None:
    switch = sonic.read(SWITCH, chip="trident3")
    plan = switch.what_if(leaves=2)
    assert 'switches = ["leaf0", "leaf1", "spine0"]' in plan.scenario
    assert any("2 leaves and a spine" in note for note in plan.notes)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Redis server with the switch's configuration in the database CONFIG_DB."""
    server, client = shutil.which("redis-server"), shutil.which("redis-cli")
    if server is None or client is None:
        pytest.skip("redis-server or redis-cli is not installed")
    socket = tmp_path / "redis.sock"
    command = [server, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 10
            while not socket.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            for name in ("buffers.json", "qos.json"):
                for table, entries in json.loads((SWITCH / name).read_text()).items():
                    for key, fields in entries.items():
                        words = [word for pair in fields.items() for word in pair]
                        subprocess.run(
                            [client, "-s", str(socket), "-n", "4", "HSET", f"{table}|{key}", *words],
                            check=True,
                            stdout=subprocess.DEVNULL,
                        )
            yield str(socket)
        finally:
            process.terminate()


def test_a_tuner_watches_what_can_be_tuned_and_puts_it_back(redis: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal.json"
    with sonic.Tuner(redis, up=1, down=2, faults=2, journal=journal) as tuner:
        profile = next(profile for profile in tuner.profiles if profile.name == "egress_lossy_profile")
        assert profile.applied == profile.configured
        assert profile.bounds == (profile.configured - 2, profile.configured + 1)
        # If the database COUNTERS_DB has no names of queues, the tuner reports a fault.
        assert [event["event"] for event in tuner.step(1.0)] == ["fault"] and not tuner.must_end
        assert tuner.step(2.0)[0]["in_a_row"] == 2 and tuner.must_end
    assert not journal.exists()


def test_a_search_by_probes_ends_at_the_point_of_the_vectors() -> None:
    switch = sonic.read(SWITCH, chip="tomahawk5")
    probe = switch.probe("pfc_xoff")
    unseen, seen = 0, 100_000
    while seen - unseen > 1:
        middle = (unseen + seen) // 2
        probe.prepare(0, 1)
        success, detected = probe.check(0, 1, middle, attempts=2, pg=3)
        assert success
        unseen, seen = (unseen, middle) if detected else (middle, seen)
    point = next(group["pause"] for group in switch.vectors().groups if group["ports"][0] == "Ethernet0")
    assert abs(seen - point["formula"]) <= 1
    resume = switch.probe("pfc_xon")
    assert resume.check(0, 1, point["formula"], pg=3, dst_port_b=2) == (True, True)
    probe.persist(1, 2, point["formula"], pg=3)  # a port of the same slice
    assert probe.check(0, 1, point["formula"], pg=3) == (True, True)  # the pool is smaller now
    probe.drain()
    assert probe.check(0, 1, point["formula"] - 3, pg=3) == (True, False)
    with pytest.raises(ConfigurationError, match="no port 9"):
        probe.prepare(0, 9)


def test_executors_of_the_guide_share_one_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the code in docs/how-to/operators.md, and probes a headroom pool, one group after
    another."""
    registered: dict[str, Callable[..., Any]] = {}

    class ExecutorRegistry:
        @staticmethod
        def register(kind: str, env: str, scenario: str) -> Callable[[type], type]:
            assert (env, scenario) == ("sim", "bufferlab")

            def keep(executor: type) -> type:
                registered[kind] = executor
                return executor

            return keep

    class BufferOccupancyController:
        def persist_buffer_occupancy(self, src_port_id: int, dst_port_id: int, count: int, **traffic_keys: int) -> None:
            raise AssertionError("it is replaced")

    modules = {"executor_registry": ExecutorRegistry, "buffer_occupancy_controller": BufferOccupancyController}
    for name, exported in modules.items():
        module = types.ModuleType(name)
        setattr(module, exported.__name__, exported)
        monkeypatch.setitem(sys.modules, name, module)
    guide = (ROOT / "docs" / "how-to" / "operators.md").read_text(encoding="utf-8")
    snippet = next(block.split("```")[0] for block in guide.split("```python\n")[1:] if "ExecutorRegistry" in block)
    monkeypatch.chdir(ROOT)
    exec(compile(snippet, "operators.md", "exec"), {})
    pause, loss = (registered[kind](observer=None, name="n", ptftest=None) for kind in ("pfc_xoff", "ingress_drop"))
    pause.prepare(0, 1)
    assert pause.check(0, 1, 4116, pg=3) == (True, False) and pause.check(0, 1, 4117, pg=3) == (True, True)
    assert loss.check(0, 1, 4469, pg=3) == (True, False) and loss.check(0, 1, 4470, pg=3) == (True, True)
    BufferOccupancyController().persist_buffer_occupancy(0, 1, 4470, pg=3)
    loss.prepare(2, 1)
    assert pause.check(2, 1, 3000, pg=3) == (True, True)  # the first group is persistent for every executor


def test_mistakes_are_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{ "BUFFER_POOL": ')
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: sonic.read(tmp_path / "broken.json"), "broken.json"),
        (lambda: sonic.read(tmp_path / "missing.json"), "missing.json"),
        (lambda: sonic.read(), "nothing to read"),
        (lambda: sonic.read(redis="127.0.0.1:1"), "CONFIG_DB"),
        (lambda: sonic.read(SWITCH).predict(), "chip is not known"),
        (lambda: sonic.read(SWITCH, chip="trident3").what_if(fan_in=9), "fan-in of 9"),
        (lambda: sonic.read(SWITCH, chip="trident3").what_if(leaves=3), "3 leaves"),
        (lambda: sonic.Tuner("127.0.0.1:1"), "CONFIG_DB"),
    ]
    for call, part in mistakes:
        with pytest.raises(ConfigurationError, match=part) as raised:
            call()
        assert raised.value.help


def test_unknown_traffic_is_a_wrong_argument() -> None:
    with pytest.raises(ArgumentError, match=r'traffic is .insast. .*\nhelp: did you mean "incast"'):
        sonic.read(SWITCH, chip="trident3").what_if(traffic="insast")
