"""What own policies, congestion controls, marking rules and workloads share: parameters, registration, the way to other processes."""

from __future__ import annotations

import difflib
import inspect
import os
import pickle
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from . import _arguments, _bufferlab
from .exceptions import ArgumentError

if TYPE_CHECKING:
    from ._bufferlab import Loaded

__all__ = ["Own", "named", "pack", "param", "register", "unpack"]


@dataclass(frozen=True)
class _Parameter:
    default: Any
    doc: str = ""
    min: float | None = None
    max: float | None = None
    unit: Literal["bytes", "time"] | None = None
    choices: tuple[str, ...] = ()


def param(
    default: float | int | bool | str,
    *,
    doc: str = "",
    min: float | None = None,
    max: float | None = None,
    unit: Literal["bytes", "time"] | None = None,
    choices: Iterable[str] = (),
) -> Any:
    """A parameter of an own class, where a plain default does not say enough.

    ``unit="bytes"`` and ``unit="time"`` are written with their unit (``"100 KB"``, ``"80 us"``), in the class and in scenarios; the class sees
    bytes and picoseconds. A word has ``choices``. Numbers are at least 0 unless ``min`` says otherwise; ``min`` of a size is in bytes, of a time
    in picoseconds.
    """
    if not isinstance(default, (float, int, str)):
        raise _arguments.refuse("default", default, "a number, a truth value or text")
    _arguments.text("doc", doc)
    bounds = [bound if bound is None else _arguments.number(name, bound) for name, bound in (("min", min), ("max", max))]
    if unit is not None:
        _arguments.choice("unit", unit, ("bytes", "time"))
    given = _arguments.items("choices", choices, '["low", "high"]')
    words = tuple(_arguments.text(f"choices[{place}]", word) for place, word in enumerate(given))
    return _Parameter(default, doc, bounds[0], bounds[1], unit, words)


_PlainParameter = tuple[str, Any, str, Union[float, None], Union[float, None], list[str], str]


class Own:
    """Base class of what can be registered; :class:`~bufferlab.Policy` and its like say what a subclass must define."""

    name: ClassVar[str]
    """Name in scenarios."""
    title: ClassVar[str] = ""
    """Name in full; the class's own if not given."""
    summary: ClassVar[str] = ""
    """What it does, in a line; the first line of the docstring if not given."""

    _kind: ClassVar[str] = ""
    """What it is: "policy"."""
    _base: ClassVar[type[Own]]
    """The class of which all of that kind are subclasses."""
    _example: ClassVar[str] = ""
    """A name that one could have."""
    _required: ClassVar[tuple[str, str]] = ("", "")
    """The method that a subclass must define, and its arguments."""
    _hooks: ClassVar[tuple[str, ...]] = ()
    """The methods that it may define."""

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        """Puts the class into the registry of its kind."""
        raise NotImplementedError


OwnClass = TypeVar("OwnClass", bound="type[Own]")

_registered: dict[tuple[str, str], type[Own]] = {}


def register(own: OwnClass) -> OwnClass:
    """Makes an own policy, congestion control, marking rule or workload usable by its name: in scenarios, comparisons, sweeps. A decorator.

    A class that is written again (in a notebook, after a reload) takes the place of its former self.

    Raises
    ------
    ArgumentError
        If the class is none of these, lacks its name or the method that it must have, or defines a method that is called nearly like one of its
        kind; if the name is taken or breaks the rules of names, or a parameter is declared wrong. (It is a ``TypeError`` and a ``ValueError``, too.)
    """
    if not (isinstance(own, type) and issubclass(own, Own) and own._kind):
        raise ArgumentError(
            "an own class is a subclass of bufferlab.Policy, bufferlab.CongestionControl, bufferlab.MarkingRule or bufferlab.Workload, "
            f"not {own!r}"
        )
    name = getattr(own, "name", None)
    if not isinstance(name, str):
        raise ArgumentError(f"{own.__name__} has no name: add name = \"{own._example}\" to the class")
    method, arguments = own._required
    if getattr(own, method) is getattr(own._base, method):
        raise ArgumentError(f"{own.__name__} does not define {method}({arguments})")
    known = _registered.get((own._kind, name))
    if known is own:
        return own
    _refuse_misspelt_methods(own)
    if known is not None and (known.__module__, known.__qualname__) != (own.__module__, own.__qualname__):
        raise ArgumentError(
            f"the name \"{name}\" belongs to {known.__module__}.{known.__qualname__}; choose another for {own.__qualname__}"
        )
    title = own.title or own.__name__
    document = inspect.cleandoc(own.__dict__.get("__doc__") or "").partition("\n")[0]
    summary = own.summary or document or f"{title}, an own {own._kind}."
    hooks = [hook for hook in own._hooks if getattr(own, hook) is not getattr(own._base, hook)]
    try:
        own._enter(title, summary, _parameters(own), hooks)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{own.__name__}: {error}") from error
    _bufferlab.set_own_code(_written(own))
    _registered[own._kind, name] = own
    return own


def _written(own: type[Own]) -> float:
    """When the files of the class and of its own base classes were last changed (seconds since 1970); now, where there is no file.

    Neither a scenario nor a manifest tells one version of a class from the next: what ran before is not taken for a run of this one.
    """
    times = []
    for owner in own.__mro__:
        if not issubclass(owner, own._base) or owner is own._base:
            continue
        try:
            times.append(os.stat(sys.modules[owner.__module__].__file__ or "").st_mtime)
        except (AttributeError, KeyError, OSError):
            return time.time()
    return max(times, default=time.time())


def _refuse_misspelt_methods(own: type[Own]) -> None:
    """A method that is nearly called like one of its kind would never be called, without a word."""
    known = [own._required[0], *own._hooks, "start"]
    for owner in own.__mro__:
        if not issubclass(owner, own._base) or owner is own._base:
            continue
        for name, value in owner.__dict__.items():
            if name.startswith("_") or not callable(value) or hasattr(own._base, name):
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            if near:
                raise ArgumentError(
                    f"{owner.__name__} defines {name}, which nobody calls: did you mean {near[0]}? "
                    "(A method of your own needs a name that is less like it, or one that begins with _.)"
                )


def registered(kind: str) -> dict[str, type[Own]]:
    """The own classes of a kind by their names, in the order of their registration."""
    return {name: own for (of, name), own in _registered.items() if of == kind}


def named(argument: str, own: str | type[Own]) -> str:
    """The name of a class, which is registered if it is not yet; a name is itself."""
    if isinstance(own, str):
        return _arguments.text(argument, own)
    if not (isinstance(own, type) and issubclass(own, Own) and own._kind):
        raise _arguments.refuse(argument, own, "a name, or a subclass of bufferlab.Policy or its like")
    return register(own).name


def _parameters(own: type[Own]) -> list[_PlainParameter]:
    """Annotated attributes with a default, those of base classes first."""
    found: dict[str, _PlainParameter] = {}
    for owner in reversed(own.__mro__):
        if not issubclass(owner, own._base) or owner is own._base:
            continue
        for name in _annotated(owner):
            if name.startswith("_") or name in ("name", "title", "summary") or name not in owner.__dict__:
                continue
            if name in own._base.__annotations__:
                continue
            try:
                hint = get_type_hints(owner).get(name)
            except NameError:
                # A type that exists only for checkers says nothing here; the default does.
                hint = None
            if get_origin(hint) is ClassVar:
                continue
            found[name] = _parameter(own, name, owner.__dict__[name], hint)
    return list(found.values())


def _annotated(owner: type) -> Iterable[str]:
    """Names that the class itself annotates."""
    if sys.version_info >= (3, 14):
        # Annotations are evaluated when they are asked for, and may name what exists for type
        # checkers only.
        import annotationlib

        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)


def _parameter(own: type[Own], name: str, given: Any, hint: Any) -> _PlainParameter:
    declared = given if isinstance(given, _Parameter) else _Parameter(given)
    default, choices = declared.default, list(declared.choices)
    if not choices and get_origin(hint) is Literal:
        choices = list(get_args(hint))
    kind: str
    if declared.unit is not None:
        kind = declared.unit
    elif isinstance(default, bool):
        kind = "flag"
    elif isinstance(default, str):
        kind = "choice"
        if not choices:
            raise ArgumentError(
                f"{own.__name__}.{name}: a word needs its choices: param({default!r}, choices=[...]), or unit=\"bytes\" or \"time\""
            )
    elif isinstance(default, int) and hint is not float:
        kind = "count"
    elif isinstance(default, (int, float)):
        kind, default = "ratio", float(default)
    else:
        raise ArgumentError(f"{own.__name__}.{name}: a parameter is a number, a flag or a text, not {default!r}")
    return (name, default, kind, declared.min, declared.max, choices, declared.doc)


def pack(loaded: Loaded) -> bytes | None:
    """The own classes that a scenario names, for another process; ``None`` if there are none.

    A class of a module travels by its name, and the other process imports it. One that was written in a notebook or at the prompt travels
    whole, for which ``cloudpickle`` must be installed.
    """
    names = [
        *(("policy", name) for name in loaded.policies),
        *(("congestion control", name) for name in loaded.congestion_controls),
        *(("marking rule", name) for name in loaded.marking_rules),
        *(("workload", name) for name in loaded.workloads),
    ]
    classes = [_registered[name] for name in names if name in _registered]
    if not classes:
        return None
    main = sys.modules.get("__main__")
    at_the_prompt = main is not None and not hasattr(main, "__file__")
    if not any("<locals>" in c.__qualname__ or (at_the_prompt and c.__module__ == "__main__") for c in classes):
        return pickle.dumps(classes)
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise pickle.PicklingError(
            f"{classes[0].__qualname__} cannot travel to another process: move it into a module, or pip install cloudpickle"
        ) from error
    packed: bytes = cloudpickle.dumps(classes)
    return packed


def unpack(packed: bytes | None) -> None:
    """Registers what :func:`pack` packed."""
    if packed is not None:
        for own in pickle.loads(packed):
            register(own)
