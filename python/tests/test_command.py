"""The command ``bufferlab`` that the package installs is the program ``bufferlab``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import time
from importlib import metadata
from pathlib import Path

import pytest

COMMAND = Path(sysconfig.get_path("scripts")) / "bufferlab"


def execute(program: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["compare", "--help"],
        ["compere"],
        ["run", "missing.toml"],
        ["policy", "show", "dt"],
        ["theory", "burst", "--help"],
        ["check", "scenarios/star-incast.toml"],
    ],
    ids=" ".join,
)
def test_the_command_prints_what_the_program_prints(cli: Path, words: list[str]) -> None:
    command, program = execute(COMMAND, *words), execute(cli, *words)
    assert (command.returncode, command.stdout, command.stderr) == (program.returncode, program.stdout, program.stderr)


def test_the_command_needs_neither_the_repository_nor_cargo(tmp_path: Path) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    words = ["compare", "first", "--policies", "dt,cs", "--seeds", "1", "--set", "duration=5 ms"]
    environment = {"PATH": str(COMMAND.parent)}
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=place, env=environment)
    assert done.returncode == 0, done.stderr
    assert (place / "results" / "first-compare" / "report.html").is_file()


def test_the_command_does_not_import_pyarrow() -> None:
    program = "import sys, bufferlab_cli as cli\nsys.argv = ['bufferlab', 'policy', 'list']\ncode = cli.main()\nassert code == 0 and 'pyarrow' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 20


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_command_as_it_ends_the_program(tmp_path: Path) -> None:
    words = ["run", "first", "--set", "duration=1000 s", "--out", str(tmp_path / "run")]
    with subprocess.Popen([COMMAND, *words], stderr=subprocess.PIPE, text=True) as command:
        # The temporary folder of the run exists as soon as the command handles Ctrl-C.
        for _ in range(600):
            if any(tmp_path.iterdir()) or command.poll() is not None:
                break
            time.sleep(0.05)
        time.sleep(0.5)
        command.send_signal(signal.SIGINT)
        _, told = command.communicate(timeout=60)
    assert command.returncode == 130, told
    assert "interrupted" in told and "Traceback" not in told
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")
def test_ctrl_c_ends_a_command_without_runs_at_once() -> None:
    with subprocess.Popen([COMMAND, "check", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        time.sleep(1.5)
        command.send_signal(signal.SIGINT)
        assert command.wait(timeout=60) == -signal.SIGINT


def test_the_package_has_the_notices_of_its_libraries() -> None:
    files = metadata.files("bufferlab") or []
    names = {Path(str(file)).name: file for file in files if "licenses" in Path(str(file)).parts}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"} <= names.keys()
    text = Path(str(names["THIRD-PARTY.txt"].locate())).read_text(encoding="utf-8")
    for library in ("pyo3", "parquet", "clap", "resvg"):
        assert f"\n{library} " in text
    about = metadata.metadata("bufferlab")
    assert about["Author"] == "The bufferlab maintainers" and "PFC" in about["Keywords"]
