"""Temporary folders: they are removed with the last object that refers to them, or with the interpreter."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["TemporaryFolder"]


class TemporaryFolder:
    """A folder that is removed when the last reference to this object is gone. Silently, unlike ``tempfile.TemporaryDirectory``."""

    __slots__ = ("__weakref__", "path")

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="bufferlab-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)
