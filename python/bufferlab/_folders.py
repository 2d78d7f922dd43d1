"""Folders of results: temporary ones, which are removed with their last object, and how a folder reaches another process."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from .exceptions import ResultsError

__all__ = ["BYTES_MAX", "Parcel", "TemporaryFolder"]

BYTES_MAX = 256 << 20
"""Most bytes of a temporary folder that a pickled object carries; the copy is in memory twice while it is made."""


class TemporaryFolder:
    """A folder that is removed when the last reference to this object is gone. Silently, unlike ``tempfile.TemporaryDirectory``."""

    __slots__ = ("__weakref__", "path")

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="bufferlab-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)


class Parcel:
    """A folder in the state of an object that is pickled or copied.

    A folder that the caller chose is named by its absolute path: another process must see it there. The content of a temporary folder travels
    along, because the folder ends with the process that made it. A copy within one process shares the folder.
    """

    __slots__ = ("keep", "path")

    def __init__(self, path: Path, keep: TemporaryFolder | None) -> None:
        self.path = path
        self.keep = keep

    def __copy__(self) -> Parcel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Parcel:
        return self

    def fits(self) -> bool:
        """Whether the folder can travel: it is not temporary, or not too large."""
        try:
            return self.keep is None or _size(self.path) <= BYTES_MAX
        except OSError:
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        if self.keep is None:
            return (Parcel, (self.path.absolute(), None))
        return (_unpack, (self.path.name, _pack(self.path)))


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in _files(folder))


def _pack(folder: Path) -> list[tuple[str, bytes]]:
    """Every file below a folder: its path there, its content.

    Raises
    ------
    ResultsError
        If the folder is gone, or has more than :data:`BYTES_MAX`.
    """
    try:
        size = _size(folder)
        if size > BYTES_MAX:
            raise ResultsError(
                f"{folder} is temporary and has {size >> 20} MiB, and a pickled object carries at most {BYTES_MAX >> 20} MiB of results",
                "keep the results in a folder that both processes see, with `out`, or return the numbers that you need; "
                "`compare`, `repeat` and `sweep` send runs elsewhere with `executor`",
            )
        content = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in _files(folder)]
    except OSError as error:
        raise ResultsError(f"{error.filename}: {error.strerror}", "run the scenario again") from error
    if not content:
        raise ResultsError(f"{folder} has no results to pickle", "run the scenario again")
    return content


def _unpack(name: str, files: list[tuple[str, bytes]]) -> Parcel:
    """A temporary folder of this process with the content of another one."""
    keep = TemporaryFolder()
    for place, content in files:
        path = keep.path / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Parcel(keep.path / name, keep)
