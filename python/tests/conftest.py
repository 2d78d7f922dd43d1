"""Fixtures that several tests share: the repository as current folder, and small scenarios."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bufferlab import Scenario

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes the repository the current folder, because paths of scenarios are relative to it."""
    monkeypatch.chdir(ROOT)
    yield


@pytest.fixture
def star() -> Scenario:
    """The smallest incast scenario, with a duration of 4 ms."""
    return Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")


@pytest.fixture
def cli() -> Path:
    """Path of the command-line program, which must be built from the same sources."""
    program = os.environ.get("BUFFERLAB_CLI")
    if program is None:
        pytest.skip("BUFFERLAB_CLI names no program: `cargo xtask python` sets it")
    return Path(program)


@pytest.fixture
def as_program(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """Runs the Python text ``main`` as a program in a folder with a module ``own_module``; returns
    the words that the program prints."""

    def run(module: str, main: str) -> list[str]:
        (tmp_path / "own_module.py").write_text(module)
        (tmp_path / "main.py").write_text(main)
        done = subprocess.run([sys.executable, tmp_path / "main.py"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run
