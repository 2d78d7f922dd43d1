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
    ConformanceError,
    MissingExtraError,
    PolicyError,
    Problem,
    ResultsError,
    RunError,
    ScenarioError,
)
from .policy import (
    Arrival,
    Buffer,
    Departure,
    Policy,
    Switch,
    Trial,
    Verdict,
    Weight,
    own_policies,
    param,
    register,
    trial,
)
from .checks import Check, Conformance, conformance
from .progress import Progress
from .registry import Parameter, PolicyInfo, policies, policy_info
from .runs import Metric, Run, Summary, run
from ._toml import Value
from .scenario import Scenario
from .table import Table

__all__ = [
    "Arrival",
    "Buffer",
    "BufferlabError",
    "BufferlabWarning",
    "Check",
    "Conformance",
    "ConformanceError",
    "Departure",
    "Metric",
    "MissingExtraError",
    "Parameter",
    "Policy",
    "PolicyError",
    "PolicyInfo",
    "Problem",
    "Progress",
    "ResultsError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Summary",
    "Switch",
    "Table",
    "Trial",
    "Value",
    "Verdict",
    "Weight",
    "__commit__",
    "__version__",
    "conformance",
    "own_policies",
    "param",
    "policies",
    "policy_info",
    "register",
    "run",
    "trial",
]

__version__, __commit__ = _bufferlab.version()
