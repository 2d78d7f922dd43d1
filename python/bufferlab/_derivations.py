"""What a calculator answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from . import _bufferlab

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

    def __getitem__(self, name: str) -> float:
        """The value of an answer in its base unit."""
        for answer in self.answers:
            if answer.name == name:
                return answer.value
        raise KeyError(f"{name}: answers are {', '.join(answer.name for answer in self.answers) or 'none'}")

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
    )
