"""How is a Python value written in TOML?"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from ._own import Own

__all__ = ["Value", "dumps", "key", "value"]

Value = Union[
    str, int, float, bool, "os.PathLike[str]", "type[Own]", Sequence["Value"], Mapping[str, "Value"]
]
"""What a key of a scenario may be set to. The class of an own policy, congestion control or workload stands for its name."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if _BARE.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    # JSON's escapes are TOML's, except that TOML wants DEL escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(item: Value) -> str:
    """A value on one line.

    >>> value({"name": "abm", "alpha": 0.5})
    '{ name = "abm", alpha = 0.5 }'
    >>> value([1, 2.5, True, "10 Gb/s"])
    '[1, 2.5, true, "10 Gb/s"]'
    """
    if isinstance(item, type):
        from ._own import named

        return _string(named(item))
    # numpy's numbers and the like say what they are by `item`.
    plain = getattr(item, "item", None)
    if callable(plain) and not isinstance(item, (str, int, float, Mapping, Sequence)):
        item = plain()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item)
    if isinstance(item, int):
        return str(int(item))
    if isinstance(item, float):
        if not math.isfinite(item):
            return {math.inf: "inf", -math.inf: "-inf"}.get(item, "nan")
        return repr(float(item))
    if isinstance(item, os.PathLike):
        return _string(os.fspath(item))
    if isinstance(item, Mapping):
        entries = ", ".join(f"{key(name)} = {value(inner)}" for name, inner in item.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray)):
        return f"[{', '.join(value(inner) for inner in item)}]"
    raise TypeError(
        f"a scenario has text, numbers, booleans, lists and tables, not {type(item).__name__} ({item!r})"
    )


def dumps(tables: Mapping[str, Value]) -> str:
    """A document, one line per top-level key.

    >>> print(dumps({"name": "x", "switch": {"policy": "abm"}}), end="")
    name = "x"
    switch = { policy = "abm" }
    """
    return "".join(f"{key(name)} = {value(item)}\n" for name, item in tables.items())
