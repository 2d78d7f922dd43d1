"""Tests of the scenarios that the package contains."""

from __future__ import annotations

from pathlib import Path

import pytest

import bufferlab
from bufferlab import ResultsError, Scenario, scenarios

REPOSITORY = Path("scenarios")


def test_they_are_those_of_the_repository_that_need_nothing_else(tmp_path: Path) -> None:
    found = scenarios(tmp_path / "mine")
    assert sorted(found) == sorted(path.stem for path in REPOSITORY.glob("*.toml") if not path.stem.startswith("artifact-"))
    for path in (tmp_path / "mine").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (REPOSITORY / path.relative_to(tmp_path / "mine")).read_bytes()


def test_all_of_them_load_from_wherever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, path in scenarios().items():
        assert Scenario.from_file(path).name == name


def test_they_stay_where_they_are_until_the_interpreter_ends() -> None:
    assert scenarios() == scenarios()
    assert bufferlab.run(Scenario.from_file(scenarios()["star-incast"], duration="4 ms"), progress=False).flows.num_rows > 0


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match="cannot make"):
        scenarios(tmp_path / "file")
