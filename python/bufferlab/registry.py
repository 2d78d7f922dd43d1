"""The buffer policies that scenario files can name."""

from __future__ import annotations

from dataclasses import dataclass

from . import _arguments, _bufferlab

__all__ = ["Parameter", "PolicyInfo", "policies", "policy_info"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a buffer policy."""

    name: str
    """Key of the parameter in a scenario file."""
    default: str
    """Default value of the parameter, in the syntax of scenarios."""
    expected: str
    """Valid values of the policy's parameter, in words."""
    doc: str
    """Meaning of the policy's parameter."""


@dataclass(frozen=True)
class PolicyInfo:
    """A buffer-management policy, as ``bufferlab policy show`` describes it."""

    name: str
    """Name of the policy in scenarios."""
    title: str
    """Full name of the policy in words."""
    summary: str
    """Description of the policy in one sentence."""
    source: str
    """The paper or vendor document that defines the policy."""
    cost: str
    """Computing work that the policy needs for each decision."""
    aliases: tuple[str, ...]
    """Other names of the policy that scenarios may use."""
    parameters: tuple[Parameter, ...]
    """Parameters that a scenario can set for the policy."""


def policies() -> dict[str, PolicyInfo]:
    """Returns every policy of the registry by name, in the order of the registry.

    >>> policies()["dt"].title
    'Dynamic Thresholds'
    """
    return {info.name: _info(info) for info in _bufferlab.policies()}


def policy_info(name: str) -> PolicyInfo:
    """Returns the description of the policy with the given name or alias.

    Raises
    ------
    UnknownNameError
        If there is no policy of this name.

    >>> [parameter.name for parameter in policy_info("dt").parameters]
    ['alpha']
    """
    known = policies()
    for info in known.values():
        if isinstance(name, str) and name in (info.name, *info.aliases):
            return info
    raise _arguments.unknown("name", "policy", name, known, "see bufferlab.policies()")


def _info(info: _bufferlab.PolicyInfo) -> PolicyInfo:
    return PolicyInfo(
        name=info.name,
        title=info.title,
        summary=info.summary,
        source=info.source,
        cost=info.cost,
        aliases=tuple(info.aliases),
        parameters=tuple(Parameter(*fields) for fields in info.parameters),
    )
