"""The scenarios in the Python package, for users without a clone of the repository."""

from __future__ import annotations

import os
from pathlib import Path

from . import _arguments, _bufferlab
from ._folders import TemporaryFolder

__all__ = ["scenarios"]

_unpacked: tuple[TemporaryFolder, dict[str, Path]] | None = None
"""The temporary folder with the scenarios, created when first needed and kept until exit."""


def scenarios(folder: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """The files of the scenarios in the package, by name.

    A user can run these scenarios, read them, or extend them with ``extends``. Each file begins
    with a description of its scenario. The files are copies of the folder ``scenarios`` of the
    repository, with the files that the scenarios need. Scenarios that replay reference data
    (``artifact-…``) need the repository and are not included.

    Parameters
    ----------
    folder
        Folder to which the scenarios are written, for a user who keeps or changes them. Files with
        equal names are replaced. By default, the scenarios are in a temporary folder until the
        interpreter exits.

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
