"""bufferlab: a laboratory for the shared packet buffer of datacenter switches.

The package and the command line run the same simulator. A scenario and a seed give equal result
files in both cases.

>>> import bufferlab
>>> scenario = bufferlab.Scenario.from_file("scenarios/star-incast.toml", {"switch.policy": "cs"})
>>> result = bufferlab.run(scenario, seed=1)
>>> result.flows.num_rows
140
>>> result.summary.metric("all.slowdown_p99").unit
'x'
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from . import _bufferlab, plot, sonic, theory
from ._toml import Value
from .classifier import Classifier, Unclassified, custom_classifiers
from .comparisons import Caveat, Cell, Change, Comparison, Estimate, compare, repeat
from .congestion import Ack, CongestionControl, Hop, Path, Window, custom_congestion_controls
from .exceptions import (
    ArgumentError,
    BufferlabError,
    BufferlabWarning,
    ClassifierError,
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
from .marking import Markable, MarkingRule, custom_marking_rules
from .policy import (
    Arrival,
    Buffer,
    Departure,
    Policy,
    Switch,
    Trial,
    Verdict,
    Weight,
    custom_policies,
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
from .simulation import Event, Flows, Queues, Simulation, SwitchState
from .sweeps import Sweep, sweep
from .table import Table
from .topology import Cable, Graph, Topology, custom_topologies
from .workload import Flow, Network, Workload, custom_workloads
from .tuning import Confirmation, OneOf, Proposal, Real, Tuning, Whole, tune

__all__ = [
    "Ack",
    "ArgumentError",
    "Arrival",
    "Buffer",
    "BufferlabError",
    "BufferlabWarning",
    "Cable",
    "Caveat",
    "Cell",
    "Change",
    "Check",
    "Classifier",
    "ClassifierError",
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
    "Event",
    "Experiment",
    "Flow",
    "Flows",
    "Graph",
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
    "Queues",
    "Real",
    "Reproduction",
    "ResultsError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Summary",
    "Sweep",
    "SweepError",
    "Switch",
    "SwitchState",
    "Table",
    "Topology",
    "Trial",
    "Tuning",
    "Unclassified",
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
    "custom_classifiers",
    "custom_congestion_controls",
    "custom_marking_rules",
    "custom_policies",
    "custom_topologies",
    "custom_workloads",
    "experiments",
    "explain",
    "conformance",
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

if not TYPE_CHECKING:
    _FORMER_NAMES = {
        "own_congestion_controls": "custom_congestion_controls",
        "own_marking_rules": "custom_marking_rules",
        "own_policies": "custom_policies",
        "own_workloads": "custom_workloads",
    }

    def __getattr__(name: str) -> Any:
        """Finds names of the previous release of the package, and issues a warning."""
        if name not in _FORMER_NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        new = _FORMER_NAMES[name]
        warnings.warn(f"bufferlab.{name} is now bufferlab.{new}", DeprecationWarning, stacklevel=2)
        return globals()[new]
