"""SONiC's buffer configurations: explanations, checks, predictions, test vectors, what-if analyses.

>>> from bufferlab import sonic
>>> switch = sonic.read("testdata/sonic/switch", chip="trident3")
>>> [finding.rule for finding in switch.lint() if finding.severity == "error"]
[]
>>> switch.vectors().groups[0]["pause"]
{'formula': 4117, 'simulated': 4117}

``docs/how-to/operators.md`` explains the results of these functions.
"""

from __future__ import annotations

import json
import operator
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _arguments, _bufferlab
from ._folders import TemporaryFolder
from .comparisons import Comparison, compare
from .exceptions import ArgumentError, BufferlabWarning, ConfigurationError, ResultsError
from .executors import How
from .explanations import seconds
from .progress import ProgressOption
from .scenario import Scenario

__all__ = [
    "Choice",
    "Configuration",
    "Difference",
    "Explanation",
    "Finding",
    "Prediction",
    "Probe",
    "Recommendation",
    "TunedProfile",
    "Tuner",
    "Vectors",
    "WhatIf",
    "read",
    "read_chips",
]

_ENDINGS = {".json", ".ini", ".txt"}
_BYTES_MAX = 64 << 20
_U8_MAX = (1 << 8) - 1
_U32_MAX = (1 << 32) - 1


@dataclass(frozen=True)
class Finding:
    """A problem in a SONiC configuration, or a remark about the configuration."""

    rule: str
    """Number of the lint rule (``SB003``)."""
    name: str
    """Name of the lint rule."""
    severity: str
    """Severity of the finding: ``error``, ``warning`` or ``info``."""
    message: str
    """Description of the problem in the configuration, with numbers."""
    place: Mapping[str, Any]
    """Place of the problem in the configuration files: file, line, table, key and field."""
    suggestion: str
    """The change of the configuration that the rule suggests; may be empty."""
    plain: Mapping[str, Any]
    """All fields of the finding, as in the output of ``bufferlab sonic lint --format json``."""


@dataclass(frozen=True)
class Explanation:
    """An explanation of a switch's buffer configuration."""

    plain: Mapping[str, Any]
    """Memory size of the chip, types of ports, and all buffer limits of every traffic class."""
    text: str
    """The explanation of the configuration, as text."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Difference:
    """The effect of a configuration change, in bytes and findings."""

    new_errors: bool
    """Whether the changed configuration has a new finding with severity ``error``."""
    plain: Mapping[str, Any]
    """Changes, new findings and resolved findings, as in the output of ``bufferlab sonic diff
    --json``."""
    text: str
    """The difference between two configurations as text."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Prediction:
    """Predicted occupancies at which a chip pauses, drops and resumes."""

    plain: Mapping[str, Any]
    """Predictions for the shared buffer, priority groups, queues and headroom pools."""
    text: str
    """The predicted thresholds of the chip, as text."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Vectors:
    """Test vectors of a chip, from the chip's formulas and from a packet-level simulation."""

    groups: Sequence[Mapping[str, Any]]
    """Test vectors of lossless priority groups, one entry per profile."""
    queues: Sequence[Mapping[str, Any]]
    """Test vectors of lossy queues, one entry per profile."""
    plain: Mapping[str, Any]
    """All test vectors as dictionaries and lists."""
    text: str
    """The test vectors as a table of text."""
    qos_params: str
    """The test vectors as YAML for the QoS tests of sonic-mgmt."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Choice:
    """A buffer setting in a what-if comparison."""

    label: str
    """Name of the setting in tables."""
    meaning: str
    """Meaning of the setting on the switch."""
    variant: str
    """Text of the setting's variant for :func:`bufferlab.compare`."""


@dataclass(frozen=True)
class Recommendation:
    """The buffer setting that a what-if comparison recommends, from simulation runs."""

    choice: str
    """Label of the recommended setting.

    The label is ``today`` if no other setting is significantly better. The label is ``none`` if
    today's setting loses lossless packets and no other setting is safe.
    """
    reasons: tuple[str, ...]
    """Reasons for the recommendation of this setting."""
    caveats: tuple[str, ...]
    """Limits of the what-if recommendation."""
    comparison: Comparison
    """The comparison of runs with all buffer settings."""
    text: str
    """Table of the comparison, recommendation and caveats as text."""

    def __str__(self) -> str:
        return self.text


class WhatIf:
    """A scenario for a SONiC configuration, and the buffer settings to compare in it."""

    def __init__(self, plan: _bufferlab.SonicWhatIf, question: tuple[Configuration, dict[str, Any]]) -> None:
        self._plan = plan
        self._question = question
        self.scenario = plan.scenario()
        """The text of the what-if scenario file, for `bufferlab run`."""
        self.choices = tuple(Choice(*plain) for plain in plan.choices())
        """The buffer settings to compare, today's configuration first."""
        self.notes = tuple(plan.notes())
        """Simplifications of the scenario compared with the real switch."""

    def __reduce__(self) -> tuple[Any, ...]:
        configuration, arguments = self._question
        return (_ask_again, (configuration, arguments))

    def run(
        self,
        *,
        seeds: int = 5,
        out: str | os.PathLike[str] | None = None,
        replace: bool = False,
        jobs: int | None = None,
        progress: ProgressOption = None,
    ) -> Recommendation:
        """Runs every buffer setting with every seed and recommends a setting.

        Parameters
        ----------
        seeds
            Number of seeds for each setting.
        out
            Folder of the scenario (``what-if.toml``) and of the runs (``compare``),
            in the format of the command line.
            The default is a temporary folder that is removed with the returned recommendation.
        replace
            Whether to remove runs of a different scenario from the folder ``out`` first.
        jobs
            Number of runs in parallel; by default the number of cores.
        progress
            Kind of progress display, as for :func:`bufferlab.compare`.

        Raises
        ------
        RunError, ResultsError
            If :func:`bufferlab.compare`, which runs the settings, raises one of the errors.
        """
        how = How.checked(seeds=seeds, out=out, replace=replace, jobs=jobs, progress=progress)
        keep = TemporaryFolder() if how.out is None else None
        folder = keep.path if keep is not None else how.out or Path()
        self._plan.write(folder, how.replace)
        path = folder / "what-if.toml"
        with warnings.catch_warnings():
            # The notes of the what-if analysis already include the warnings about the scenario.
            warnings.simplefilter("ignore", BufferlabWarning)
            comparison = compare(
                Scenario.from_file(path),
                variants=[choice.variant for choice in self.choices],
                seeds=seeds,
                out=folder / "compare",
                replace=replace,
                jobs=jobs,
                progress=progress,
            )
        choice, reasons, caveats, text = self._plan.recommend(folder / "compare")
        comparison._keep = keep
        return Recommendation(choice, tuple(reasons), tuple(caveats), comparison, text)


class Probe:
    """A simulated chip with the two calls that MMU probing of sonic-mgmt requires of an executor.

    >>> from bufferlab import sonic
    >>> probe = sonic.read("testdata/sonic/switch", chip="trident3").probe("pfc_xoff")
    >>> probe.prepare(0, 1)
    >>> probe.check(0, 1, 4116, pg=3), probe.check(0, 1, 4117, pg=3)
    ((True, False), (True, True))
    """

    def __init__(self, chip: _bufferlab.SonicProbe, probe: str) -> None:
        self._chip = chip
        self.probe = probe
        """Kind of the threshold probe, such as ``pfc_xoff``; :data:`PROBES` has all kinds."""

    def same_chip(self, probe: str) -> Probe:
        """Returns a probe of another kind that shares the chip, with its packets and persistent
        groups."""
        return Probe(self._chip, _arguments.choice("probe", probe, PROBES))

    def __reduce__(self) -> tuple[Any, ...]:
        raise _not_pickled("a probe", "it has a simulated chip with its packets: make it where you use it, with `Configuration.probe`")

    def request(self, **request: Any) -> Mapping[str, Any]:
        """Sends a request of ``bufferlab sonic probe`` and returns the answer.

        Raises
        ------
        ConfigurationError
            If the request is invalid.
        """
        try:
            line = json.dumps(request, default=_plain_number, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"request: {error}", "give numbers and text", "request") from error
        answer: Mapping[str, Any] = json.loads(self._chip.answer(line))
        if not answer["success"]:
            raise ConfigurationError(str(answer.get("error", "the request failed")), "see `probe` in docs/how-to/operators.md")
        return answer

    def persist(self, src_port: int, dst_port: int, count: int, *, pg: int) -> None:
        """Keeps ``count`` packets of a priority group in the switch, even when a call empties the
        switch.

        A tester of a headroom pool uses ``persist`` to fill one priority group after another.
        """
        ports = _ports(src_port, dst_port)
        self.request(op="persist", **ports, value=_arguments.whole("count", count), pg=_arguments.whole("pg", pg, most=_U8_MAX))

    def drain(self) -> None:
        """Removes all packets from the switch, including persistent packets."""
        self.request(op="drain")

    def prepare(self, src_port: int, dst_port: int) -> None:
        """Removes all packets from the switch, except for persistent packets."""
        self.request(op="prepare", **_ports(src_port, dst_port))

    def check(
        self,
        src_port: int,
        dst_port: int,
        value: int,
        attempts: int = 1,
        drain_buffer: bool = True,
        iteration: int = 0,
        **traffic_keys: int,
    ) -> tuple[bool, bool]:
        """Sends ``value`` packets. Returns whether the packets were sent, and whether the chip
        reached the threshold.

        For ``pfc_xon``, ``dst_port_b=`` is the port that keeps its packets while the chip drains
        ``dst_port``.
        """
        answer = self.request(
            op="check",
            probe=self.probe,
            **_ports(src_port, dst_port),
            value=_arguments.whole("value", value),
            attempts=_arguments.whole("attempts", attempts, least=1),
            drain_buffer=_arguments.flag("drain_buffer", drain_buffer),
            iteration=_arguments.whole("iteration", iteration),
            **{name: _arguments.whole(name, key) for name, key in traffic_keys.items()},
        )
        return True, bool(answer["detected"])


class Configuration:
    """The SONiC configuration of one chip, which :func:`read` returns."""

    def __init__(
        self, plain: _bufferlab.SonicConfiguration, chip: str | None, source: tuple[list[tuple[str, bytes]], str] | None = None
    ) -> None:
        self._plain = plain
        self._source = source
        """The configuration files and the name of the chip; ``None`` for a running switch."""
        self.chip = chip
        """Name of the chip family, if the user gives the name."""
        self.problems = tuple(plain.problems())
        """Parts of the configuration that bufferlab did not understand."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise _not_pickled("a configuration of a running switch", "save its databases as files, and read those")
        return (_read_again, (*self._source, self.chip))

    def explain(self) -> Explanation:
        """Explains the chip's memory, and all buffer limits of every traffic class."""
        plain, text = self._plain.explain(self.chip)
        return Explanation(json.loads(plain), text)

    def lint(self, *, allow: Mapping[str, str] | None = None, round_trip_us: float = 8.0) -> tuple[Finding, ...]:
        """Finds problems in the switch's configuration.

        Parameters
        ----------
        allow
            Lint rules to switch off, each with a reason: ``{"SB008": "hosts mark by delay"}``.
        round_trip_us
            Round-trip time of the network without queues (microseconds).

        Raises
        ------
        ConfigurationError
            If a lint rule or a chip is unknown, or the reason for switching a rule off is missing.
        """
        given = {} if allow is None else _arguments.mapping("allow", allow, '{"SB008": "hosts mark by delay"}')
        rules = [(_arguments.text("allow", rule), _arguments.text(f'allow["{rule}"]', why, "a reason")) for rule, why in given.items()]
        round_trip_us = _arguments.number("round_trip_us", round_trip_us, least=0.0)
        found = json.loads(self._plain.lint(self.chip, rules, round_trip_us))
        return tuple(_finding(plain) for plain in found)

    def predict(self, *, packet_bytes: int = 64) -> Prediction:
        """Predicts the occupancies at which the chip pauses, drops and resumes, for packets of
        ``packet_bytes`` (bytes).

        Raises
        ------
        ConfigurationError
            If the chip is unknown, or the buffer pools have no sizes.
        """
        plain, text = self._plain.predict(self.chip, _packet_bytes(packet_bytes))
        return Prediction(json.loads(plain), text)

    def vectors(self, *, packet_bytes: int = 64) -> Vectors:
        """Returns test vectors for qualification with packets of ``packet_bytes`` (bytes).

        Raises
        ------
        ConfigurationError
            If the chip is unknown, or the buffer pools have no sizes, as in :meth:`predict`.
        """
        text_of_json, text, qos_params = self._plain.vectors(self.chip, _packet_bytes(packet_bytes))
        plain = json.loads(text_of_json)
        return Vectors(plain["groups"], plain["queues"], plain, text, qos_params)

    def probe(self, probe: str, *, packet_bytes: int = 64) -> Probe:
        """Creates a simulated chip that answers probes of one kind."""
        probe = _arguments.choice("probe", probe, PROBES)
        return Probe(self._plain.probe(self.chip, _packet_bytes(packet_bytes)), probe)

    def diff(self, other: Configuration) -> Difference:
        """Describes the effect of a change from this configuration to another configuration.

        Raises
        ------
        ConfigurationError
            If the chip is unknown.
        """
        _arguments.instance("other", other, Configuration, "a Configuration of sonic.read")
        plain, text = self._plain.diff(other._plain, self.chip if self.chip is not None else other.chip)
        read = json.loads(plain)
        return Difference(read["new_errors"], read, text)

    def what_if(
        self,
        *,
        against: Configuration | None = None,
        traffic: str = "rdma-tcp",
        leaves: int | None = None,
        load: float = 0.4,
        fan_in: int | None = None,
        request: str | int | None = None,
        duration: str | float | None = None,
    ) -> WhatIf:
        """Creates a scenario that compares the configuration with other alphas, ABM and Reverie.

        The method :meth:`WhatIf.run` runs the comparison.

        Parameters
        ----------
        against
            Another configuration to compare; its ports must equal the ports of this configuration.
        traffic
            Kind of traffic: ``rdma-tcp``, ``incast``, ``web-search`` or ``storage``.
        leaves
            Number of leaf switches of a leaf–spine network with half as many spines; every switch
            has this configuration. By default, the network is one switch with a host at every port.
        load
            Offered load as a fraction of the rate of the host links.
        fan_in
            Number of servers that answer a client simultaneously; by default 32,
            or all other hosts.
        request
            Total size of the answers to a query (``"2 MB"``, or bytes);
            by default a quarter of the shared buffer.
        duration
            Duration in which flows start (``"20 ms"``, or seconds).
            The default duration gives about 2.5 million packet-hops.

        Raises
        ------
        ConfigurationError
            If the traffic does not fit the switch, or the other configuration has different ports.
        ArgumentError
            If an argument of :meth:`what_if` is wrong.
        """
        question = {
            "against": against,
            "traffic": traffic,
            "leaves": leaves,
            "load": load,
            "fan_in": fan_in,
            "request": request,
            "duration": duration,
        }
        if isinstance(request, str):
            request = int(_bufferlab.quantity("request", _arguments.text("request", request), "size"))
        if against is not None:
            _arguments.instance("against", against, Configuration, "a Configuration of sonic.read")
        plan = self._plain.what_if(
            self.chip,
            against._plain if against is not None else None,
            _arguments.choice("traffic", traffic, TRAFFIC),
            _arguments.optional_whole("leaves", leaves, least=1),
            _arguments.number("load", load, least=0.0),
            _arguments.optional_whole("fan_in", fan_in, least=1),
            _arguments.optional_whole("request", request, least=1),
            None if duration is None else seconds("duration", duration),
        )
        return WhatIf(plan, (self, question))


PROBES = ("pfc_xoff", "pfc_xon", "ingress_drop", "egress_drop", "headroom_pool")
"""Kinds of threshold events that a probe can find."""

TRAFFIC = ("rdma-tcp", "incast", "web-search", "storage")
"""Kinds of traffic of a what-if comparison."""

_PACKET_BYTES_MAX = 65_536


def _ports(src_port: int, dst_port: int) -> dict[str, int]:
    """Checks the port numbers in a probe request."""
    return {
        "src_port": _arguments.whole("src_port", src_port, most=_U32_MAX),
        "dst_port": _arguments.whole("dst_port", dst_port, most=_U32_MAX),
    }


def _packet_bytes(value: int) -> int:
    return _arguments.whole("packet_bytes", value, least=1, most=_PACKET_BYTES_MAX)


def _plain_number(value: Any) -> int:
    """Converts an integer of NumPy to a type that JSON can represent."""
    return operator.index(value)


def _not_pickled(what: str, help: str) -> ArgumentError:
    return ArgumentError(f"{what} cannot be pickled or copied", help)


def _ask_again(configuration: Configuration, arguments: dict[str, Any]) -> WhatIf:
    """Restores a what-if comparison that was pickled."""
    return configuration.what_if(**arguments)


def _read_again(files: list[tuple[str, bytes]], name: str, chip: str | None) -> Configuration:
    """Restores a SONiC configuration that was pickled."""
    found = dict(_bufferlab.sonic_read(files, None))
    return Configuration(found[name], chip, (files, name))


@dataclass(frozen=True)
class TunedProfile:
    """A buffer profile whose alpha the tuner adapts to congestion."""

    name: str
    """Name of the profile whose alpha is tuned."""
    configured: int
    """Configured value of the profile's ``dynamic_th``."""
    applied: int
    """Current value of the profile's ``dynamic_th`` on the switch."""
    bounds: tuple[int, int]
    """Lowest and highest ``dynamic_th`` that the tuner may set."""
    queues: int
    """Number of queues and priority groups that use the profile."""


class Tuner:
    """Adapts the alphas of a running switch to congestion, as ``bufferlab sonic tune`` does.

    The end of a ``with`` block restores the configured values.

    .. code-block:: python

        with sonic.Tuner("localhost:6379", apply=True, up=1) as tuner:
            while not tuner.must_end:
                for event in tuner.step():
                    print(event)
                time.sleep(10)

    Parameters
    ----------
    redis
        The Redis server of the switch: ``"host:port"``, or the path of its socket.
    apply
        Whether to write ``dynamic_th`` to the switch; the default is a dry run.
    down, up
        Maximum number of steps by which ``dynamic_th`` may be below and above the configured value.
    hold
        Minimum number of intervals between two changes of a buffer profile.
    faults
        Number of consecutive faults after which the tuner restores all configured values.
    lossless
        Whether to tune lossless priority groups, too, which changes their pause thresholds.
    journal
        Journal file that stores the configured values while the switch has tuned values. If a tuner
        was killed, the next tuner first restores the values from the journal. The default is a file
        in the current folder with the address of the Redis server in its name.

    Raises
    ------
    ConfigurationError
        If the switch does not answer, or has no profile that can be tuned.
    """

    def __init__(
        self,
        redis: str,
        *,
        apply: bool = False,
        down: int = 2,
        up: int = 2,
        hold: int = 3,
        faults: int = 3,
        lossless: bool = False,
        journal: str | os.PathLike[str] | None = None,
    ) -> None:
        self._tuner = _bufferlab.SonicTuner(
            _arguments.text("redis", redis, "the Redis of a switch, such as \"localhost:6379\""),
            _arguments.flag("apply", apply),
            _arguments.whole("down", down, most=_U8_MAX),
            _arguments.whole("up", up, most=_U8_MAX),
            _arguments.whole("hold", hold, most=_U32_MAX),
            _arguments.whole("faults", faults, most=_U32_MAX),
            _arguments.flag("lossless", lossless),
            None if journal is None else _arguments.path("journal", journal, "the path of a file"),
        )
        self._start = time.monotonic()

    def __reduce__(self) -> tuple[Any, ...]:
        raise _not_pickled("a tuner", "it has a connection and a journal: make it in the process that tunes")

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, *reason: object) -> None:
        self.revert()

    @property
    def profiles(self) -> tuple[TunedProfile, ...]:
        """The profiles whose alpha the tuner changes."""
        return tuple(TunedProfile(*plain) for plain in self._tuner.profiles())

    @property
    def must_end(self) -> bool:
        """Whether the tuner must end because of too many consecutive faults."""
        return self._tuner.must_end()

    def step(self, at: float | None = None) -> list[Mapping[str, Any]]:
        """Reads the counters of the switch and applies due changes; returns the events.

        An event has the format of the key ``what`` in the output of ``bufferlab sonic tune
        --json``.

        Parameters
        ----------
        at
            Time at which the counters are read (in seconds since an arbitrary start); by default
            the current time.
        """
        now = time.monotonic() - self._start if at is None else _arguments.number("at", at)
        events: list[Mapping[str, Any]] = json.loads(self._tuner.step(now))
        return events

    def revert(self) -> list[Mapping[str, Any]]:
        """Restores the configured values on the switch and returns the tuner's events."""
        events: list[Mapping[str, Any]] = json.loads(self._tuner.revert())
        return events


def _finding(plain: Mapping[str, Any]) -> Finding:
    return Finding(
        rule=plain["rule"],
        name=plain["name"],
        severity=plain["severity"],
        message=plain["message"],
        place={key: plain[key] for key in ("file", "line", "table", "key", "field") if key in plain},
        suggestion=plain.get("suggestion", ""),
        plain=plain,
    )


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}", "give files or folders that exist and can be read") from error
    if len(content) > _BYTES_MAX:
        raise ConfigurationError(f"{path} has more than {_BYTES_MAX} B", "give a configuration: none is as large")
    return content


def _files(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(file for file in path.iterdir() if file.suffix in _ENDINGS and file.is_file())
        if not found:
            raise ConfigurationError(f"{path} has no .json, .ini or .txt file", "give a folder with config_db.json, or the files themselves")
        files.extend(found)
    return [(str(file), _content(file)) for file in files]


def read_chips(
    *paths: str | os.PathLike[str], redis: str | None = None, chip: str | None = None
) -> dict[str, Configuration]:
    """Reads the configuration of every chip of a switch; returns the configurations by name
    (``asic0``).

    The only chip of a switch has an empty name.

    Parameters
    ----------
    paths
        Configuration files of one switch, or folders that contain them.
    redis
        The Redis server of a running switch: ``"host:port"``, or the path of its socket.
    chip
        Name of the chip family, if the configuration does not contain it.

    Raises
    ------
    ConfigurationError
        If a file or database cannot be read.
    """
    given = [_arguments.path(f"paths[{place}]", path) for place, path in enumerate(paths)]
    redis = _arguments.optional_text("redis", redis, "the Redis of a switch, such as \"localhost:6379\"")
    chip = _arguments.optional_text("chip", chip, "the name of a chip family")
    if not given and redis is None:
        raise ConfigurationError("there is nothing to read", "give files, folders, or redis=\"host:port\"")
    files = _files(given)
    found = _bufferlab.sonic_read(files, redis)
    return {name: Configuration(plain, chip, (files, name) if redis is None else None) for name, plain in found}


def read(*paths: str | os.PathLike[str], redis: str | None = None, chip: str | None = None) -> Configuration:
    """Reads the configuration of a switch with one chip; see :func:`read_chips` for the
    arguments."""
    found = read_chips(*paths, redis=redis, chip=chip)
    if len(found) > 1:
        raise ConfigurationError(f"the files describe several chips: {', '.join(found)}", "use read_chips")
    return next(iter(found.values()))
