"""bufferlab: a laboratory for the shared packet buffer of datacenter switches.

Everything that the command line does is a typed call here, on the same code: the same scenario and seed give the same bytes.

>>> import bufferlab
>>> scenario = bufferlab.Scenario.from_file("scenarios/star-incast.toml", {"switch.policy": "abm"})
>>> result = bufferlab.run(scenario, seed=1)
>>> result.flows.num_rows
140
>>> result.summary.metric("all.slowdown_p99").unit
'x'
"""

from __future__ import annotations

from . import _bufferlab, plot, theory
from ._toml import Value
from .comparisons import Caveat, Cell, Comparison, Estimate, compare, repeat
from .exceptions import (
    BufferlabError,
    BufferlabWarning,
    DomainError,
    MissingExtraError,
    Problem,
    ResultsError,
    RunError,
    ScenarioError,
    SweepError,
)
from .progress import Progress
from .registry import Parameter, PolicyInfo, policies, policy_info
from .runs import Metric, Run, Summary, run
from .scenario import Scenario
from .sweeps import Sweep, sweep
from .table import Table
from .tuning import Confirmation, OneOf, Real, Trial, Tuning, Whole, tune

__all__ = [
    "BufferlabError",
    "BufferlabWarning",
    "Caveat",
    "Cell",
    "Comparison",
    "Confirmation",
    "DomainError",
    "Estimate",
    "Metric",
    "MissingExtraError",
    "OneOf",
    "Parameter",
    "PolicyInfo",
    "Problem",
    "Progress",
    "Real",
    "ResultsError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Summary",
    "Sweep",
    "SweepError",
    "Table",
    "Trial",
    "Tuning",
    "Value",
    "Whole",
    "__commit__",
    "__version__",
    "compare",
    "plot",
    "policies",
    "policy_info",
    "repeat",
    "run",
    "sweep",
    "theory",
    "tune",
]

__version__, __commit__ = _bufferlab.version()
