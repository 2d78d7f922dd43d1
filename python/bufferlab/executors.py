"""Where runs are done: in this process, in processes of this machine, or wherever an executor puts them.

An executor is anything with ``submit(function, *arguments)`` that answers a future with ``result()``, ``cancel()`` and
``add_done_callback(function)``: those of :mod:`concurrent.futures`, and ``dask.distributed.Client`` with every deployment of Dask (local,
SLURM, Kubernetes, YARN).

What is sent is a :class:`Unit`: the resolved scenario with the files that it refers to, nothing of this machine. What comes back is the
content of the result's folder, so that no file system needs to be shared. A run depends on its unit alone, so the answer is the same wherever
it is done, and however often it is tried.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Union

from . import _arguments, _bufferlab, _own
from .exceptions import BufferlabError, RunError, ScenarioError
from .progress import ProgressOption, relay

__all__ = ["Executor", "ExecutorOption", "Future", "Unit", "run_unit"]


class Future(Protocol):
    """What will be there."""

    def result(self) -> Any:
        """The answer, or the exception that was raised."""

    def cancel(self) -> Any:
        """Its result is not needed any more."""

    def add_done_callback(self, fn: Callable[[Any], Any]) -> Any:
        """Tells when it is there, in whatever thread."""


class Executor(Protocol):
    """Does work somewhere."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Begins ``fn(*args)`` and answers a :class:`Future`."""


ExecutorOption = Union[Executor, Literal["threads", "processes"]]
"""``"threads"``: in this process, a thread per run, which the interpreter holds up only where an own policy or congestion control decides in Python; ``"processes"``: in processes of this machine, started
anew (a script then needs ``if __name__ == "__main__":``); or an executor of the caller's, who also closes it."""


@dataclass(frozen=True)
class Unit:
    """One run, with everything that it needs."""

    scenario: str
    """The resolved scenario."""
    inputs: tuple[tuple[str, bytes], ...]
    """Files that it refers to."""
    caveats: tuple[tuple[str, str, str], ...]
    """To be checked before trusting its numbers: id, message, advice."""
    verify: bool
    """Check every identity after every event."""
    own: bytes | None
    """Own policies, congestion controls and workloads that it names, packed."""
    version: tuple[str, str | None]
    """Version and source revision of the program that asks: another one might answer otherwise."""
    folder: str | None
    """Where the worker writes the result, if it sees the same file system."""
    variant: tuple[str, str] | None = None
    """What the run is called in a comparison and what that stands for, where it is not the policy's name."""

    def __repr__(self) -> str:
        return f"Unit({self.scenario[:40]!r}…)"


def run_unit(unit: Unit, attempt: int = 0) -> list[tuple[str, bytes]] | None:
    """Does a run where it is called: the files of its folder, or ``None`` if it wrote them where they belong.

    ``attempt`` tells repetitions apart for executors that remember answers (and failures) by their arguments.
    """
    with _desk(unit) as (desk, loaded):
        folder = Path(unit.folder) if unit.folder is not None else desk / "run"
        [error] = _bufferlab.execute([(loaded, folder, list(unit.caveats))], 1, unit.verify, None)
        if error is not None:
            raise error
        if unit.folder is not None:
            return None
        return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


def take_unit(unit: Unit, wanted: str, attempt: int = 0) -> bytes:
    """Does a run where it is called, and answers what is ``wanted`` of its tables, which do not travel."""
    with _desk(unit) as (desk, loaded):
        return bytes(_bufferlab.take(loaded, wanted, desk / "run"))


@contextmanager
def _desk(unit: Unit) -> Iterator[tuple[Path, _bufferlab.Loaded]]:
    """A folder with the unit's files, gone afterwards, and its scenario, read there."""
    if unit.version != _bufferlab.version():
        raise BufferlabError(
            f"a worker has bufferlab {_version_in_words(_bufferlab.version())}, the work was given out by {_version_in_words(unit.version)}",
            "install the same wheel on every worker",
        )
    _own.unpack(unit.own)
    with tempfile.TemporaryDirectory(prefix="bufferlab-") as name:
        desk = Path(name)
        for file, content in unit.inputs:
            (desk / file).write_bytes(content)
        loaded = _bufferlab.load(desk / "scenario.toml", unit.scenario, [])
        yield desk, loaded if unit.variant is None else loaded.as_variant(*unit.variant)


def _version_in_words(version: tuple[str, str | None]) -> str:
    number, revision = version
    return number if revision is None else f"{number} ({revision})"


class _Processes:
    """Processes of this machine. When one dies, the pool of the standard library is lost as a whole: the next submission makes a new one."""

    #: How long an interrupted worker may take to end its run and to remove its files (s); a class in Python may never return.
    GRACE = 2.0

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # Not forked: a copy of a process with threads is no sound process.
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, mp_context=spawn, initializer=_heed_interruptions)

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        with self._lock:
            try:
                return self._pool.submit(_interruptible, fn, *args)
            except BrokenExecutor:
                self._pool.shutdown(wait=False)
                self._pool = self._new()
                return self._pool.submit(_interruptible, fn, *args)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def abort(self) -> None:
        """Ends the runs under way. Whoever interrupts this process alone has not interrupted its workers."""
        # The list that the pool keeps is gone as soon as it shuts down.
        workers = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            _interrupt(worker)
        deadline = time.monotonic() + self.GRACE
        for worker in workers:
            worker.join(max(deadline - time.monotonic(), 0.0))
        for worker in workers:
            if worker.is_alive():
                worker.kill()
        self._pool.shutdown(wait=True)


def _interrupt(worker: Any) -> None:
    """Ctrl-C for one process; where there is no such signal, its end."""
    try:
        if sys.platform == "win32":
            worker.terminate()
        else:
            os.kill(worker.pid, signal.SIGINT)
    except (OSError, TypeError):
        # It has ended by itself, or has not begun.
        pass


_is_busy = False
"""Whether this worker does a run: only then an interruption is raised."""
_is_interrupted = False
"""Whether this worker was interrupted: it begins no other run, although some are in its queue."""


def _heed_interruptions() -> None:
    """An idle worker ends with its pool; an interruption would end it with a traceback."""

    def interrupt(number: int, frame: object) -> None:
        global _is_interrupted
        _is_interrupted = True
        if _is_busy:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def _interruptible(fn: Callable[..., Any], *args: Any) -> Any:
    """Does work that an interruption ends, in a worker."""
    global _is_busy
    _is_busy = True
    try:
        if _is_interrupted:
            raise KeyboardInterrupt
        return fn(*args)
    finally:
        _is_busy = False


def told(error: BaseException) -> str:
    """What befell a run, in a line."""
    return error.message if isinstance(error, BufferlabError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class How:
    """How several runs are done: the arguments that `compare`, `repeat`, `sweep` and `reproduce` share, checked."""

    seeds: int
    out: Path | None
    replace: bool
    executor: ExecutorOption
    jobs: int | None
    verify: bool
    retries: int
    shared: bool
    tell: Callable[[float, int, int, int], None] | None
    """Receives the progress."""

    @classmethod
    def checked(
        cls,
        *,
        seeds: int = 1,
        out: str | os.PathLike[str] | None = None,
        replace: bool = False,
        executor: ExecutorOption = "threads",
        jobs: int | None = None,
        verify: bool = False,
        retries: int = 2,
        shared: bool = False,
        progress: ProgressOption = None,
    ) -> How:
        """The arguments as they are used.

        Raises
        ------
        ArgumentError
            If one of them is wrong.
        """
        return cls(
            seeds=_arguments.whole("seeds", seeds, least=1, most=_U32_MAX),
            out=_arguments.optional_path("out", out),
            replace=_arguments.flag("replace", replace),
            executor=_executor(executor),
            jobs=_arguments.optional_whole("jobs", jobs, least=1, most=JOBS_MAX),
            verify=_arguments.flag("verify", verify),
            retries=_arguments.whole("retries", retries, most=_U32_MAX),
            shared=_arguments.flag("shared", shared),
            tell=relay(progress),
        )


_U32_MAX = (1 << 32) - 1

JOBS_MAX = 4096
"""Most runs at the same time in one process or in processes of one machine."""


def _executor(option: Any) -> ExecutorOption:
    """A place where runs are done.

    Raises
    ------
    ArgumentError
        If it is neither a known word nor an object with ``submit``.
    """
    if isinstance(option, str):
        if option in ("threads", "processes"):
            return option  # type: ignore[return-value]
        near = _bufferlab.suggestion(option, ["threads", "processes"])
        help = "Ray, joblib and others need an adapter: any object with `submit` that answers futures is an executor"
        raise _arguments.refuse(
            "executor", option, '"threads", "processes" or an object with `submit`', help if near is None else f'did you mean "{near}"?'
        )
    if isinstance(option, type) or not callable(getattr(option, "submit", None)):
        raise _arguments.refuse("executor", option, '"threads", "processes" or an object with `submit`')
    executor: Executor = option
    return executor


@contextmanager
def _opened(how: How) -> Iterator[Executor]:
    """The executor itself; one that was made here is closed, at once if something is raised."""
    if not isinstance(how.executor, str):
        yield how.executor
        return
    # More processes than one machine can start are of no use to it.
    workers = how.jobs if how.jobs is None or sys.platform != "win32" else min(how.jobs, 61)
    processes = _Processes(workers)
    try:
        yield processes
    except BaseException:
        processes.abort()
        raise
    processes.close()


def carry_out(jobs: Sequence[_bufferlab._Job], how: How) -> list[BaseException | None]:
    """Does all jobs and puts their results into their folders as they come; what befell each, in their order.

    A run whose scenario is at fault fails for good. Anything else (a worker that died, a disk that was full) is tried again up to ``retries``
    times.
    """
    if how.executor == "threads":
        return list(_bufferlab.execute(list(jobs), how.jobs or 0, how.verify, how.tell))
    version = _bufferlab.version()

    def unit(index: int) -> tuple[Unit]:
        loaded, folder, caveats = jobs[index]
        shown = os.path.abspath(folder) if how.shared else None
        return (_unit(loaded, caveats, how.verify, version, shown),)

    def store(index: int, files: list[tuple[str, bytes]] | None) -> None:
        if files is not None:
            _bufferlab.store(jobs[index][1], files)

    with _opened(how) as opened:
        return _Courier(opened, run_unit, len(jobs), unit, store, how.retries, how.tell).deliver()


def take_elsewhere(
    jobs: Sequence[tuple[_bufferlab.Loaded, str]], keep: Callable[[int, bytes], None], how: How
) -> list[BaseException | None]:
    """Does runs of which only some numbers are wanted, and keeps those as they come; what befell each, in their order."""
    version = _bufferlab.version()

    def unit(index: int) -> tuple[Unit, str]:
        loaded, wanted = jobs[index]
        return _unit(loaded, (), False, version, None), wanted

    with _opened(how) as opened:
        return _Courier(opened, take_unit, len(jobs), unit, keep, how.retries, how.tell).deliver()


def _unit(
    loaded: _bufferlab.Loaded,
    caveats: Sequence[tuple[str, str, str]],
    verify: bool,
    version: tuple[str, str | None],
    folder: str | None,
) -> Unit:
    return Unit(
        scenario=loaded.resolved,
        inputs=tuple(loaded.inputs),
        caveats=tuple(caveats),
        verify=verify,
        own=_own.pack(loaded),
        version=version,
        folder=folder,
        variant=loaded.variant,
    )


class _Courier:
    """Keeps an executor busy and brings the results home."""

    #: Units that are under way at a time: enough for a large cluster, and few enough results in memory.
    WINDOW = 1024

    def __init__(
        self,
        executor: Executor,
        work: Callable[..., Any],
        count: int,
        arguments: Callable[[int], tuple[Any, ...]],
        store: Callable[[int, Any], None],
        retries: int,
        tell: Callable[[float, int, int, int], None] | None,
    ) -> None:
        """``work`` is called elsewhere with the ``arguments`` of an index and the number of the attempt; ``store`` gets what it answered."""
        self._executor = executor
        self._work = work
        self._count = count
        self._arguments = arguments
        self._store = store
        self._retries = retries
        self._tell = tell
        self._arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._under_way: dict[int, Any] = {}
        self._attempts = [0] * count
        self._outcomes: list[BaseException | None] = [None] * count

    def deliver(self) -> list[BaseException | None]:
        waiting = list(reversed(range(self._count)))
        complete = 0
        try:
            while waiting or self._under_way:
                while waiting and len(self._under_way) < self.WINDOW:
                    self._send(waiting.pop())
                try:
                    # With a time limit, so that Ctrl-C is handled.
                    index = self._arrived.get(timeout=0.2)
                except queue.Empty:
                    continue
                error = self._receive(index)
                if error is not None and self._is_worth_a_retry(index, error):
                    self._attempts[index] += 1
                    waiting.append(index)
                    continue
                self._outcomes[index] = error
                complete += 1
                if self._tell is not None:
                    self._tell(float(complete), complete, 0, self._count)
        except BaseException:
            for future in self._under_way.values():
                future.cancel()
            raise
        return self._outcomes

    def _send(self, index: int) -> None:
        try:
            future = self._executor.submit(self._work, *self._arguments(index), self._attempts[index])
        except Exception as error:
            # An executor that takes nothing more: the units that it has may still arrive.
            self._under_way[index] = _Failed(error)
            self._arrived.put(index)
            return
        self._under_way[index] = future
        future.add_done_callback(lambda _: self._arrived.put(index))

    def _receive(self, index: int) -> BaseException | None:
        """Puts a result into its place, and forgets the future, so that its memory can go."""
        future = self._under_way.pop(index)
        try:
            self._store(index, future.result())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # `CancelledError` is no `Exception`, and a scheduler may cancel what we did not.
            return error
        return None

    def _is_worth_a_retry(self, index: int, error: BaseException) -> bool:
        hopeless = isinstance(error, (ScenarioError, RunError))
        return not hopeless and self._attempts[index] < self._retries


class _Failed:
    """A future of what could not even begin."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error

    def cancel(self) -> None:
        """There is nothing to cancel."""
