"""Values of a resolved scenario by dotted key, as :meth:`bufferlab.Scenario.set` names them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from . import _arguments

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["keys", "read", "value"]

_NAMES = ("name", "class", "link", "switches", "kind", "congestion_control")
"""Keys of a list entry whose value names the entry; the first of these keys counts."""


def read(resolved: str) -> dict[str, Any]:
    """Reads the tables of a resolved scenario."""
    tables: dict[str, Any] = tomllib.loads(resolved)
    return tables


def value(tables: dict[str, Any], key: str) -> Any:
    """Returns the value of a dotted key. A list entry is given by number or name.

    >>> value({"workload": [{"class": "web", "load": 0.4}]}, "workload.web.load")
    0.4

    Raises
    ------
    UnknownNameError
        If the scenario has no such key.
    """
    found: Any = tables
    parts = key.split(".")
    for index, part in enumerate(parts):
        known = dict(_entries(found))
        if part not in known:
            names = [".".join((*parts[:index], name)) for name in known]
            raise _arguments.unknown("key", "key", ".".join(parts[: index + 1]), names)
        found = known[part]
    return found


def _entries(found: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value with their names; a list entry has a number, and a name if possible."""
    if isinstance(found, dict):
        yield from found.items()
    elif isinstance(found, list):
        for index, entry in enumerate(found):
            yield str(index), entry
        for entry in reversed(found):
            name = next((entry[key] for key in _NAMES if key in entry), None) if isinstance(entry, dict) else None
            if isinstance(name, str):
                yield name, entry


def keys(found: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of all single values, in order, with the values.

    >>> dict(keys({"seed": 1, "workload": [{"load": 0.4}]}))
    {'seed': 1, 'workload.0.load': 0.4}
    """
    is_list = isinstance(found, list) and bool(found) and isinstance(found[0], dict)
    if isinstance(found, dict) or is_list:
        parts = found.items() if isinstance(found, dict) else enumerate(found)
        for name, below in parts:
            yield from keys(below, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, found
