"""Results of the calculators: answers with the derivation of each answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from . import _arguments, _bufferlab

Quantity = Union[str, float]
"""A quantity for a calculator: text with a unit, or a number in the base unit."""


@dataclass(frozen=True)
class Line:
    """One step of a calculator's derivation."""

    name: str
    """Name of the quantity that this step of the derivation computes."""
    formula: str
    """The formula of the derivation's step, in words and symbols."""
    substituted: str
    """The formula with numbers in place of the symbols; empty without a computation."""
    result: str
    """The result of the derivation's step, with its unit."""
    source: str
    """The source of the formula: paper and equation, or standard; empty for arithmetic."""


@dataclass(frozen=True)
class Answer:
    """A final answer of a calculator: a quantity with its value."""

    name: str
    """Name of the quantity that the answer gives."""
    value: float
    """Value of the answer in its base unit (bytes, seconds, bits/s or no unit); infinite if
    unbounded."""
    text: str
    """Value of the answer with its unit, as text for people."""


@dataclass(frozen=True)
class Check:
    """A quantity with two values: the value of a calculator, and the value of a packet
    simulation."""

    quantity: str
    """Name of the compared quantity."""
    stated: float
    """The calculator's value of the compared quantity, in its base unit."""
    measured: float
    """The value of the compared quantity in a packet simulation, in its base unit."""
    relation: str
    """The expected relation: the simulated value is ``equal`` to, ``at least`` or ``at most`` the
    calculator's value."""
    bound: float
    """Tolerance for discretisation (in the base unit), such as a packet or a serialization time."""
    holds: bool
    """Whether the measured value agrees with the calculator's value."""


@dataclass(frozen=True)
class Verification:
    """Comparison of a calculator's answers with simulated packets.

    ``print`` shows the text of the option ``--verify`` of ``bufferlab theory``.
    """

    checks: tuple[Check, ...]
    """The comparisons of quantities with simulated packets."""
    left_out: tuple[str, ...]
    """Answers that no simulation checks, each with the reason."""
    text: str
    """The whole comparison with simulated packets, as text."""

    @property
    def holds(self) -> bool:
        """Whether every simulated quantity agrees with the calculator's value."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Derivation:
    """The derivation of a calculator's answer; ``print`` shows it as the command line does."""

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
    """Conditions and limits of the calculator's answers."""
    text: str
    """The whole derivation as text, as the command line prints it."""
    _question: tuple[str, dict[str, Any]] = field(repr=False, compare=False)

    def verify(self) -> Verification:
        """Simulates the switch of the calculator's question with the code of the policies, and
        compares the results with the answers.

        >>> from bufferlab import theory
        >>> found = theory.drain_time().verify()
        >>> found.holds, len(found.checks) > 0
        (True, True)
        """
        checks, left_out, text = _bufferlab.replay(*self._question)
        return Verification(tuple(Check(*check) for check in checks), tuple(left_out), text)

    def __getitem__(self, name: str) -> float:
        """The value of an answer in its base unit, by the name of the answer."""
        for answer in self.answers:
            if isinstance(name, str) and answer.name == name:
                return answer.value
        known = [answer.name for answer in self.answers]
        raise _arguments.unknown("name", "answer", name, known)

    def __str__(self) -> str:
        return self.text


def calculate(name: str, values: dict[str, Any]) -> Derivation:
    """Runs the calculator ``name`` with the given inputs; skips an input that is ``None``."""
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
