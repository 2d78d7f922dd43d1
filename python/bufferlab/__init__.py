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

from . import _bufferlab
from .exceptions import (
    BufferlabError,
    BufferlabWarning,
    MissingExtraError,
    Problem,
    ResultsError,
    RunError,
    ScenarioError,
)
from .progress import Progress
from .registry import Parameter, PolicyInfo, policies, policy_info
from .runs import Metric, Run, Summary, run
from ._toml import Value
from .scenario import Scenario
from .table import Table
from .tuning import Confirmation, OneOf, Real, Trial, Tuning, Whole, tune

__all__ = [
    "BufferlabError",
    "BufferlabWarning",
    "Confirmation",
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
    "Table",
    "Trial",
    "Tuning",
    "Value",
    "Whole",
    "__commit__",
    "__version__",
    "policies",
    "policy_info",
    "run",
    "tune",
]

__version__, __commit__ = _bufferlab.version()
