"""What a calculator answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from . import _arguments, _bufferlab

Quantity = Union[str, float]
"""Text with a unit, or a number in the base unit."""


@dataclass(frozen=True)
class Line:
    """One step of a derivation."""

    name: str
    """What is computed."""
    formula: str
    """The formula in words and symbols."""
    substituted: str
    """The formula with the numbers in it; empty if there is nothing to compute."""
    result: str
    """The result with its unit."""
    source: str
    """The paper and equation, or the standard; empty for arithmetic."""


@dataclass(frozen=True)
class Answer:
    """A final answer."""

    name: str
    """What it is."""
    value: float
    """Its value in the base unit (bytes, seconds, bits/s or a plain number); infinite if unbounded."""
    text: str
    """With its unit, for people."""


@dataclass(frozen=True)
class Check:
    """A quantity as a calculator states it, and as packets show it."""

    quantity: str
    """What it is."""
    stated: float
    """The calculator's answer in its base unit."""
    measured: float
    """What packets showed."""
    relation: str
    """How they are compared: measured is ``equal`` to stated, ``at least`` or ``at most`` that."""
    bound: float
    """The difference that discretisation explains: a packet, a serialization time, a refresh."""
    holds: bool
    """Whether they agree."""


@dataclass(frozen=True)
class Verification:
    """What packets say about a calculator's answers; ``print`` shows it as ``bufferlab theory … --verify`` does."""

    checks: tuple[Check, ...]
    """Everything that was compared."""
    left_out: tuple[str, ...]
    """Answers that were not replayed, and why."""
    text: str
    """All of it."""

    @property
    def holds(self) -> bool:
        """Whether every quantity that was replayed is what the calculator states."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Derivation:
    """How an answer came about; ``print`` shows all of it as the command line does."""

    title: str
    """The question."""
    lines: tuple[Line, ...]
    """The steps."""
    columns: tuple[str, ...]
    """Heads of the table, if values stand side by side."""
    rows: tuple[tuple[str, ...], ...]
    """Its rows."""
    answers: tuple[Answer, ...]
    """The answers."""
    notes: tuple[str, ...]
    """Under which conditions they hold, and what to keep in mind."""
    text: str
    """All of it."""
    _question: tuple[str, dict[str, Any]] = field(repr=False, compare=False)

    def verify(self) -> Verification:
        """Sends packets through the switch of the question, with the policies' own code, and compares what they show with what is stated here.

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
    """What the calculator called ``name`` derives from these values; ``None``: left out."""
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
