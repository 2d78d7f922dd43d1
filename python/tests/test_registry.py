"""Tests of the registry of policies, and of the names of policies in Python types."""

from __future__ import annotations

from typing import get_args

import pytest

import bufferlab
from bufferlab._names import PolicyName


def test_the_names_in_the_types_are_those_of_the_registry() -> None:
    built_in = [name for name in bufferlab.policies() if name not in bufferlab.custom_policies()]
    assert list(get_args(PolicyName)) == built_in


def test_a_policy_has_its_parameters_with_defaults() -> None:
    [alpha] = bufferlab.policy_info("dt").parameters
    assert (alpha.name, alpha.default) == ("alpha", "0.5")
    assert bufferlab.policy_info("DT".lower()).title == "Dynamic Thresholds"
    with pytest.raises(KeyError):
        bufferlab.policy_info("nothing")


@pytest.mark.parametrize("kind", ["congestion_controls", "marking_rules", "policies", "workloads"])
def test_former_names_work_with_a_warning(kind: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"custom_{kind}"):
        former = getattr(bufferlab, f"own_{kind}")
    assert former is getattr(bufferlab, f"custom_{kind}")


def test_a_name_that_never_existed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="own_topologies"):
        getattr(bufferlab, "own_topologies")
