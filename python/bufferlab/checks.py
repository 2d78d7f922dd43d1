"""The conformance suite: checks whether a policy satisfies the rules for all policies."""

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
    """A claim about a policy, and the result of checking the claim."""

    claim: str
    """The claim about the policy, in plain words."""
    scripts: int
    """Number of scripts of arrivals and departures that the check tried."""
    finding: Literal["holds", "fails", "not claimed"]
    """Result of checking the claim about the policy."""
    why: str
    """The violation of the claim, or the reason why the claim does not apply to the policy."""
    counterexample: str | None
    """The shortest script of arrivals and departures that violates the claim."""


@dataclass(frozen=True)
class Conformance:
    """The checked claims of a policy. ``print`` shows a line per claim, then the first
    counterexample."""

    policy: str
    """Name of the checked policy."""
    checks: tuple[Check, ...]
    """Results for the claims about all policies, then results for the golden vectors of the
    policy."""
    text: str
    """The results of all checks of the policy, as text."""

    @property
    def holds(self) -> bool:
        """Whether the policy satisfies every claim of the conformance suite."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that found a violated claim."""
        return tuple(check for check in self.checks if check.finding == "fails")

    def raise_for_failures(self) -> None:
        """Raises :class:`ConformanceError` with the report, if a claim failed."""
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
    """Checks a policy on every short script of a tiny buffer and on long random scripts.

    Parameters
    ----------
    policy
        The name of a policy, or the class of a custom policy.
    parameters
        Parameters of the policy that differ from their defaults: sizes in bytes,
        times in picoseconds.
    effort
        ``"full"`` runs the checks that every built-in policy must pass, in a second or two;
        ``"quick"`` runs a twentieth of these checks.
    other_limits
        Whether the policy admits or drops packets for reasons other than its ``threshold`` and the
        size of the buffer.
    most_evictions
        Maximum number of stored packets that one arrival may evict. The suite checks this limit.
    vectors
        A file of golden vectors in the format of ``testdata/policy/``. The suite checks each vector
        as a claim.

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
