"""Reproduces figures and tables of the papers, with verdicts on the papers' statements."""

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
    """A figure or table of a paper that can be reproduced."""

    name: str
    """Name of the experiment, such as ``abm/fig6``."""
    figure: str
    """Number of the figure or table in the paper."""
    title: str
    """Subject of the paper's figure or table."""
    claims: tuple[str, ...]
    """Ids of the paper's statements that the experiment judges."""


@dataclass(frozen=True)
class JudgedClaim:
    """The verdict on a statement of a paper."""

    claim: str
    """Id of the judged statement, such as ``ABM-F6c-1``."""
    verdict: str
    """The verdict on the statement: ``STRONG``, ``PASS``, ``CORRECTED``, ``OVERSHOOT``,
    ``PARTIAL``, ``INCONCLUSIVE``, ``NULL``, ``FAIL``, ``NOT-CHECKABLE``, ``NOT-RUN`` or
    ``VOID``."""
    measured: str
    """The measured values on which the verdict depends."""
    note: str | None
    """A remark on the verdict; ``None`` without a remark."""


@dataclass(frozen=True)
class Reproduction:
    """The result of reproducing a paper's figure or table."""

    name: str
    """Name of the experiment, such as ``abm/fig6``."""
    figure: str
    """Number of the figure or table in the paper."""
    title: str
    """Subject of the paper's figure or table."""
    folder: Path
    """Folder with ``figure.html``, the charts of the panels and ``values.csv``."""
    verdicts: tuple[JudgedClaim, ...]
    """The verdicts on the statements that the experiment judges."""
    failures: tuple[str, ...]
    """Failed runs of the experiment, each with the reason."""


_U32_MAX = (1 << 32) - 1


def experiments() -> dict[str, Experiment]:
    """Returns the experiments of the papers, by name of the experiment.

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
    """Reproduces figures and tables of the papers and judges the statements of the papers.

    The command ``bufferlab reproduce`` runs the same code.

    Parameters
    ----------
    names
        Experiments (``"abm/fig6"``), papers (``"tdt"``), or ``"all"`` for every experiment.
    out
        Folder of the results; finished runs in the folder are reused.
    scale
        Size of the experiments: ``"quick"`` takes minutes. ``"paper"`` has the size of the papers'
        experiments and takes hours.
    profile
        Profile that decides details that the paper leaves open; by default the profile of the
        experiment.
    seeds
        Number of seeds per point of the experiment; by default the number in the file of the
        experiment.
    registry
        Path of a folder with custom experiments.
    first_seed
        Offset that is added to the seeds of the scenarios. Verdicts from runs with an offset are
        shown but not recorded.
    executor
        Place where runs execute: ``"threads"`` of the caller's process, ``"processes"`` of the
        caller's machine, or any object with ``submit``, such as a ``dask.distributed.Client``.
        Workers return only the required numbers, which are stored as they arrive.
    jobs
        Number of runs in parallel for ``"threads"`` and ``"processes"``;
        by default the number of cores.
    retries
        Number of retries of a run on other workers after a worker dies.
    progress
        A bar (``True``), no progress (``False``), or a function that is called
        with a :class:`Progress`.

    Examples
    --------
    This call reproduces a figure at the size of the papers, on a cluster. One machine gives equal
    results::

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
    """Returns the results of :func:`reproduce`, and the JSON text of ``bufferlab reproduce
    --json``."""
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
