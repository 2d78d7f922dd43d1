"""Figures and tables of the papers, repeated, and the verdicts on their statements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import _arguments, _bufferlab
from ._folders import TemporaryFolder
from .exceptions import ArgumentError
from .executors import ExecutorOption, How, take_elsewhere, told
from .progress import ProgressOption

__all__ = ["Experiment", "JudgedClaim", "Reproduction", "experiments", "reproduce"]


@dataclass(frozen=True)
class Experiment:
    """A figure or table that can be repeated."""

    name: str
    """Such as ``abm/fig6``."""
    figure: str
    """What the paper calls it."""
    title: str
    """What it shows."""
    claims: tuple[str, ...]
    """Numbers of the statements that it judges."""


@dataclass(frozen=True)
class JudgedClaim:
    """The verdict on a statement."""

    claim: str
    """Its number."""
    verdict: str
    """``STRONG``, ``PASS``, ``PARTIAL``, ``NULL``, ``FAIL``, ``NOT-CHECKABLE`` or ``NOT-RUN``."""
    measured: str
    """What was measured."""
    note: str | None
    """What to know."""


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was repeated."""

    name: str
    """Such as ``abm/fig6``."""
    figure: str
    """What the paper calls it."""
    title: str
    """What it shows."""
    folder: Path
    """Where ``figure.html``, the panels and ``values.csv`` are."""
    verdicts: tuple[JudgedClaim, ...]
    """The verdicts on the statements."""
    failures: tuple[str, ...]
    """Runs that failed, and why."""


_U32_MAX = (1 << 32) - 1


def experiments() -> dict[str, Experiment]:
    """What can be repeated, by name.

    >>> from bufferlab import experiments
    >>> experiments()["abm/fig6"].figure
    'Fig. 6'
    """
    desk = TemporaryFolder()
    found = (Experiment(name, figure, title, tuple(claims)) for name, figure, title, claims in _bufferlab.experiments(desk.path))
    return {one.name: one for one in found}


def reproduce(
    *names: str,
    out: str | os.PathLike[str] = "results/reproduce",
    scale: Literal["quick", "paper"] = "quick",
    profile: Literal["paper", "artifact"] | None = None,
    seeds: int | None = None,
    registry: str | os.PathLike[str] | None = None,
    first_seed: int = 0,
    executor: ExecutorOption = "threads",
    jobs: int | None = None,
    retries: int = 2,
    progress: ProgressOption = None,
) -> list[Reproduction]:
    """Repeats figures and tables of the papers, and judges their statements, as ``bufferlab reproduce`` does.

    Parameters
    ----------
    names
        Experiments (``"abm/fig6"``), papers (``"tdt"``), or ``"all"``.
    out
        Folder of the results; what is there already is not run again.
    scale
        ``"quick"`` takes minutes, ``"paper"`` is the papers' own size and takes hours.
    profile
        Another reading of what the paper leaves open; the experiment's own by default.
    seeds
        Seeds of every point; the experiment's by default.
    registry
        A folder of experiments of your own.
    first_seed
        Another set of seeds, which begins so many behind the scenarios' own. Its verdicts are shown, and not remembered.
    executor
        Where runs are done: ``"threads"`` of this process, ``"processes"`` of this machine, or any object with ``submit``, such as a
        ``dask.distributed.Client``. Only the numbers that are wanted of a run travel back, and they are kept as they come.
    jobs
        Runs at the same time, where the executor is none of the caller's; the number of cores by default.
    retries
        How often a run is tried again elsewhere when its worker dies.
    progress
        A bar (``True``), silence (``False``), or a function that is called with a :class:`Progress`.

    Examples
    --------
    The papers' own size on a cluster, with the same bytes as on one machine::

        with dask.distributed.Client("scheduler:8786") as client:
            reproduce("abm/fig6", scale="paper", executor=client)
    """
    return reproduced(
        names, out, scale, profile, seeds, registry, first_seed, executor=executor, jobs=jobs, retries=retries, progress=progress
    )[0]


def reproduced(
    names: Sequence[str],
    out: str | os.PathLike[str],
    scale: Literal["quick", "paper"],
    profile: Literal["paper", "artifact"] | None,
    seeds: int | None,
    registry: str | os.PathLike[str] | None,
    first_seed: int,
    *,
    executor: ExecutorOption = "threads",
    jobs: int | None = None,
    retries: int = 2,
    progress: ProgressOption = None,
) -> tuple[list[Reproduction], str]:
    """What :func:`reproduce` answers, and the same as JSON, as ``bufferlab reproduce --json`` prints it."""
    if not names:
        raise ArgumentError('reproduce() takes the names of experiments or papers, or "all"', "bufferlab.experiments() has them", "names")
    how = How.checked(executor=executor, jobs=jobs, retries=retries, progress=progress)
    folder = _arguments.path("out", out, "the path of a folder")
    own = _arguments.optional_path("registry", registry)
    wanted = {
        "names": [_arguments.text(f"names[{place}]", name, "the name of an experiment") for place, name in enumerate(names)],
        "out": folder,
        "registry": own,
        "paper_scale": _arguments.choice("scale", scale, ("quick", "paper")) == "paper",
        "profile": None if profile is None else _arguments.choice("profile", profile, ("paper", "artifact")),
        "seeds": _arguments.optional_whole("seeds", seeds, least=1, most=_U32_MAX),
        "first_seed": _arguments.whole("first_seed", first_seed, most=_U32_MAX),
        "threads": how.jobs or 0,
    }
    with _bufferlab.Claim(folder):
        if how.executor == "threads":
            done, document = _bufferlab.reproduce(wanted, how.tell)
        else:
            plan = _bufferlab.ReproductionPlan(wanted)
            errors = take_elsewhere(plan.jobs, plan.keep, how)
            done, document = plan.finish([(index, told(error)) for index, error in enumerate(errors) if error is not None])
    found = [
        Reproduction(name, figure, title, folder, tuple(JudgedClaim(*verdict) for verdict in verdicts), tuple(failures))
        for name, figure, title, folder, verdicts, failures in done
    ]
    return found, document
