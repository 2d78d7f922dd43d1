"""bufferlab: a laboratory for the shared packet buffer of datacenter switches.

Typed calls that run the same code as the command line: the same scenario and seed give the same
bytes.

>>> import bufferlab
>>> scenario = bufferlab.Scenario.from_file("scenarios/star-incast.toml", {"switch.policy": "cs"})
>>> result = bufferlab.run(scenario, seed=1)
>>> result.flows.num_rows
140
>>> result.summary.metric("all.slowdown_p99").unit
'x'
"""

from __future__ import annotations

from . import _bufferlab, plot, sonic, theory
from ._toml import Value
from .comparisons import Caveat, Cell, Change, Comparison, Estimate, compare, repeat
from .congestion import Ack, CongestionControl, Hop, Path, Window, own_congestion_controls
from .exceptions import (
    ArgumentError,
    BufferlabError,
    BufferlabWarning,
    ConfigurationError,
    ConformanceError,
    ControlError,
    DomainError,
    MarkingError,
    MissingExtraError,
    PolicyError,
    Problem,
    ResultsError,
    RunError,
    ScenarioError,
    SweepError,
    UnknownNameError,
    WorkloadError,
)
from .explanations import explain
from .marking import Markable, MarkingRule, own_marking_rules
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
from .reproduction import Experiment, JudgedClaim, Reproduction, experiments, reproduce
from .runs import Metric, Run, Summary, run
from .scenario import Scenario, schema
from .shipped import scenarios
from .sweeps import Sweep, sweep
from .table import Table
from .workload import Flow, Network, Workload, own_workloads
from .tuning import Confirmation, OneOf, Proposal, Real, Tuning, Whole, tune

__all__ = [
    "Ack",
    "ArgumentError",
    "Arrival",
    "Buffer",
    "BufferlabError",
    "BufferlabWarning",
    "Caveat",
    "Cell",
    "Change",
    "Check",
    "Comparison",
    "ConfigurationError",
    "Confirmation",
    "Conformance",
    "ConformanceError",
    "CongestionControl",
    "ControlError",
    "Departure",
    "DomainError",
    "Estimate",
    "Experiment",
    "Flow",
    "Hop",
    "JudgedClaim",
    "Markable",
    "MarkingError",
    "MarkingRule",
    "Metric",
    "MissingExtraError",
    "Network",
    "OneOf",
    "Parameter",
    "Path",
    "Policy",
    "PolicyError",
    "PolicyInfo",
    "Problem",
    "Progress",
    "Proposal",
    "Real",
    "Reproduction",
    "ResultsError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Summary",
    "Sweep",
    "SweepError",
    "Switch",
    "Table",
    "Trial",
    "Tuning",
    "UnknownNameError",
    "Value",
    "Verdict",
    "Weight",
    "Whole",
    "Window",
    "Workload",
    "WorkloadError",
    "__commit__",
    "__version__",
    "compare",
    "experiments",
    "explain",
    "conformance",
    "own_congestion_controls",
    "own_marking_rules",
    "own_policies",
    "own_workloads",
    "param",
    "plot",
    "policies",
    "policy_info",
    "register",
    "repeat",
    "reproduce",
    "run",
    "scenarios",
    "schema",
    "sonic",
    "sweep",
    "theory",
    "trial",
    "tune",
]

__version__, __commit__ = _bufferlab.version()
