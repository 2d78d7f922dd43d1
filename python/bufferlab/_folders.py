"""Folders of results: temporary folders, which are removed, and folders of pickled objects."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from .exceptions import ResultsError

__all__ = ["BYTES_MAX", "Parcel", "TemporaryFolder"]

BYTES_MAX = 256 << 20
"""Size of the largest temporary folder that is pickled (bytes). Pickling needs twice the size in
memory."""


class TemporaryFolder:
    """A folder that is removed when the last reference to this object is gone.

    A failed removal raises no error, unlike with ``tempfile.TemporaryDirectory``.
    """

    __slots__ = ("__weakref__", "path")

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="bufferlab-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)


class Parcel:
    """The result folder of an object that is pickled or copied.

    If the caller chose the folder, the pickle has the folder's absolute path. The other process
    must be able to read this path. The pickle of a temporary folder has the folder's content,
    because the folder is removed when its process ends. A copy within one process shares the
    folder.
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
        """Whether the result folder can be pickled. A temporary folder must be small enough."""
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
    """Size of all files below a folder together (bytes)."""
    return sum(path.stat().st_size for path in _files(folder))


def _pack(folder: Path) -> list[tuple[str, bytes]]:
    """The relative path and the content of every file below a folder.

    Raises
    ------
    ResultsError
        If the folder does not exist, or is larger than :data:`BYTES_MAX`.
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
    """Writes files into a new temporary folder of this process."""
    keep = TemporaryFolder()
    for place, content in files:
        path = keep.path / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Parcel(keep.path / name, keep)
