"""Executes runs: in this process, in other processes of this machine, or on an executor.

An executor is any object with ``submit(function, *arguments)`` that returns a future
with ``result()``, ``cancel()`` and ``add_done_callback(function)``.
Examples are the executors of :mod:`concurrent.futures`, and ``dask.distributed.Client``
with every deployment of Dask (local, SLURM, Kubernetes, YARN).

A worker receives a :class:`Unit`, which is independent of the caller's machine: the resolved
scenario with its files.
The worker returns the content of the result folder, so no shared file system is necessary.
A run depends only on the inputs in its unit, so every worker and every retry gives an equal result.
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

from . import _arguments, _bufferlab, _custom
from .exceptions import BufferlabError, RunError, ScenarioError
from .progress import ProgressOption, relay

__all__ = ["Executor", "ExecutorOption", "Future", "Unit", "run_unit"]


class Future(Protocol):
    """The result of a call that an executor runs, perhaps available only later."""

    def result(self) -> Any:
        """Waits for the result and returns it, or raises the exception of the call."""

    def cancel(self) -> Any:
        """Cancels the submitted call, whose result is no longer needed."""

    def add_done_callback(self, fn: Callable[[Any], Any]) -> Any:
        """Calls ``fn`` with the future when the result is available, in any thread."""


class Executor(Protocol):
    """An object that executes calls, possibly on other machines."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Starts ``fn(*args)`` and returns a :class:`Future`."""


ExecutorOption = Union[Executor, Literal["threads", "processes"]]
"""The place where runs execute: ``"threads"``, ``"processes"`` or an executor.

``"threads"`` means the caller's process, with one thread per run. Threads wait for the interpreter
only for the decisions of custom classes in Python.
``"processes"`` means new processes of the caller's machine. A script then needs ``if __name__ ==
"__main__":``. The caller of the package creates and closes an executor.
"""


@dataclass(frozen=True)
class Unit:
    """One run for a worker, with all inputs of the run."""

    scenario: str
    """The resolved scenario of the run, as text."""
    inputs: tuple[tuple[str, bytes], ...]
    """Names and contents of the files to which the scenario refers."""
    caveats: tuple[tuple[str, str, str], ...]
    """Caveats about the run's numbers: id, message, and advice to the user."""
    verify: bool
    """Whether the run checks every conservation identity after every event."""
    own: bytes | None
    """Pickled custom classes that the scenario names."""
    version: tuple[str, str | None]
    """Version and source revision of the caller; a worker of another version refuses the unit."""
    folder: str | None
    """Folder in which the worker writes the result; ``None`` without a shared file system."""
    variant: tuple[str, str] | None = None
    """Label of the variant in a comparison, and its text; ``None`` for a plain policy."""

    def __repr__(self) -> str:
        return f"Unit({self.scenario[:40]!r}…)"


def run_unit(unit: Unit, attempt: int = 0) -> list[tuple[str, bytes]] | None:
    """Executes a run on a worker and returns its files.

    Returns ``None`` if the worker wrote the files to ``unit.folder``.

    The argument ``attempt`` differs between attempts, because some executors cache results and
    failures by argument.
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
    """Executes a run on a worker and returns only the numbers (as JSON) that ``wanted`` selects."""
    with _desk(unit) as (desk, loaded):
        return bytes(_bufferlab.take(loaded, wanted, desk / "run"))


@contextmanager
def _desk(unit: Unit) -> Iterator[tuple[Path, _bufferlab.Loaded]]:
    """Unpacks a unit (a run's inputs) into a temporary folder; yields the folder and the loaded
    scenario."""
    if unit.version != _bufferlab.version():
        raise BufferlabError(
            f"a worker has bufferlab {_version_in_words(_bufferlab.version())}, the work was given out by {_version_in_words(unit.version)}",
            "install the same wheel on every worker",
        )
    _custom.unpack(unit.own)
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
    """A pool of processes on this machine.

    When one process dies, the whole pool of the standard library is unusable. The next submission
    therefore makes a new pool.
    """

    #: Time in which an interrupted worker must end its run and remove its files (s).
    #: A slower worker is killed, because a custom class may never return.
    GRACE = 2.0

    def __init__(self, workers: int | None) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # Spawn processes, because forking a process with threads is not safe.
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
        """Ends active runs, because a signal to this process alone does not reach the workers."""
        # The pool deletes its list of processes at shutdown.
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
    """Sends Ctrl-C to a process; terminates the process on Windows, which lacks this signal."""
    try:
        if sys.platform == "win32":
            worker.terminate()
        else:
            os.kill(worker.pid, signal.SIGINT)
    except (OSError, TypeError):
        # The process has already ended, or has not started yet.
        pass


_is_busy = False
"""Whether this worker executes a run. Between runs, an interruption raises no exception."""
_is_interrupted = False
"""Whether this worker was interrupted. An interrupted worker refuses all queued runs."""


def _heed_interruptions() -> None:
    """Installs a signal handler that raises only while a run executes.

    An idle worker ends with its pool. An exception in an idle worker would only print a traceback.
    """

    def interrupt(number: int, frame: object) -> None:
        global _is_interrupted
        _is_interrupted = True
        if _is_busy:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def _interruptible(fn: Callable[..., Any], *args: Any) -> Any:
    """Executes a call in a worker in such a way that Ctrl-C interrupts the call."""
    global _is_busy
    _is_busy = True
    try:
        if _is_interrupted:
            raise KeyboardInterrupt
        return fn(*args)
    finally:
        _is_busy = False


def told(error: BaseException) -> str:
    """Describes in one line why a run failed."""
    return error.message if isinstance(error, BufferlabError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class How:
    """The checked arguments that the calls `compare`, `repeat`, `sweep` and `reproduce` share."""

    seeds: int
    out: Path | None
    replace: bool
    executor: ExecutorOption
    jobs: int | None
    verify: bool
    retries: int
    shared: bool
    tell: Callable[[float, int, int, int], None] | None
    """Function that receives the progress of the runs; ``None`` without progress."""

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
        """Checks the arguments that the calls `compare`, `repeat`, `sweep` and `reproduce` share.

        Raises
        ------
        ArgumentError
            If an argument of the call is wrong.
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
"""Maximum number of parallel runs on one machine."""


def _executor(option: Any) -> ExecutorOption:
    """Checks the argument ``executor``.

    Raises
    ------
    ArgumentError
        If the argument is neither a known word nor an object with the method ``submit``.
    """
    if isinstance(option, str):
        if option in ("threads", "processes"):
            return option  # type: ignore[return-value]
        near = _bufferlab.suggestion(option, ["threads", "processes"])
        help = "Ray, joblib and others need an adapter: an executor is any object with `submit` that returns futures"
        raise _arguments.refuse(
            "executor", option, '"threads", "processes" or an object with `submit`', help if near is None else f'did you mean "{near}"?'
        )
    if isinstance(option, type) or not callable(getattr(option, "submit", None)):
        raise _arguments.refuse("executor", option, '"threads", "processes" or an object with `submit`')
    executor: Executor = option
    return executor


@contextmanager
def _opened(how: How) -> Iterator[Executor]:
    """Yields the executor of runs; creates and closes a pool of processes if necessary."""
    if not isinstance(how.executor, str):
        yield how.executor
        return
    # Windows supports at most 61 processes per pool.
    workers = how.jobs if how.jobs is None or sys.platform != "win32" else min(how.jobs, 61)
    processes = _Processes(workers)
    try:
        yield processes
    except BaseException:
        processes.abort()
        raise
    processes.close()


def carry_out(jobs: Sequence[_bufferlab._Job], how: How) -> list[BaseException | None]:
    """Executes all runs and stores the result files of each run when the files arrive.

    Returns the error of each run, or ``None``, in the order of the runs. Errors of the scenario or
    of the simulation are not retried. After other failures, such as a dead worker or a full disk, a
    run is retried up to ``retries`` times.
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
    """Executes runs on workers that return only some numbers; ``keep`` receives the numbers of each
    run.

    Returns the error of each run, or ``None``, in the order of the runs.
    """
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
        own=_custom.pack(loaded),
        version=version,
        folder=folder,
        variant=loaded.variant,
    )


class _Courier:
    """Submits runs to an executor, stores the results of the runs, and retries failed runs."""

    #: Maximum number of submitted runs: enough for a large cluster, and the results fit in memory.
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
        """Prepares the submission of ``count`` runs to the executor.

        A worker calls ``work`` with the ``arguments`` of the run and the number of the attempt.
        Then this process calls ``store`` with the index of the run and the result.
        """
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
                    # The wait for results of workers has a time limit, so that Python handles
                    # Ctrl-C.
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
            # The executor accepts no more runs, but results of earlier runs may still arrive.
            self._under_way[index] = _Failed(error)
            self._arrived.put(index)
            return
        self._under_way[index] = future
        future.add_done_callback(lambda _: self._arrived.put(index))

    def _receive(self, index: int) -> BaseException | None:
        """Stores the result of a run and deletes its future, to release memory."""
        future = self._under_way.pop(index)
        try:
            self._store(index, future.result())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # `CancelledError` is not an `Exception`. A scheduler may cancel runs without a request
            # of the caller.
            if isinstance(error, BufferlabError):
                error._forget_caller()
            return error
        return None

    def _is_worth_a_retry(self, index: int, error: BaseException) -> bool:
        hopeless = isinstance(error, (ScenarioError, RunError))
        return not hopeless and self._attempts[index] < self._retries


class _Failed:
    """The future of a call that could not be submitted to the executor."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error

    def cancel(self) -> None:
        """Does nothing, because the executor never accepted the call."""
