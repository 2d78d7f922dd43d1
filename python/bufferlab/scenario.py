"""Scenarios from files, text or dictionaries, with changes of single keys."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

from . import _arguments, _bufferlab, _custom, _html, _reading, _toml
from ._folders import Parcel, TemporaryFolder
from ._toml import Value
from .exceptions import ArgumentError, Problem, ScenarioError
from .shipped import scenarios

if TYPE_CHECKING:
    from typing import Literal

    from ._names import PolicyName
    from .policy import Policy
    from .typed import ScenarioTables

__all__ = ["Scenario", "ScenarioLike", "as_scenario", "schema"]


class Scenario:
    """A network, its switches and its traffic. A scenario is immutable; a change makes a new
    scenario.

    The keys are the keys of scenario files (``docs/reference/scenarios.md``). Quantities are text
    with a unit, tables are dictionaries, and ``[[workload]]`` is a list of dictionaries.
    The scenario is read when its content is first needed, or by :meth:`check`.

    Parameters
    ----------
    tables
        The keys of the scenario, as in a scenario file. With the types of
        :mod:`bufferlab.typed`, an editor completes the keys, and a type checker refuses misspelt
        keys.
    name
        Name of the scenario, if the argument ``tables`` has no name.
    folder
        Folder to which paths in the scenario (``extends``, ``flows``) are relative;
        by default the current folder.

    Examples
    --------
    >>> from bufferlab import Scenario
    >>> scenario = Scenario({
    ...     "duration": "1 ms",
    ...     "topology": {"kind": "single_switch", "hosts": 4, "rate": "10 Gb/s", "delay": "2 us"},
    ...     "switch": {"buffer": "100 KB", "policy": "dt"},
    ...     "transport": [{"congestion_control": "dctcp"}],
    ...     "workload": [
    ...         {
    ...             "kind": "incast", "fan_in": 3, "request": "60 KB",
    ...             "queries_per_second_per_host": 500.0,
    ...         }
    ...     ],
    ... }, name="small")
    >>> scenario.policy, scenario.seed
    ('dt', 1)
    >>> scenario.set("switch.policy", "abm").policy
    'abm'
    """

    __slots__ = ("_keep", "_loaded", "_overrides", "_path", "_text")

    def __init__(
        self,
        tables: Mapping[str, Value] | ScenarioTables,
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
        """The temporary folder that contains the scenario's file."""
        self._loaded: _bufferlab.Loaded | None = None

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], changes: Mapping[str, Value] | None = None, **top: Value
    ) -> Scenario:
        """Returns the scenario in a TOML file, or the scenario of the package with the given name.

        The arguments ``changes`` and ``top`` are changes of keys, as for :meth:`with_`.

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
        """Loads the scenario from the folder of a run, and keeps a temporary folder alive."""
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
        """Returns the scenario in a TOML text, which is read like the file ``folder/name.toml``.

        >>> mine = Scenario.from_toml('extends = "scenarios/star-incast.toml"', name="mine")
        >>> mine.set("seed", 7).seed
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
        """Returns a copy of the scenario with another value of ``key``, like ``--set`` on the
        command line.

        The argument ``key`` is a dotted key. A list entry is given by number or name:
        ``workload.0.load``, ``workload.web_search.load``. A table is merged with the existing
        table. If the value names a different policy, its parameters start from their defaults.

        >>> star = Scenario.from_file("scenarios/star-incast.toml")
        >>> abm = star.set("switch.policy", {"name": "abm", "alpha": 0.25})
        >>> abm.set("duration", "2 ms").duration_seconds
        0.002
        """
        key = _arguments.text("key", key, 'a dotted key, such as "switch.buffer"')
        return self._set_text(key, _toml.value(value, key))

    def _set_text(self, key: str, value: str) -> Scenario:
        """Sets ``key`` to a value in the syntax of the command line: TOML, or a bare word."""
        changed = type(self).__new__(type(self))
        changed._place(self._path, self._text, (*self._overrides, (key, value)), self._keep)
        return changed

    def with_(self, changes: Mapping[str, Value] | None = None, **top: Value) -> Scenario:
        """Returns a copy of the scenario with several changes: dotted keys, or top-level keys as
        keywords.

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
        """Returns the loaded scenario, with the changes of ``variant`` if given."""
        return self._load() if variant is None else _bufferlab.load(*self._source(), variant)

    def _source(self) -> _bufferlab._Source:
        return (self._path, self._text, list(self._overrides))

    def check(self) -> Scenario:
        """Reads the scenario, builds its network once, and returns this scenario.

        Building the network finds mistakes in the combination of policies and switches.

        Raises
        ------
        ScenarioError
            If the scenario has mistakes. The error lists all mistakes with file, line, key and
            advice.
        RunError
            If the scenario can be read, but its network cannot be built.
        """
        self._load().check()
        return self

    def __getitem__(self, key: str) -> Any:
        """The value of a dotted key, with all defaults: a number, a truth value, a text with its
        unit, a list, or a table as a dictionary. A list entry is given by number or name.

        >>> star = Scenario.from_file("star-incast")
        >>> star["switch.buffer"], star["switch.policy"]["name"], star["workload.0.fan_in"]
        ('400 KB', 'dt', 7)
        """
        key = _arguments.text("key", key, 'a dotted key, such as "switch.buffer"')
        return _reading.value(_reading.read(self.resolved), key)

    def __contains__(self, key: object) -> bool:
        """Whether the scenario has the dotted key ``key``."""
        try:
            self[key]  # type: ignore[index]
        except ArgumentError:
            return False
        return True

    def keys(self) -> tuple[str, ...]:
        """The dotted keys of all single values of the scenario, with all defaults."""
        return tuple(key for key, _ in _reading.keys(_reading.read(self.resolved)))

    # Without this line, Python would iterate over numbers as keys.
    __iter__ = None

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())

    def _repr_html_(self) -> str:
        try:
            resolved = self.resolved
        except ScenarioError as error:
            return f"<pre>{escape(repr(self))}\n{escape(str(error))}</pre>"
        rows = [(key, value) for key, value in _reading.keys(_reading.read(resolved)) if key not in ("name", "description")]
        more = [(f"{len(rows) - _ROWS_MAX} more keys in keys()", None)] if len(rows) > _ROWS_MAX else []
        caption = f"{self.name}: {self.description}" if self.description else self.name
        return _html.table(caption, ("key", "value"), [*rows[:_ROWS_MAX], *more])

    @property
    def name(self) -> str:
        """Name of the scenario, for folders and titles of pages."""
        return self._load().name

    @property
    def description(self) -> str:
        """Purpose of the scenario, as its file describes it."""
        return self._load().description

    @property
    def seed(self) -> int:
        """The seed of the scenario, from which every random stream derives."""
        return self._load().seed

    @property
    def duration_seconds(self) -> float:
        """Duration in which the flows of the scenario's traffic start (s)."""
        return self._load().duration_seconds

    @property
    def policy(self) -> str:
        """Name of the policy that the first switch has."""
        return self._load().policy

    @property
    def resolved(self) -> str:
        """The scenario as TOML with all defaults, which is stored with the results."""
        return self._load().resolved

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Warnings about the scenario's numbers, to check before you trust the numbers."""
        return tuple(Problem(*fields) for fields in self._load().warnings)

    def __getstate__(self) -> _State:
        # The pickle names files by absolute path. The pickle also contains the custom classes, and
        # the content of the files for a process that cannot find them.
        packed, resolved = None, None
        try:
            loaded = self._load()
        except ScenarioError:
            pass
        else:
            packed = _custom.pack(loaded)
            if self._text is None:
                resolved = (loaded.resolved, loaded.inputs)
        folder = None if self._keep is None else Parcel(self._path.parent, self._keep)
        return (self._path.absolute(), self._text, self._overrides, packed, folder, resolved)

    def __setstate__(self, state: _State) -> None:
        path, text, overrides, packed, folder, resolved = state
        _custom.unpack(packed)
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
        """The content of a scenario that ``==`` compares: all keys and all files.

        For an unreadable scenario, ``==`` compares the path, the text and the changes.
        """
        try:
            loaded = self._load()
        except ScenarioError:
            return (self._path.absolute(), self._text, self._overrides)
        return (loaded.resolved, tuple(loaded.inputs))

    def __eq__(self, other: object) -> bool:
        """Whether two scenarios have equal keys (including defaults) and equal files."""
        return self._content() == other._content() if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        changes = "".join(f", {key}={value}" for key, value in self._overrides)
        return f"Scenario({self._path.name}{changes})"


_ROWS_MAX = 60
"""Largest number of keys that a notebook shows."""

_State = tuple[
    Path,
    Union[str, None],
    tuple[tuple[str, str], ...],
    Union[bytes, None],
    Union[Parcel, None],
    Union[tuple[str, list[tuple[str, bytes]]], None],
]
"""State of a pickled scenario: path, text, changes, custom classes, temporary folder, files."""

ScenarioLike = Union[Scenario, str, "os.PathLike[str]", Mapping[str, Value], "ScenarioTables"]
"""A scenario, the path of its file, the name of a scenario of the package, or its keys as a
dictionary."""


def as_scenario(scenario: ScenarioLike) -> Scenario:
    """Converts a path, a name or tables to a scenario.

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
    """Returns the path at which a scenario from text or tables would be stored."""
    name = _arguments.text("name", name, "a name")
    if not name or "/" in name or "\0" in name:
        raise _arguments.refuse("name", name, "a name without a slash")
    start = _arguments.optional_path("folder", folder)
    return (start or Path(".")).absolute() / f"{name}.toml"


def _file_of(argument: str, path: str | os.PathLike[str]) -> Path:
    """Returns the file at a path, or else the scenario of the package with this name."""
    found = _arguments.path(argument, path, "a Scenario, the path of its file, a name of bufferlab.scenarios(), or a dictionary")
    if _is_name(found) and not found.exists():
        return scenarios().get(str(found), found)
    return found


def _is_name(path: Path) -> bool:
    return path.name == str(path) and path.suffix == ""


def _demand(path: Path) -> None:
    """Raises an error with a suggestion if the scenario's file does not exist."""
    if path.exists():
        return
    known = scenarios()
    near = _bufferlab.suggestion(path.stem, list(known))
    help = "the path is relative to the current folder; bufferlab.scenarios() has the scenarios that come with the package, by name"
    if near is not None:
        help = f'did you mean "{near}"? {help[0].upper()}{help[1:]}'
    raise ScenarioError._of([("there is no such file", "", str(path), None, help, None)])


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of scenario files, for editors and checkers.

    >>> from bufferlab import schema
    >>> "$schema" in schema()
    True
    """
    found: dict[str, Any] = json.loads(_bufferlab.schema())
    return found
