"""Converts Python values to the syntax of TOML."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Union

from ._arguments import mapping, refuse
from ._arguments import text as _text
from .exceptions import ArgumentError

if TYPE_CHECKING:
    from ._custom import Custom

__all__ = ["Value", "dumps", "key", "value"]

class Array(Protocol):
    """An array with a method ``tolist``, such as an array of NumPy or a column of pandas."""

    def tolist(self) -> Any:
        """Returns the array's elements as a list."""


Value = Union[
    str, int, float, bool, "os.PathLike[str]", "type[Custom]", Array, Sequence["Value"], Mapping[str, object]
]
"""A value that a user sets for a key of a scenario.

The class of a custom scheme, such as a policy, is written as its name.
An array is written as a list.
"""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


_DEPTH_MAX = 64
"""Maximum nesting depth of lists and tables in a value of a scenario key."""


def key(name: str, at: str = "the scenario") -> str:
    """Writes a key of TOML, with quotes if necessary."""
    if not isinstance(name, str):
        raise refuse(at, name, "keys that are text")
    return name if _BARE.fullmatch(name) else _string(name, at)


def _string(text: str, at: str) -> str:
    # TOML has the escapes of JSON, and also requires an escape for DEL.
    return json.dumps(_text(at, text), ensure_ascii=False).replace("\x7f", "\\u007f")


def value(item: object, at: str = "the value", _depth: int = 0) -> str:
    """Writes a value in the syntax of TOML on one line; errors call the value ``at``.

    >>> value({"name": "abm", "alpha": 0.5})
    '{ name = "abm", alpha = 0.5 }'
    >>> value([1, 2.5, True, "10 Gb/s"])
    '[1, 2.5, true, "10 Gb/s"]'

    Raises
    ------
    ArgumentError
        If the value cannot be part of a scenario.
    """
    if _depth > _DEPTH_MAX:
        raise ArgumentError(f"{at} has more than {_DEPTH_MAX} lists and tables inside each other", "", at)
    if isinstance(item, type):
        from ._custom import named

        return _string(named(at, item), at)
    item = _plain(item)
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item, at)
    if isinstance(item, int):
        if not -(1 << 63) <= item < 1 << 63:
            raise refuse(at, item, "a whole number of at most 64 bits")
        return str(int(item))
    if isinstance(item, float):
        if math.isnan(item):
            raise refuse(at, item, "a number")
        return repr(float(item)) if math.isfinite(item) else "inf" if item > 0 else "-inf"
    if isinstance(item, os.PathLike):
        return _string(os.fspath(item), at)
    if isinstance(item, Mapping):
        entries = ", ".join(f"{key(name, at)} = {value(inner, f'{at}.{name}', _depth + 1)}" for name, inner in item.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray)):
        return f"[{', '.join(value(inner, f'{at}[{place}]', _depth + 1) for place, inner in enumerate(item))}]"
    raise refuse(at, item, "text, a number, a truth value, a list or a dictionary")


def _plain(item: Any) -> Any:
    """Converts arrays and scalars of NumPy, pandas or Arrow to lists and numbers.

    Returns an item of another type unchanged.
    """
    if isinstance(item, (str, int, float, Mapping, Sequence)):
        return item
    for convert in ("tolist", "to_pylist", "item"):
        method = getattr(item, convert, None)
        if callable(method):
            try:
                return method()
            except (TypeError, ValueError):
                continue
    return item


def dumps(tables: Mapping[str, object], at: str = "tables") -> str:
    """Writes a TOML document, one line per top-level key.

    >>> print(dumps({"name": "x", "switch": {"policy": "abm"}}), end="")
    name = "x"
    switch = { policy = "abm" }
    """
    entries = mapping(at, tables, '{"switch": {"policy": "dt"}}').items()
    return "".join(f"{key(name, at)} = {value(item, str(name))}\n" for name, item in entries)
