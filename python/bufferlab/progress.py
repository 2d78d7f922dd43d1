"""How far runs have come: a bar on a terminal, or a function of the caller's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO, Union

from . import _arguments

__all__ = ["Progress", "ProgressOption"]


@dataclass(frozen=True)
class Progress:
    """How far runs have come."""

    done: float
    """Part of all work that is done, 0 to 1."""
    complete: int
    """Runs that are complete."""
    runs: int
    """Runs altogether."""
    packet_hops: int
    """Packets that have crossed a link so far, in all runs."""
    elapsed_seconds: float
    """Since the start (s)."""


ProgressOption = Union[bool, Callable[[Progress], object], None]
"""``True``: a bar on stderr; ``None``: the same if stderr is a terminal; a function: it is called some ten times a second."""


class _Bar:
    """One line that is drawn again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, progress: Progress) -> None:
        filled = int(30 * progress.done)
        rate = progress.packet_hops / max(progress.elapsed_seconds, 1e-3) / 1e6
        end = "\n" if progress.done >= 1.0 else ""
        self._stream.write(
            f"\r{'█' * filled}{'░' * (30 - filled)} {100 * progress.done:3.0f} %  "
            f"{progress.complete}/{progress.runs} runs  {rate:.1f} M packet-hops/s {end}"
        )
        self._stream.flush()


def relay(option: ProgressOption) -> Callable[[float, int, int, int], None] | None:
    """Receives the progress of runs: the sum of the fractions done, complete runs, packet-hops, runs. ``None`` if it is not wanted."""
    if option is not None and not callable(option):
        option = _arguments.instance("progress", option, bool, "True, False, None or a function")
    if option is None:
        option = sys.stderr is not None and sys.stderr.isatty()
    if option is False:
        return None
    listener: Callable[[Progress], object] = _Bar(sys.stderr) if option is True else option
    started = time.monotonic()

    def tell(done: float, complete: int, packet_hops: int, runs: int) -> None:
        if runs > 0:
            elapsed = time.monotonic() - started
            listener(Progress(min(done / runs, 1.0), complete, runs, packet_hops, elapsed))

    return tell
