"""The extension module; its Rust is crates/python."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, final

from .exceptions import BufferlabError

__all__ = [
    "Loaded",
    "PolicyInfo",
    "SweepPlan",
    "execute",
    "load",
    "plan",
    "policies",
    "quantity",
    "report",
    "store",
    "summary",
    "theory_alpha",
    "theory_burst_tolerance",
    "theory_chips",
    "theory_drain_time",
    "theory_ecn",
    "theory_figure",
    "theory_figures",
    "theory_guarantees",
    "theory_headroom",
    "theory_shares",
    "theory_tdt_parameters",
    "version",
]

_Problem = tuple[str, str, str | None, int | None, str | None]
_Metric = tuple[str, str, str, str, int, bool]
_Interval = tuple[int, float, float | None]
_Cell = tuple[str, list[float | None], _Interval | None, _Interval | None]
_Report = tuple[list[str], list[int], list[tuple[_Metric, list[_Cell]]], list[tuple[str, str, str]], str]
_Source = tuple[Path, str | None, list[tuple[str, str]]]
_Job = tuple[Loaded, Path, list[tuple[str, str, str]]]
_Plan = tuple[list[_Job], list[str], list[Path], list[tuple[str, str]]]
_Derivation = tuple[
    str,
    list[tuple[str, str, str, str, str]],
    tuple[list[str], list[list[str]]] | None,
    list[tuple[str, float, str]],
    list[str],
    str,
]
_Panel = tuple[
    str, str, str, tuple[str, bool], tuple[str, bool], list[tuple[str, list[tuple[float, float]]]]
]

@final
class Loaded:
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_seconds(self) -> float: ...
    @property
    def policy(self) -> str: ...
    @property
    def resolved(self) -> str: ...
    @property
    def inputs(self) -> list[tuple[str, bytes]]: ...
    @property
    def warnings(self) -> list[_Problem]: ...
    def check(self) -> None: ...

@final
class PolicyInfo:
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> list[str]: ...
    @property
    def title(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def cost(self) -> str: ...
    @property
    def parameters(self) -> list[tuple[str, str, str, str]]: ...

def version() -> tuple[str, str | None]: ...
def load(path: str | PathLike[str], text: str | None, overrides: list[tuple[str, str]]) -> Loaded: ...
def policies() -> list[PolicyInfo]: ...
def execute(
    jobs: list[_Job],
    threads: int,
    verify: bool,
    progress: Callable[[float, int, int], Any] | None,
) -> list[BufferlabError | None]: ...
def summary(dir: str | PathLike[str]) -> tuple[list[tuple[_Metric, float | None]], str]: ...
def report(dir: str | PathLike[str], order: list[str], write: bool) -> _Report: ...
def store(dir: str | PathLike[str], files: list[tuple[str, bytes]]) -> None: ...
def plan(source: _Source, policies: list[str], seeds: int, out: str | PathLike[str]) -> _Plan: ...
@final
class SweepPlan:
    def __new__(
        cls,
        source: _Source,
        vary: list[tuple[str, list[str]]],
        policies: list[str],
        seeds: int,
        out: str | PathLike[str],
    ) -> SweepPlan: ...
    @property
    def jobs(self) -> list[_Job]: ...
    @property
    def places(self) -> list[str]: ...
    @property
    def kept(self) -> int: ...
    @property
    def failed(self) -> list[str]: ...
    def finish(self) -> str: ...

def theory_burst_tolerance(burst: dict[str, Any], policy: str | None) -> _Derivation: ...
def theory_alpha(
    buffer: float, port_rate: float, rate: float, duration: float, others: list[float]
) -> _Derivation: ...
def theory_shares(
    buffer: float | None, queues: list[int], alpha: float | None, share: float | None
) -> _Derivation: ...
def theory_guarantees(buffer: float, alphas: list[float], gamma: float) -> _Derivation: ...
def theory_drain_time(
    buffer: float, alphas: list[float], port_rate: float, congested: int
) -> _Derivation: ...
def theory_ecn(asked: dict[str, Any]) -> _Derivation: ...
def theory_headroom(link: dict[str, Any]) -> _Derivation: ...
def theory_chips(ports: int, port_rate: float, buffer: float | None) -> _Derivation: ...
def theory_tdt_parameters(buffer: float, packet: float, ports: int, burst_ratio: float) -> _Derivation: ...
def theory_figures() -> list[tuple[str, str]]: ...
def theory_figure(name: str) -> list[_Panel]: ...
def quantity(text: str, dimension: str) -> float: ...
