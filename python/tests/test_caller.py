"""Tests that errors name the line of the user's code that called the package."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bufferlab
from bufferlab import BufferlabError, Scenario
from bufferlab._caller import caller_in


class Failing(bufferlab.Policy):
    name = "failing-for-callers"

    def admit(self, arrival: bufferlab.Arrival, buffer: bufferlab.Buffer) -> bufferlab.Verdict:
        raise ValueError("on purpose")


def line() -> int:
    """Number of the line that calls this function."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def caught(call: Callable[[], Any]) -> BufferlabError:
    with pytest.raises(BufferlabError) as caught:
        call()
    return caught.value


MISTAKES: dict[str, Callable[[Scenario, Path], Any]] = {
    "argument": lambda star, folder: bufferlab.repeat(star, seeds=-1),
    "name": lambda star, folder: bufferlab.policy_info("amb"),
    "scenario": lambda star, folder: star.set("switch.bufer", 3).check(),
    "variant": lambda star, folder: bufferlab.compare(star, variants=["dt(alfa=1)"]),
    "run": lambda star, folder: bufferlab.run(star.set("switch.buffer", "1 B")),
    "policy": lambda star, folder: bufferlab.run(star, variant=Failing),
    "threads": lambda star, folder: bufferlab.repeat(star.set("switch.policy", Failing), seeds=2),
    "sweep": lambda star, folder: bufferlab.sweep(star, {"switch.buffer": ["1 MB"]}, variants=[Failing]),
    "folder": lambda star, folder: bufferlab.Run(folder),
    "simulation": lambda star, folder: bufferlab.Simulation(star).queues("nobody"),
    "theory": lambda star, folder: bufferlab.theory.headroom(rate="1 parsec", cable=1),
    "extension": lambda star, folder: bufferlab.Weight("x"),  # type: ignore[arg-type]
    "iterator": lambda star, folder: list(map(bufferlab.policy_info, ["amb"])),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_names_the_line_of_the_call(name: str, star: Scenario, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    error = caught(lambda: mistake(star, tmp_path))
    place = f"{mistake.__code__.co_filename}:{mistake.__code__.co_firstlineno}"
    assert error.caller == place
    assert place not in str(error), "the line is a note, not a part of the message"
    if sys.version_info >= (3, 11):
        assert traceback.format_exception(error)[-1] == f"called at {place}\n"
        error.add_note("a note of the user")
        assert error.__notes__ == [f"called at {place}", "a note of the user"]


MAIN = """import bufferlab
from own_module import Failing

if __name__ == "__main__":
    try:
        bufferlab.repeat("star-incast", seeds=1)
        scenario = bufferlab.Scenario.from_file("star-incast").set("switch.policy", Failing)
        bufferlab.repeat(scenario, seeds=1, executor="processes", jobs=1)
    except bufferlab.PolicyError as error:
        print(error.caller)
"""


def test_an_error_of_a_worker_names_the_call_in_this_process(as_program: Callable[[str, str], list[str]]) -> None:
    own = f"import bufferlab\n\n{inspect.getsource(Failing)}"
    [place] = as_program(own, MAIN)
    assert Path(place).name == "main.py:8"


def mistaken() -> None:
    bufferlab.policy_info("amb")


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_error_of_an_executor_is_never_blamed_on_a_library(pool: Any) -> None:
    how: dict[str, Any] = {} if pool is ThreadPoolExecutor else {"mp_context": multiprocessing.get_context("spawn")}
    with pool(1, **how) as executor:
        future = executor.submit(bufferlab.policy_info, "amb")
        before = line()
        with pytest.raises(bufferlab.UnknownNameError) as failed:
            future.result()
    assert failed.value.caller == f"{__file__}:{before + 2}"


def test_a_copy_of_an_error_keeps_the_line_and_the_notes() -> None:
    error = caught(mistaken)
    error.__notes__.append("a note of the user")
    place = f"{__file__}:{mistaken.__code__.co_firstlineno + 1}"
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert (twin.caller, str(twin), twin.args) == (place, str(error), error.args)
        assert sorted(twin.__notes__) == ["a note of the user", f"called at {place}"]


def test_the_innermost_call_counts(star: Scenario) -> None:
    def progress(_: bufferlab.Progress) -> None:
        mistaken()

    error = caught(lambda: bufferlab.run(star, progress=progress))
    assert error.caller == f"{__file__}:{mistaken.__code__.co_firstlineno + 1}"


def test_an_error_that_was_not_raised_has_no_line() -> None:
    error = bufferlab.RunError("nothing happened")
    assert error.caller is None and error.__notes__ == [] and caller_in(None) is None


def test_the_command_has_no_caller(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "bufferlab", "run", "nothing.toml"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "called at" not in done.stderr


def test_a_notebook_names_the_cell() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    try:
        done = shell.run_cell("import bufferlab\n\nbufferlab.policy_info('amb')", store_history=True)
        assert isinstance(done.error_in_exec, BufferlabError)
        assert done.error_in_exec.caller == "Cell In[1], line 3"
    finally:
        type(shell).clear_instance()
