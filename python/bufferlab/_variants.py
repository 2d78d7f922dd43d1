"""Variants of a comparison, as text or as a class. This module loads classes from Python files."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, Union

from . import _arguments, _bufferlab
from ._custom import Custom, register
from .exceptions import ArgumentError
from .policy import Policy, policy_name

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["VariantLike", "register_file", "text_of", "texts"]

VariantLike = Union[str, "type[Policy]"]
"""The text of a variant, or the class of a custom policy.

Examples: ``"dt(alpha=0.5)"``, ``"label: dt + switch.buffer=2 MB"``,
``"mine.py:FairShare(part=0.5)"``.
"""

_OF_A_FILE = re.compile(
    r"""(?P<label>\s*(?:[^:()=+,"']*:\s)?\s*)(?P<file>[^:()=+,"']+\.py):(?P<name>[^\W\d]\w*)(?P<rest>.*)""", re.DOTALL
)


def texts(variants: Sequence[VariantLike]) -> list[str]:
    """Converts variants for the extension module, and registers the custom policies of the
    variants.

    >>> texts(["dt(alpha=0.5)", "low: abm"])
    ['dt(alpha=0.5)', 'low: abm']
    """
    given = _arguments.items("variants", variants, '["dt(alpha=0.5)", "abm"]')
    return [text_of(f"variants[{place}]", variant) for place, variant in enumerate(given)]


def text_of(argument: str, variant: VariantLike) -> str:
    """Converts one variant of a comparison for the extension module."""
    if not isinstance(variant, str):
        return policy_name(argument, variant)
    variant = _arguments.text(argument, variant)
    found = _OF_A_FILE.fullmatch(variant)
    if found is None:
        _bufferlab.check_variant(argument, variant)
        return variant
    policy = _class_of(argument, Path(found["file"].strip()), found["name"])
    return f"{found['label']}{policy_name(argument, policy)}{found['rest']}"


def register_file(path: Path) -> list[type[Custom]]:
    """Registers every custom class in a Python file, of any kind, and returns these classes."""
    _demand("path", path)
    found = [value for value in vars(_module("path", path)).values() if _is_custom(value, path) and isinstance(value.__dict__.get("name"), str)]
    if not found:
        raise ArgumentError(f"{path} defines no custom class: a subclass of bufferlab.Policy or its like, with a name")
    return [register(own) for own in found]


def _demand(argument: str, path: Path) -> None:
    if not path.is_file():
        raise ArgumentError(f"{argument}: {path}: there is no such file", "the path is relative to the current folder", argument)


def _class_of(argument: str, path: Path, name: str) -> type[Policy]:
    _demand(argument, path)
    module = _module(argument, path)
    own = getattr(module, name, None)
    if isinstance(own, type) and issubclass(own, Policy):
        return own
    known = [key for key, value in vars(module).items() if _is_custom(value, path) and issubclass(value, Policy)]
    hint = f"it has {', '.join(known)}" if known else "it has no subclass of bufferlab.Policy"
    raise ArgumentError(f"{argument}: {path} has no policy {name}: {hint}", "", argument)


def _is_custom(value: object, path: Path) -> TypeGuard[type[Custom]]:
    return isinstance(value, type) and issubclass(value, Custom) and value.__module__ == path.stem


def _module(argument: str, path: Path) -> ModuleType:
    """Imports a Python file as the module that worker processes also import."""
    if not path.stem.isidentifier():
        raise ArgumentError(
            f"{argument}: {path}: {path.stem!r} is no name of a module", f"rename the file, such as {_as_module(path)}.py", argument
        )
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(path.stem)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise ArgumentError(f"{argument}: {path}: another module is called {path.stem} ({module.__file__})", "rename the file", argument)
    return module


def _as_module(path: Path) -> str:
    return re.sub(r"\W|^(?=\d)", "_", path.stem)
