"""Custom classes: their parameters, their registration and their transfer to other processes."""

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

__all__ = ["Custom", "named", "pack", "param", "register", "unpack"]


@dataclass(frozen=True)
class _Parameter:
    default: Any
    doc: str = ""
    min: float | None = None
    max: float | None = None
    unit: Literal["bytes", "time", "rate"] | None = None
    choices: tuple[str, ...] = ()


def param(
    default: float | int | bool | str,
    *,
    doc: str = "",
    min: float | None = None,
    max: float | None = None,
    unit: Literal["bytes", "time", "rate"] | None = None,
    choices: Iterable[str] = (),
) -> Any:
    """Declares a parameter of a custom class that needs more than a plain default.

    A value with ``unit="bytes"``, ``unit="time"`` or ``unit="rate"`` has its unit in the class and
    in scenarios (``"100 KB"``, ``"80 us"``, ``"10 Gb/s"``). The class reads the value in bytes,
    picoseconds or bits per second, which are also the units of ``min`` and ``max``. A parameter
    that is a word needs ``choices``. The default of ``min`` is 0.
    """
    if not isinstance(default, (float, int, str)):
        raise _arguments.refuse("default", default, "a number, a truth value or text")
    _arguments.text("doc", doc)
    bounds = [bound if bound is None else _arguments.number(name, bound) for name, bound in (("min", min), ("max", max))]
    if unit is not None:
        _arguments.choice("unit", unit, ("bytes", "time", "rate"))
    given = _arguments.items("choices", choices, '["low", "high"]')
    words = tuple(_arguments.text(f"choices[{place}]", word) for place, word in enumerate(given))
    return _Parameter(default, doc, bounds[0], bounds[1], unit, words)


_PlainParameter = tuple[str, Any, str, Union[float, None], Union[float, None], list[str], str]


class Custom:
    """Base class of custom policies, congestion controls, marking rules, classifiers, workloads and
    topologies."""

    name: ClassVar[str]
    """Name of the custom class in scenarios."""
    title: ClassVar[str] = ""
    """Full name of the class in reports; by default the name of the class."""
    summary: ClassVar[str] = ""
    """Summary of the class in one line; by default the first line of the docstring."""

    _kind: ClassVar[str] = ""
    """Kind of the custom class, such as "policy"."""
    _base: ClassVar[type[Custom]]
    """Base class of all custom classes of one kind, such as policies."""
    _example: ClassVar[str] = ""
    """An example of a name for a custom class of this kind."""
    _required: ClassVar[tuple[str, str]] = ("", "")
    """The method that a custom class must define, with the arguments of the method."""
    _hooks: ClassVar[tuple[str, ...]] = ()
    """Names of the optional methods of a custom class."""

    def _set(self, parameters: dict[str, Any]) -> None:
        """Sets the parameters of a new instance. The registry checks values except the maximum of a
        parameter with a unit."""
        for name, value in parameters.items():
            declared = getattr(type(self), name, None)
            if isinstance(declared, _Parameter) and declared.max is not None and value > declared.max:
                raise ValueError(f"{name} is {value}, expected at most {declared.max:.15g}")
            setattr(self, name, value)

    @classmethod
    def _enter(cls, title: str, summary: str, parameters: list[_PlainParameter], hooks: list[str]) -> None:
        """Enters the custom class into a registry, such as the registry of policies."""
        raise NotImplementedError


CustomClass = TypeVar("CustomClass", bound="type[Custom]")

_registered: dict[tuple[str, str], type[Custom]] = {}


def register(own: CustomClass) -> CustomClass:
    """Registers a custom scheme under its name: a policy, congestion control, marking rule,
    classifier, workload or topology.

    As a class decorator, ``register`` makes the name available to scenarios, comparisons and
    sweeps. A class that is defined again (in a notebook, after a reload) replaces its earlier
    definition.

    Raises
    ------
    ArgumentError
        If the class has no kind or no name, or lacks a required method. If a method has nearly the
        name of an optional or required method. If the name of the class is taken or invalid, or if
        a parameter is declared incorrectly. (The error is also a ``TypeError`` and a
        ``ValueError``.)
    """
    if not (isinstance(own, type) and issubclass(own, Custom) and own._kind):
        raise ArgumentError(
            "own must be a subclass of bufferlab.Policy, bufferlab.CongestionControl, bufferlab.MarkingRule, bufferlab.Classifier, "
            f"bufferlab.Workload or bufferlab.Topology, not {own!r}"
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
    summary = own.summary or document or f"{title}, a custom {own._kind}."
    hooks = [hook for hook in own._hooks if getattr(own, hook) is not getattr(own._base, hook)]
    try:
        own._enter(title, summary, _parameters(own), hooks)
    except ArgumentError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{own.__name__}: {error}") from error
    _bufferlab.set_custom_code(_written(own))
    _registered[own._kind, name] = own
    return own


def _written(own: type[Custom]) -> float:
    """Time of the last change of the files that define a class and its base classes (Unix time, s).

    Returns the current time if the class is not in a file. Scenarios and manifests do not
    identify the version of a class, so runs from before this time are not reused.
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


def _refuse_misspelt_methods(own: type[Custom]) -> None:
    """Refuses a misspelt method name, such as ``admits`` of a policy, because the method would
    never be called."""
    known = [own._required[0], *own._hooks, "start"]
    for owner in own.__mro__:
        if not issubclass(owner, own._base) or owner is own._base:
            continue
        for name, value in owner.__dict__.items():
            if name.startswith("_") or not callable(value) or hasattr(own._base, name):
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            near = near or [right for right in known if sorted(right) == sorted(name)]
            if near:
                raise ArgumentError(
                    f"{owner.__name__} defines {name}, which is never called: did you mean {near[0]}? "
                    "(A helper method needs a less similar name, or one that begins with _.)"
                )


def registered(kind: str) -> dict[str, type[Custom]]:
    """The custom classes of one kind, such as policies, by name in order of registration."""
    return {name: own for (of, name), own in _registered.items() if of == kind}


def named(argument: str, own: str | type[Custom]) -> str:
    """Returns the name of a class, or ``own`` itself if ``own`` is a name. Registers the class if
    necessary."""
    if isinstance(own, str):
        return _arguments.text(argument, own)
    if not (isinstance(own, type) and issubclass(own, Custom) and own._kind):
        raise _arguments.refuse(argument, own, "a name, or a subclass of bufferlab.Policy or its like")
    return register(own).name


def _parameters(own: type[Custom]) -> list[_PlainParameter]:
    """The parameters of a custom class: annotated attributes that have a default, base classes
    first."""
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
                # The annotation is only for type checkers, so the default determines the kind of
                # the parameter.
                hint = None
            if get_origin(hint) is ClassVar:
                continue
            found[name] = _parameter(own, name, owner.__dict__[name], hint)
    return list(found.values())


def _annotated(owner: type) -> Iterable[str]:
    """The names that the class itself annotates, without annotations of base classes."""
    if sys.version_info >= (3, 14):
        # Annotations are evaluated lazily and may name types that exist only for type checkers.
        import annotationlib

        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)


def _parameter(own: type[Custom], name: str, given: Any, hint: Any) -> _PlainParameter:
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
                f"{own.__name__}.{name}: a word needs its choices: param({default!r}, choices=[...]), or unit=\"bytes\", \"time\" or \"rate\""
            )
    elif isinstance(default, int) and hint is not float:
        kind = "count"
    elif isinstance(default, (int, float)):
        kind, default = "ratio", float(default)
    else:
        raise ArgumentError(f"{own.__name__}.{name}: a parameter is a number, a flag or a text, not {default!r}")
    return (name, default, kind, declared.min, declared.max, choices, declared.doc)


def pack(loaded: Loaded) -> bytes | None:
    """Pickles the custom classes that a scenario names; ``None`` if the scenario names none.

    A class in an importable module is pickled by name, and the other process imports the module. A
    class from a notebook or the prompt is pickled with its code, which requires ``cloudpickle``.
    """
    names = [
        *(("policy", name) for name in loaded.policies),
        *(("congestion control", name) for name in loaded.congestion_controls),
        *(("marking rule", name) for name in loaded.marking_rules),
        *(("classifier", name) for name in loaded.classifiers),
        ("topology", loaded.topology),
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
    """Unpickles and registers the custom classes that :func:`pack` pickled."""
    if packed is not None:
        for own in pickle.loads(packed):
            register(own)
