"""The registry of policies, and the names in the types."""

from __future__ import annotations

from typing import get_args

import pytest

import bufferlab
from bufferlab._names import PolicyName


def test_the_names_in_the_types_are_those_of_the_registry() -> None:
    built_in = [name for name in bufferlab.policies() if name not in bufferlab.own_policies()]
    assert list(get_args(PolicyName)) == built_in


def test_a_policy_has_its_parameters_with_defaults() -> None:
    [alpha] = bufferlab.policy_info("dt").parameters
    assert (alpha.name, alpha.default) == ("alpha", "0.5")
    assert bufferlab.policy_info("DT".lower()).title == "Dynamic Thresholds"
    with pytest.raises(KeyError):
        bufferlab.policy_info("nothing")
