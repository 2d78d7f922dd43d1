"""Progress of runs: a bar on a terminal, or calls of a function."""

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
    """Progress of the runs that one call of the package executes."""

    done: float
    """Finished fraction of all runs together, 0 to 1."""
    complete: int
    """Number of runs that are complete."""
    runs: int
    """Number of all runs that the call of the package executes."""
    packet_hops: int
    """Packet-hops of all runs so far: packets that crossed a link, once per link."""
    elapsed_seconds: float
    """Time since the start of the call that executes the runs (s)."""


ProgressOption = Union[bool, Callable[[Progress], object], None]
"""Kind of progress display: ``True`` is a bar on stderr, ``None`` is a bar if stderr is a terminal.

``False`` shows no progress. A function is called about ten times a second with a :class:`Progress`.
"""


class _Bar:
    """A progress bar that redraws one line of the terminal."""

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
    """Makes the callback that reports the progress of runs; returns ``None`` without progress.

    The arguments of the callback are the sum of the finished fractions,
    the number of complete runs, the packet-hops and the number of runs.
    """
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
