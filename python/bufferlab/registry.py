"""The buffer policies that scenarios can name."""

from __future__ import annotations

from dataclasses import dataclass

from . import _arguments, _bufferlab

__all__ = ["Parameter", "PolicyInfo", "policies", "policy_info"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a policy."""

    name: str
    """Its key in a scenario."""
    default: str
    """Its default, as a scenario writes it."""
    expected: str
    """Which values are possible, in words."""
    doc: str
    """What it means."""


@dataclass(frozen=True)
class PolicyInfo:
    """A buffer-management policy, as ``bufferlab policy show`` describes it."""

    name: str
    """Name in scenarios."""
    title: str
    """Name in full."""
    summary: str
    """What it does, in a sentence."""
    source: str
    """Where it comes from."""
    cost: str
    """Work per decision."""
    aliases: tuple[str, ...]
    """Other names that scenarios may use."""
    parameters: tuple[Parameter, ...]
    """What can be set."""


def policies() -> dict[str, PolicyInfo]:
    """Every policy of the registry by its name, in the registry's order.

    >>> policies()["dt"].title
    'Dynamic Thresholds'
    """
    return {info.name: _info(info) for info in _bufferlab.policies()}


def policy_info(name: str) -> PolicyInfo:
    """A policy by its name or by another name of it.

    Raises
    ------
    UnknownNameError
        If no policy is called so.

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
