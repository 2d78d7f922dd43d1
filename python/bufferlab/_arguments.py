"""Checks the arguments of calls of the package.

Each check raises an :class:`ArgumentError` with the name of the argument,
its value and the values that are allowed.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _bufferlab
from .exceptions import ArgumentError, UnknownNameError

__all__ = [
    "choice",
    "flag",
    "instance",
    "items",
    "mapping",
    "not_copied",
    "number",
    "optional_path",
    "optional_text",
    "optional_whole",
    "path",
    "refuse",
    "shown",
    "text",
    "unknown",
    "whole",
]

_SHOWN_MAX = 60
"""Maximum number of characters of a value in a message."""


def shown(value: object) -> str:
    """Formats a value as one short line for a message."""
    try:
        written = " ".join(repr(value).split())
    except Exception:
        written = f"an object of {type(value).__qualname__}"
    return written if len(written) <= _SHOWN_MAX else f"{written[: _SHOWN_MAX - 1]}…"


def refuse(argument: str, value: object, expected: str, help: str = "") -> ArgumentError:
    """Returns the error for an argument of a call with an unexpected value."""
    kind = "" if value is None else f" ({type(value).__name__})"
    return ArgumentError(f"{argument} is {shown(value)}{kind}, expected {expected}", help, argument)


def not_copied(kind: str, help: str) -> ArgumentError:
    """Returns the error of ``pickle`` and ``copy`` for an object that works only in this
    process."""
    return ArgumentError(f"{kind} cannot be pickled or copied: it runs in this process", help, "")


def unknown(argument: str, kind: str, name: object, known: Iterable[str], help: str = "") -> UnknownNameError:
    """Returns the error for an unknown name. The help of the error suggests the most similar known
    name."""
    names = list(known)
    near = _bufferlab.suggestion(str(name), names) if _is_text(name) else None
    if near is not None:
        help = f'did you mean "{near}"?'
    elif not help:
        help = f"choose one of: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else "there is none"
    written = f'"{name}"' if isinstance(name, str) else shown(name)
    return UnknownNameError(f"{argument}: there is no {kind} {written}", help, argument)


def _is_text(value: object) -> bool:
    """Whether a value is text without lone surrogates, which UTF-8 cannot represent."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def metric_id(id: str) -> str:
    """Returns the current id of a metric; ``id`` may be an id of an earlier version."""
    return _bufferlab.metric_id(id) if _is_text(id) else id


def whole(argument: str, value: Any, *, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """Checks that an argument is a whole number (also a number of NumPy); refuses booleans."""
    expected = f"a whole number, {least} or more" if most >= (1 << 32) - 1 else f"a whole number from {least} to {most}"
    try:
        number = operator.index(value)
    except TypeError:
        raise refuse(argument, value, expected) from None
    if isinstance(value, bool):
        raise refuse(argument, value, expected)
    if number > most and number >= least:
        raise refuse(argument, value, f"a whole number from {least} to {most}")
    if number < least:
        raise refuse(argument, value, expected)
    return number


def optional_whole(argument: str, value: Any, *, least: int = 0, most: int = (1 << 63) - 1) -> int | None:
    """Checks that an argument is a whole number or ``None``."""
    return None if value is None else whole(argument, value, least=least, most=most)


def number(argument: str, value: Any, *, least: float = -math.inf, most: float = math.inf) -> float:
    """Checks that an argument is a finite number within bounds; refuses booleans and text."""
    if math.isinf(most):
        expected = "a finite number" if math.isinf(least) else f"a number, {least:g} or more"
    else:
        expected = f"a number from {least:g} to {most:g}"
    if isinstance(value, (bool, str, bytes, bytearray)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise refuse(argument, value, expected)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise refuse(argument, value, expected) from None
    if not (math.isfinite(found) and least <= found <= most):
        raise refuse(argument, value, expected)
    return found


def flag(argument: str, value: Any) -> bool:
    """Checks that an argument is ``True`` or ``False`` (also a boolean of NumPy)."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise refuse(argument, value, "True or False")


def text(argument: str, value: Any, expected: str = "text") -> str:
    """Checks that an argument is text that UTF-8 can represent."""
    if not _is_text(value):
        raise refuse(argument, value, expected)
    return str(value)


def optional_text(argument: str, value: Any, expected: str = "text") -> str | None:
    """Checks that an argument is text or ``None``."""
    return None if value is None else text(argument, value, expected)


def choice(argument: str, value: Any, known: Sequence[str]) -> str:
    """Checks that an argument is a known word; the error suggests the most similar word."""
    expected = ", ".join(f'"{word}"' for word in known[:-1]) + f' or "{known[-1]}"'
    if isinstance(value, str) and value in known:
        return value
    near = _bufferlab.suggestion(value, list(known)) if _is_text(value) else None
    raise refuse(argument, value, expected, "" if near is None else f'did you mean "{near}"?')


def path(argument: str, value: Any, expected: str = "the path of a file or folder") -> Path:
    """Checks that an argument is a path: text or ``os.PathLike``."""
    try:
        found = os.fspath(value)
    except TypeError:
        raise refuse(argument, value, expected) from None
    if not _is_text(found) or not found or "\0" in found:
        raise refuse(argument, value, expected)
    return Path(found)


def optional_path(argument: str, value: Any, expected: str = "the path of a folder") -> Path | None:
    """Checks that an argument is a path or ``None``."""
    return None if value is None else path(argument, value, expected)


def items(argument: str, value: Any, example: str) -> list[Any]:
    """Returns the elements of an iterable; refuses text, because iteration would give its
    characters."""
    expected = f"a list, such as {argument.rpartition('.')[2]}={example}" if argument.isidentifier() else f"a list, such as {example}"
    if isinstance(value, (str, bytes, bytearray)):
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) and "(" not in value else [value]
        listed = f"[{', '.join(shown(part) for part in parts)}]"
        raise refuse(argument, value, expected, f"write {argument}={listed}" if argument.isidentifier() else f"write {listed}")
    if isinstance(value, (Mapping, type)) or not isinstance(value, Iterable):
        raise refuse(argument, value, expected)
    try:
        return list(value)
    except TypeError:
        # A zero-dimensional NumPy array has `__iter__`, which raises an exception.
        raise refuse(argument, value, expected) from None


def mapping(argument: str, value: Any, example: str) -> dict[Any, Any]:
    """Checks that an argument is a mapping, and copies it into a dictionary."""
    if not isinstance(value, Mapping):
        raise refuse(argument, value, f"a dictionary, such as {argument}={example}")
    return dict(value)


def instance(argument: str, value: Any, kind: type | tuple[type, ...], expected: str) -> Any:
    """Checks that an argument is an instance of a class."""
    if not isinstance(value, kind):
        raise refuse(argument, value, expected)
    return value
