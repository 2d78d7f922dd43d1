"""Columns of varied keys in result tables: numeric columns, and quantities in base units."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from . import _bufferlab

__all__ = ["base_units", "columns_of"]

_DIMENSIONS = (("size", "bytes", pa.int64()), ("rate", "bps", pa.int64()), ("time", "seconds", pa.float64()))


def columns_of(name: str, written: list[str | None]) -> dict[str, pa.Array[Any]]:
    """The table columns of a varied key, from its values in the syntax of scenarios.

    >>> columns_of("alpha", ["0.5", "2", None])["alpha"].to_pylist()
    [0.5, 2.0, None]
    >>> columns = columns_of("switch.buffer", ["900 KB", "1 MB"])
    >>> {name: column.to_pylist() for name, column in columns.items()}
    {'switch.buffer': ['900 KB', '1 MB'], 'switch.buffer_bytes': [900000, 1000000]}
    """
    plain = _plain(written)
    if plain is not None:
        return {name: plain}
    words = [None if value is None else _unquoted(value) for value in written]
    columns: dict[str, pa.Array[Any]] = {name: pa.array(words, pa.string())}
    found = base_units([word for word in words if word is not None])
    if found is not None:
        unit, numbers = found
        rest = iter(numbers)
        kind = next(kind for _, of, kind in _DIMENSIONS if of == unit)
        columns[f"{name}_{unit}"] = pa.array([None if word is None else next(rest) for word in words], kind)
    return columns


def base_units(words: list[str]) -> tuple[str, list[float]] | None:
    """The name of the base unit (bytes, bits per second, seconds), and the quantities in this unit.

    The result is ``None`` if the quantities have different dimensions.
    """
    for dimension, unit, kind in _DIMENSIONS:
        try:
            numbers = [_bufferlab.quantity("value", word, dimension) for word in words]
        except ValueError:
            continue
        return (unit, [int(number) for number in numbers] if pa.types.is_integer(kind) else numbers) if words else None
    return None


def _plain(written: list[str | None]) -> pa.Array[Any] | None:
    """Returns a column of booleans, integers or floats; ``None`` unless all values have one such
    type."""
    known = [value for value in written if value is not None]
    if known and all(value in ("true", "false") for value in known):
        return pa.array([None if value is None else value == "true" for value in written], pa.bool_())
    for number, kind in ((int, pa.int64()), (float, pa.float64())):
        try:
            numbers = [None if value is None else number(value) for value in written]
            return pa.array(numbers, kind) if known else None
        except (ValueError, OverflowError, pa.ArrowInvalid):
            continue
    return None


def _unquoted(value: str) -> str:
    """Removes the quotes of a TOML string."""
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value
    return value
