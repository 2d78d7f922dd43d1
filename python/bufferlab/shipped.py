"""The scenarios that come with the package: an installed wheel has no clone beside it."""

from __future__ import annotations

import os
from pathlib import Path

from . import _arguments, _bufferlab
from ._folders import TemporaryFolder

__all__ = ["scenarios"]

_unpacked: tuple[TemporaryFolder, dict[str, Path]] | None = None
"""Where they are while the interpreter runs, once they were asked for."""


def scenarios(folder: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """The scenarios that come with the package, as files by name: to run, to read, or to build on with ``extends``.

    Each of them opens with what it shows. They are the same as in the folder ``scenarios`` of the repository, with the files that they name beside them; those
    that replay reference data (``artifact-…``) need the repository and are left out.

    Parameters
    ----------
    folder
        Where to write them, for you to keep and change; files of the same name there are replaced. Without it they lie in a temporary folder as long as the
        interpreter runs.

    Raises
    ------
    ResultsError
        If the folder cannot be written.

    Examples
    --------
    >>> from bufferlab import Scenario, run, scenarios
    >>> star = scenarios()["star-incast"]
    >>> run(Scenario.from_file(star, duration="4 ms")).flows.num_rows > 0
    True
    >>> Scenario({"extends": str(star), "name": "mine", "switch": {"policy": "cs"}}).name
    'mine'
    """
    global _unpacked
    if folder is not None:
        return _unpack(_arguments.path("folder", folder, "the path of a folder"))
    if _unpacked is None:
        temporary = TemporaryFolder()
        _unpacked = temporary, _unpack(temporary.path)
    return dict(_unpacked[1])


def _unpack(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(_bufferlab.unpack_scenarios(folder))}
