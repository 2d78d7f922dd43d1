"""The conformance suite: does a policy keep the promises that every policy keeps?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import _arguments, _bufferlab
from .exceptions import ConformanceError
from .policy import PolicyLike, policy_name

__all__ = ["Check", "Conformance", "conformance"]


@dataclass(frozen=True)
class Check:
    """A claim, and what was found of it."""

    claim: str
    """In plain words."""
    scripts: int
    """How many situations were tried."""
    finding: Literal["holds", "fails", "not claimed"]
    """What came out."""
    why: str
    """What was wrong, or why nothing is claimed."""
    counterexample: str | None
    """The shortest script of arrivals and departures that shows it."""


@dataclass(frozen=True)
class Conformance:
    """Every claim of a policy. Printed: a line per claim, then the first counterexample in full."""

    policy: str
    """Whose."""
    checks: tuple[Check, ...]
    """All claims, then the policy's own vectors."""
    text: str
    """The report."""

    @property
    def holds(self) -> bool:
        """Whether no claim failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The claims that failed."""
        return tuple(check for check in self.checks if check.finding == "fails")

    def raise_for_failures(self) -> None:
        """Raises :class:`ConformanceError`, which shows the report, if a claim failed."""
        if not self.holds:
            raise ConformanceError(self.text)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def conformance(
    policy: PolicyLike,
    parameters: Mapping[str, Any] | None = None,
    *,
    effort: Literal["quick", "full"] = "full",
    other_limits: bool = False,
    most_evictions: int | None = None,
    vectors: str | os.PathLike[str] | None = None,
) -> Conformance:
    """Tries a policy on every short script of a tiny buffer and on long random ones.

    Parameters
    ----------
    policy
        A name, or the class of an own policy.
    parameters
        In place of the defaults: sizes in bytes, times in picoseconds.
    effort
        ``"full"`` tries what every built-in policy must pass, which takes a second or two; ``"quick"`` a twentieth of it.
    other_limits
        The policy admits or drops for more reasons than its ``threshold`` and the size of the buffer.
    most_evictions
        It claims that an arrival never costs more stored packets.
    vectors
        A file of golden vectors (the format of ``testdata/policy/``), which count as claims.

    >>> print(conformance("dt", effort="quick").failures)
    ()
    """
    name = policy_name("policy", policy)
    length, seeds = (6, 40) if _arguments.choice("effort", effort, ("quick", "full")) == "full" else (4, 6)
    plain, text = _bufferlab.check_policy(
        name,
        {} if parameters is None else _arguments.mapping("parameters", parameters, '{"alpha": 0.5}'),
        length,
        seeds,
        _arguments.flag("other_limits", other_limits),
        _arguments.optional_whole("most_evictions", most_evictions),
        _arguments.optional_path("vectors", vectors, "the path of a file"),
    )
    return Conformance(name, tuple(Check(*fields) for fields in plain), text)
