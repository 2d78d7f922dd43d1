"""Finds the line of the user's code that called the package."""

from __future__ import annotations

import functools
import sys
import sysconfig
from pathlib import Path
from types import FrameType, TracebackType

__all__ = ["caller_in", "outside"]

_PACKAGES = tuple(f"{Path(__file__).parent}{ending}" for ending in ("/", "\\", "_cli/", "_cli\\"))
"""Beginnings of the paths of the package's modules."""


def _is_inside(file: str) -> bool:
    """Whether a file belongs to the package."""
    return file.startswith(_PACKAGES)


_EXECUTORS = frozenset(("dask", "distributed", "joblib", "ray"))
"""Libraries that call functions on behalf of a user."""


@functools.cache
def _is_library(file: str) -> bool:
    """Whether a file belongs to Python itself or to an executor, and so not to a user."""
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return not _EXECUTORS.isdisjoint(parts[parts.index(folder) + 1 :][:1])
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return file.startswith(("<frozen ", *library))


def caller_in(traceback: TracebackType | None) -> str | None:
    """Returns the place of the call of the package that a traceback passes through last.

    The place is ``file:line``, or the cell and line of a notebook. The result is ``None`` if no
    code of a user made the call.
    """
    places: list[tuple[str, int]] = []
    while traceback is not None:
        places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    # The extension module has no frames, so without a call of the package's Python code the last
    # frame is the caller.
    last = len(places) - 1
    for index in range(last, 0, -1):
        if _is_inside(places[index][0]) and not _is_inside(places[index - 1][0]):
            last = index - 1
            break
    for file, line in reversed(places[: last + 1]):
        if not _is_inside(file) and not _is_library(file):
            return _shown(file, line)
    return None


def _shown(file: str, line: int) -> str:
    """Formats a place; IPython knows the number of a notebook's cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return f"{file}:{line}" if name is None else f"{' '.join(name)}, line {line}"


def outside() -> int:
    """Returns the ``stacklevel`` with which a warning of the function that calls ``outside`` points
    to the code that called the package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level
