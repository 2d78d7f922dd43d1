"""Reproductions: the command line's folder and verdicts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bufferlab import ResultsError, experiments, reproduce

from .folders import files


def test_every_experiment_has_a_figure_and_a_title() -> None:
    known = experiments()
    assert len(known) > 20
    assert all(one.figure and one.title for one in known.values())


def test_an_analytical_figure_has_the_files_of_the_command_line(cli: Path, tmp_path: Path) -> None:
    [one] = reproduce("abm/fig4", out=tmp_path / "python")
    assert one.failures == ()
    command = [str(cli), "reproduce", "abm/fig4", "--out", str(tmp_path / "command")]
    subprocess.run(command, check=True, capture_output=True)
    there = tmp_path / "command" / one.folder.relative_to(tmp_path / "python")
    assert files(one.folder) == files(there)
    assert (one.folder / "figure.html").is_file()


def test_what_is_no_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="abm/fig99"):
        reproduce("abm/fig99", out=tmp_path)
    with pytest.raises(TypeError, match="names of experiments"):
        reproduce()
