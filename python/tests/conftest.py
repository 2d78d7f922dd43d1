"""What every test shares: the repository's root as the current folder, and small scenarios."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bufferlab import Scenario

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paths of scenarios are relative to the root."""
    monkeypatch.chdir(ROOT)
    yield


@pytest.fixture
def star() -> Scenario:
    """The smallest incast, for four milliseconds."""
    return Scenario.from_file("scenarios/star-incast.toml", duration="4 ms")


@pytest.fixture
def cli() -> Path:
    """The command line built from the same sources."""
    program = os.environ.get("BUFFERLAB_CLI")
    if program is None:
        pytest.skip("BUFFERLAB_CLI names no program: `cargo xtask python` sets it")
    return Path(program)
