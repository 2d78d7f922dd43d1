"""Results of the calculators: answers with their derivation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from . import _arguments, _bufferlab

Quantity = Union[str, float]
"""A quantity: text with a unit, or a number in the base unit."""


@dataclass(frozen=True)
class Line:
    """One step of a calculator's derivation."""

    name: str
    """Name of the quantity that this step of the derivation computes."""
    formula: str
    """The formula of the step in words and symbols."""
    substituted: str
    """The formula with numbers for the symbols; empty without a computation."""
    result: str
    """The result of the step with its unit."""
    source: str
    """The source of the formula: paper and equation, or standard; empty for arithmetic."""


@dataclass(frozen=True)
class Answer:
    """A final answer of a calculator."""

    name: str
    """Name of the quantity that the answer gives."""
    value: float
    """The answer in its base unit (bytes, seconds, bits/s or no unit); infinite if unbounded."""
    text: str
    """The answer with its unit, for people."""


@dataclass(frozen=True)
class Check:
    """A quantity as stated by a calculator, and as measured with simulated packets."""

    quantity: str
    """Name of the compared quantity."""
    stated: float
    """The calculator's answer in its base unit."""
    measured: float
    """The value measured with simulated packets, in the base unit."""
    relation: str
    """The expected relation: measured is ``equal`` to, ``at least`` or ``at most`` stated."""
    bound: float
    """Tolerance for discretisation (base unit): a packet, a serialization time, a refresh."""
    holds: bool
    """Whether the measured value agrees with the calculator's value."""


@dataclass(frozen=True)
class Verification:
    """Comparison of a calculator's answers with simulated packets.

    ``print`` shows the text of ``bufferlab theory … --verify``.
    """

    checks: tuple[Check, ...]
    """The comparisons of quantities with simulated packets."""
    left_out: tuple[str, ...]
    """Answers that no simulation checks, each with the reason."""
    text: str
    """The whole comparison with simulated packets, as text."""

    @property
    def holds(self) -> bool:
        """Whether every replayed quantity agrees with the calculator."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Derivation:
    """The derivation of an answer; ``print`` shows it as the command line does."""

    title: str
    """The question that the calculator answers."""
    lines: tuple[Line, ...]
    """The steps of the derivation, in order."""
    columns: tuple[str, ...]
    """Column headers of the derivation's table; empty without a table."""
    rows: tuple[tuple[str, ...], ...]
    """Rows of the derivation's table."""
    answers: tuple[Answer, ...]
    """The final answers of the calculator."""
    notes: tuple[str, ...]
    """Conditions and limits of the answers."""
    text: str
    """The whole derivation as text."""
    _question: tuple[str, dict[str, Any]] = field(repr=False, compare=False)

    def verify(self) -> Verification:
        """Simulates the switch of the question with the code of the policies,
        and compares the results with the answers.

        >>> from bufferlab import theory
        >>> found = theory.drain_time().verify()
        >>> found.holds, len(found.checks) > 0
        (True, True)
        """
        checks, left_out, text = _bufferlab.replay(*self._question)
        return Verification(tuple(Check(*check) for check in checks), tuple(left_out), text)

    def __getitem__(self, name: str) -> float:
        """The value of an answer in its base unit."""
        for answer in self.answers:
            if isinstance(name, str) and answer.name == name:
                return answer.value
        known = [answer.name for answer in self.answers]
        raise _arguments.unknown("name", "answer", name, known)

    def __str__(self) -> str:
        return self.text


def calculate(name: str, values: dict[str, Any]) -> Derivation:
    """Runs the calculator ``name`` with these inputs; skips an input that is ``None``."""
    title, lines, table, answers, notes, text = _bufferlab.calculate(name, values)
    columns, rows = table or ([], [])
    return Derivation(
        title,
        tuple(Line(*line) for line in lines),
        tuple(columns),
        tuple(tuple(row) for row in rows),
        tuple(Answer(*answer) for answer in answers),
        tuple(notes),
        text,
        (name, dict(values)),
    )
