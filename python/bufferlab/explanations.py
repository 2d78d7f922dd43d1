"""Explanations of drops, marks, evictions and pauses.

An explanation has the exceeded limit, the queues that occupied the buffer, and the verdict of every
other policy.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from . import _arguments, _bufferlab
from ._variants import VariantLike, text_of
from .exceptions import BufferlabError
from .runs import Run
from .scenario import ScenarioLike, as_scenario

__all__ = ["explain"]


def explain(
    scenario: ScenarioLike | Run,
    *,
    variant: VariantLike | None = None,
    event: Literal["drop", "mark", "eviction", "loss", "pause"] = "loss",
    switch: str | None = None,
    port: int | None = None,
    after: str | float = 0.0,
    nth: int = 1,
    count: int = 1,
) -> list[dict[str, Any]]:
    """Runs a scenario up to an event and explains the event. A seed always gives equal packets.

    Parameters
    ----------
    scenario
        A scenario, or a finished run with its scenario.
    variant
        A policy with parameters and other changes to the scenario, in the syntax of
        :func:`compare`: ``"mine.py:FairShare(part=0.5)"``.
    event
        Kind of the explained event; ``"loss"`` is a drop or an eviction.
    switch, port
        Switch and port of the explained events; by default all switches and ports.
    after
        Time before which events are skipped: text with a unit, or seconds.
    nth, count
        Number of the first event to explain, and number of events to explain.

    Returns
    -------
    list of dict
        A dictionary for each event, with the keys of ``explanations.json``. The dictionary has the
        packet, the exceeded limit, the occupancy of the buffer by queue, and the ``opinions`` of
        every registered policy.
        ``left_out`` lists the policies that cannot be built for the switch, with the reason.

    Raises
    ------
    ArgumentError
        If an argument of :func:`explain` is wrong.
    BufferlabError
        If the run has no such event.

    Examples
    --------
    >>> from bufferlab import explain
    >>> [loss] = explain("scenarios/star-incast.toml")
    >>> loss["event"], loss["policy"], loss["reason"]
    ('drop', 'dt', 'over-threshold')
    >>> {opinion["policy"]: opinion["verdict"] for opinion in loss["opinions"]}["cs"]
    'admit'
    """
    document, _ = explained(scenario, variant, event, switch, port, after, nth, count)
    found: list[dict[str, Any]] = json.loads(document)["explanations"]
    return found


EVENTS = ("drop", "mark", "eviction", "loss", "pause")
"""Kinds of events that :func:`explain` can explain."""

COUNT_MAX = 100_000
"""Maximum number of events per call. For every event, every policy states its verdict."""

_SECONDS_MAX = 1e9
"""Largest time that a call accepts (s), which is more than 30 years."""


def seconds(argument: str, value: str | float) -> float:
    """Converts a time to seconds; ``value`` is text with a unit, or a number of seconds."""
    if isinstance(value, str):
        value = _bufferlab.quantity(argument, _arguments.text(argument, value), "time")
    return _arguments.number(argument, value, least=0.0, most=_SECONDS_MAX)


def explained(
    scenario: ScenarioLike | Run,
    variant: VariantLike | None,
    event: str,
    switch: str | None,
    port: int | None,
    after: str | float,
    nth: int,
    count: int,
) -> tuple[str, str]:
    """Explains events of a run as :func:`explain` does.

    Returns a JSON document (``bufferlab schema explanations``) and the text of the command line.
    """
    source = scenario.scenario if isinstance(scenario, Run) else as_scenario(scenario)
    run_as = None if variant is None else text_of("variant", variant)
    wanted = {
        "event": _arguments.choice("event", event, EVENTS),
        "switch": _arguments.optional_text("switch", switch, "the name of a switch"),
        "port": _arguments.optional_whole("port", port, most=(1 << 16) - 1),
        "after_ns": round(seconds("after", after) * 1e9),
        "nth": _arguments.whole("nth", nth, least=1),
        "count": _arguments.whole("count", count, least=1, most=COUNT_MAX),
    }
    document, text = _bufferlab.explain(source._load_as(run_as), wanted)
    if not text:
        raise BufferlabError(
            f"the run has no such {event}", "choose another event, switch, port or time, or a smaller `nth`"
        )
    return document, text
