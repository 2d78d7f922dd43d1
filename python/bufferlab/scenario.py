"""Scenarios as objects: from files, from text, from dictionaries, and changed one key at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

from . import _arguments, _bufferlab, _own, _toml
from ._folders import Parcel, TemporaryFolder
from ._toml import Value
from .exceptions import Problem, ScenarioError
from .shipped import scenarios

if TYPE_CHECKING:
    from typing import Literal

    from ._names import PolicyName
    from .policy import Policy

__all__ = ["Scenario", "ScenarioLike", "as_scenario", "schema"]


class Scenario:
    """What runs: a network, switches, traffic. Immutable; a change makes a new one.

    A scenario says the same as a file (``docs/reference/scenarios.md`` lists the keys): quantities are text with their unit, tables are dictionaries,
    ``[[workload]]`` is a list of dictionaries. It is read when it is first needed, or when :meth:`check` is called.

    Parameters
    ----------
    tables
        The keys of the scenario.
    name
        Its name, where ``tables`` has none.
    folder
        Where relative paths in it (``extends``, ``flows``) start; the current folder if not given.

    Examples
    --------
    >>> from bufferlab import Scenario
    >>> scenario = Scenario({
    ...     "duration": "1 ms",
    ...     "topology": {"kind": "single_switch", "hosts": 4, "rate": "10 Gb/s", "delay": "2 us"},
    ...     "switch": {"buffer": "100 KB", "policy": "dt"},
    ...     "transport": [{"congestion_control": "dctcp"}],
    ...     "workload": [{"kind": "incast", "fan_in": 3, "request": "60 KB", "queries_per_second_per_host": 500.0}],
    ... }, name="small")
    >>> scenario.policy, scenario.seed
    ('dt', 1)
    >>> scenario.set("switch.policy", "abm").policy
    'abm'
    """

    __slots__ = ("_keep", "_loaded", "_overrides", "_path", "_text")

    def __init__(
        self,
        tables: Mapping[str, Value],
        *,
        name: str = "scenario",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._place(_place_of(name, folder), _toml.dumps(tables), ())

    def _place(
        self, path: Path, text: str | None, overrides: tuple[tuple[str, str], ...], keep: TemporaryFolder | None = None
    ) -> None:
        self._path = path
        self._text = text
        self._overrides = overrides
        self._keep = keep
        """The temporary folder that has the file."""
        self._loaded: _bufferlab.Loaded | None = None

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], changes: Mapping[str, Value] | None = None, **top: Value
    ) -> Scenario:
        """The scenario in a TOML file, or the one of this name that comes with the package, with changes as in :meth:`with_`.

        >>> Scenario.from_file("star-incast").name
        'star-incast'
        >>> Scenario.from_file("scenarios/star-incast.toml", duration="1 ms").name
        'star-incast'
        """
        scenario = cls.__new__(cls)
        scenario._place(_file_of("path", path), None, ())
        return scenario.with_(changes, **top)

    @classmethod
    def _of_run(cls, path: Path, keep: TemporaryFolder | None) -> Scenario:
        """The scenario in the folder of a run, which lives as long as the scenario."""
        scenario = cls.__new__(cls)
        scenario._place(path, None, (), keep)
        return scenario

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        name: str = "scenario",
        folder: str | os.PathLike[str] | None = None,
    ) -> Scenario:
        """The scenario that a text in TOML describes, as if it stood in ``folder/name.toml``.

        >>> Scenario.from_toml('extends = "scenarios/star-incast.toml"', name="mine").set("seed", 7).seed
        7
        """
        scenario = cls.__new__(cls)
        scenario._place(_place_of(name, folder), _arguments.text("text", text, "a scenario in TOML"), ())
        return scenario

    @overload
    def set(self, key: Literal["switch.policy"], value: PolicyName | str | type[Policy] | Mapping[str, Value]) -> Scenario: ...
    @overload
    def set(self, key: str, value: Value) -> Scenario: ...
    def set(self, key: str, value: Value) -> Scenario:
        """A scenario in which ``key`` has another value, as ``--set`` on the command line has it.

        ``key`` is dotted; entries of a list are named by number or by name: ``workload.0.load``, ``workload.web_search.load``. A table is
        merged with what is there; another policy starts with its own defaults.

        >>> star = Scenario.from_file("scenarios/star-incast.toml")
        >>> star.set("switch.policy", {"name": "abm", "alpha": 0.25}).set("duration", "2 ms").duration_seconds
        0.002
        """
        key = _arguments.text("key", key, 'a dotted key, such as "switch.buffer"')
        return self._set_text(key, _toml.value(value, key))

    def _set_text(self, key: str, value: str) -> Scenario:
        """The same with a value as the command line has it: TOML, or a bare word for a string."""
        changed = type(self).__new__(type(self))
        changed._place(self._path, self._text, (*self._overrides, (key, value)), self._keep)
        return changed

    def with_(self, changes: Mapping[str, Value] | None = None, **top: Value) -> Scenario:
        """Several changes at once: dotted keys in a dictionary, keys of the top as keywords.

        >>> star = Scenario.from_file("scenarios/star-incast.toml")
        >>> star.with_({"switch.policy": "cs"}, seed=3, duration="1 ms").seed
        3
        """
        scenario = self
        given = {} if changes is None else _arguments.mapping("changes", changes, '{"switch.policy": "abm"}')
        for key, value in {**given, **top}.items():
            scenario = scenario.set(key, value)
        return scenario

    def _load(self) -> _bufferlab.Loaded:
        if self._loaded is None:
            if self._text is None:
                _demand(self._path)
            self._loaded = _bufferlab.load(self._path, self._text, list(self._overrides))
        return self._loaded

    def _load_as(self, variant: str | None) -> _bufferlab.Loaded:
        """The same as a variant."""
        return self._load() if variant is None else _bufferlab.load(*self._source(), variant)

    def _source(self) -> _bufferlab._Source:
        return (self._path, self._text, list(self._overrides))

    def check(self) -> Scenario:
        """Reads it, and builds its network once, which finds what only shows when policies meet switches.

        Returns the scenario itself.

        Raises
        ------
        ScenarioError
            With everything that is wrong: file, line, key, and what to do.
        RunError
            If it can be read, but its network cannot be built.
        """
        self._load().check()
        return self

    @property
    def name(self) -> str:
        """Its name, for folders and titles."""
        return self._load().name

    @property
    def description(self) -> str:
        """What it shows."""
        return self._load().description

    @property
    def seed(self) -> int:
        """The seed from which every random stream derives."""
        return self._load().seed

    @property
    def duration_seconds(self) -> float:
        """How long traffic arrives (s)."""
        return self._load().duration_seconds

    @property
    def policy(self) -> str:
        """The policy of the first switch."""
        return self._load().policy

    @property
    def resolved(self) -> str:
        """The scenario as TOML with every default written out: what is kept beside its results."""
        return self._load().resolved

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What to check before trusting the numbers."""
        return tuple(Problem(*fields) for fields in self._load().warnings)

    def __getstate__(self) -> _State:
        # Files stay files: another process finds them by their absolute path. Where it does not, it
        # takes the content as it was here. Own classes come along.
        packed, resolved = None, None
        try:
            loaded = self._load()
        except ScenarioError:
            pass
        else:
            packed = _own.pack(loaded)
            if self._text is None:
                resolved = (loaded.resolved, loaded.inputs)
        folder = None if self._keep is None else Parcel(self._path.parent, self._keep)
        return (self._path.absolute(), self._text, self._overrides, packed, folder, resolved)

    def __setstate__(self, state: _State) -> None:
        path, text, overrides, packed, folder, resolved = state
        _own.unpack(packed)
        if folder is not None:
            self._place(folder.path / path.name, text, overrides, folder.keep)
        elif text is None and resolved is not None and not path.is_file():
            keep = TemporaryFolder()
            written, inputs = resolved
            for name, content in (*inputs, (path.name, written.encode())):
                (keep.path / name).write_bytes(content)
            self._place(keep.path / path.name, None, (), keep)
        else:
            self._place(path, text, overrides)

    def _content(self) -> object:
        """What equal scenarios have in common: every key and every file; the way it is written, where it cannot be read."""
        try:
            loaded = self._load()
        except ScenarioError:
            return (self._path.absolute(), self._text, self._overrides)
        return (loaded.resolved, tuple(loaded.inputs))

    def __eq__(self, other: object) -> bool:
        """Whether both say the same: every key with its default, and the files that they refer to."""
        return self._content() == other._content() if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        changes = "".join(f", {key}={value}" for key, value in self._overrides)
        return f"Scenario({self._path.name}{changes})"


_State = tuple[
    Path,
    Union[str, None],
    tuple[tuple[str, str], ...],
    Union[bytes, None],
    Union[Parcel, None],
    Union[tuple[str, list[tuple[str, bytes]]], None],
]
"""Path, text, changes, own classes, the temporary folder of the path, and the content of a file with the files that it refers to."""

ScenarioLike = Union[Scenario, str, "os.PathLike[str]", Mapping[str, Value]]
"""A scenario, the path of its file, the name of one that comes with the package, or its tables."""


def as_scenario(scenario: ScenarioLike) -> Scenario:
    """What every function makes of its first argument: a path is read, a dictionary described.

    >>> as_scenario("star-incast").name
    'star-incast'
    """
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario(scenario)
    found = Scenario.__new__(Scenario)
    found._place(_file_of("scenario", scenario), None, ())
    return found


def _place_of(name: str, folder: str | os.PathLike[str] | None) -> Path:
    """Where a scenario without a file would be."""
    name = _arguments.text("name", name, "a name")
    if not name or "/" in name or "\0" in name:
        raise _arguments.refuse("name", name, "a name without a slash")
    start = _arguments.optional_path("folder", folder)
    return (start or Path(".")).absolute() / f"{name}.toml"


def _file_of(argument: str, path: str | os.PathLike[str]) -> Path:
    """The file at a path; of a name without a file, the scenario that comes with the package."""
    found = _arguments.path(argument, path, "a Scenario, the path of its file, a name of bufferlab.scenarios(), or a dictionary")
    if _is_name(found) and not found.exists():
        return scenarios().get(str(found), found)
    return found


def _is_name(path: Path) -> bool:
    return path.name == str(path) and path.suffix == ""


def _demand(path: Path) -> None:
    """The file must be there; else the error says what could be meant."""
    if path.exists():
        return
    known = scenarios()
    near = _bufferlab.suggestion(path.stem, list(known))
    help = "the path is relative to the current folder; bufferlab.scenarios() has the scenarios that come with the package, by name"
    if near is not None:
        help = f'did you mean "{near}"? {help[0].upper()}{help[1:]}'
    raise ScenarioError._of([("there is no such file", "", str(path), None, help, None)])


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, for editors and checkers.

    >>> from bufferlab import schema
    >>> "$schema" in schema()
    True
    """
    found: dict[str, Any] = json.loads(_bufferlab.schema())
    return found
