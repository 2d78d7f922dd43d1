"""Tests of interruptions: a signal to the calling process also ends its worker processes.

A policy may start inner runs. A signal during an inner run ends the inner run and the policy's run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

LONG = 'bufferlab.Scenario.from_file("scenarios/star-incast.toml", duration="10000 s")'

SPREAD = f"""
import sys
import bufferlab

if __name__ == "__main__":
    try:
        bufferlab.sweep({LONG}, {{"seed": [1, 2, 3, 4]}}, executor="processes", jobs=2, out=sys.argv[1], progress=False)
    except KeyboardInterrupt:
        sys.exit(42)
"""

NESTED = f"""
import sys
import bufferlab
from bufferlab import Policy, Verdict, register

long = {LONG}

@register
class Asks(Policy):
    name = "asks"
    def admit(self, arrival, buffer):
        print("inside", flush=True)
        bufferlab.run(long, progress=False)
        return Verdict.FULL

try:
    bufferlab.run(bufferlab.Scenario.from_file("scenarios/star-incast.toml", {{"switch.policy": "asks"}}), progress=False)
except KeyboardInterrupt:
    sys.exit(42)
"""

STUBBORN = """
import sys
from bufferlab import Policy, Verdict, register

@register
class Stubborn(Policy):
    name = "stubborn"
    def admit(self, arrival, buffer):
        while True:
            try:
                open(sys.argv[1] + "/inside", "w").close()
                while True:
                    pass
            except KeyboardInterrupt:
                pass
"""

SPREAD_STUBBORN = """
import sys
from stubborn import Stubborn
import bufferlab

if __name__ == "__main__":
    star = bufferlab.Scenario.from_file("scenarios/star-incast.toml")
    try:
        bufferlab.sweep(star, {"seed": [1]}, policies=[Stubborn], executor="processes", jobs=1, progress=False)
    except KeyboardInterrupt:
        sys.exit(42)
"""


def children(pid: int) -> list[int]:
    """The numbers of the child processes of the process ``pid``."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in listed.split()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(what: object, seconds: float = 60.0) -> None:
    assert callable(what)
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never began"
        time.sleep(0.05)


def test_a_signal_to_the_caller_alone_ends_its_processes(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SPREAD)
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    process = subprocess.Popen(
        [sys.executable, tmp_path / "main.py", tmp_path / "sweep"], env=environment, stderr=subprocess.PIPE, text=True
    )
    # Wait until each of two workers writes a run to a temporary folder.
    wait_for(lambda: len([path for path in (tmp_path / "temporary").rglob(".run.partial")]) == 2)
    workers = children(process.pid)
    started = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 42
    assert time.monotonic() - started < 10.0
    assert "Traceback" not in stderr
    assert len(workers) >= 2
    wait_for(lambda: not any(is_alive(worker) for worker in workers), 20.0)
    left = [path for path in (tmp_path / "temporary").iterdir() if path.name.startswith("bufferlab-")]
    assert not left, "the workers left their files behind"


def test_a_worker_that_does_not_heed_the_signal_is_ended(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN.replace("sys.argv[1]", repr(str(tmp_path))))
    (tmp_path / "main.py").write_text(SPREAD_STUBBORN)
    process = subprocess.Popen([sys.executable, tmp_path / "main.py"], stderr=subprocess.PIPE, text=True)
    wait_for((tmp_path / "inside").exists)
    started = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 42
    assert time.monotonic() - started < 15.0


def test_a_signal_during_a_run_inside_a_policy_ends_both(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(NESTED)
    process = subprocess.Popen([sys.executable, tmp_path / "main.py"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"inside\n"
    time.sleep(0.5)
    started = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 42
    process.stdout.close()
    assert time.monotonic() - started < 10.0
