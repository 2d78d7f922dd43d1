"""Why was a packet dropped, marked or evicted: which limit bound, who held the buffer, what every other policy would have done."""

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
    """Runs a scenario up to an event and explains it; the same seed brings the same packets.

    Parameters
    ----------
    scenario
        A scenario, or a run, whose scenario is taken.
    variant
        A policy with parameters and other changes to the scenario, as :func:`compare` takes it: ``"mine.py:FairShare(part=0.5)"``.
    event
        What is to be explained; ``"loss"`` is a drop or an eviction.
    switch, port
        At this switch or port only.
    after
        Not before this time: text with its unit, or seconds.
    nth, count
        Start with the n-th such event, explain so many.

    Returns
    -------
    list of dict
        A dictionary per event, with the keys of ``explanations.json``: the packet, the limit that bound, the holders of the buffer, and
        the ``opinions`` of every registered policy, and under ``left_out`` those that cannot be built for this switch, with the reason.

    Raises
    ------
    ArgumentError
        If an argument is wrong.
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
"""What can be explained."""

COUNT_MAX = 100_000
"""Most events that one call explains: each has the opinion of every policy."""

_SECONDS_MAX = 1e9
"""More than 30 years: more nanoseconds than this are no time of a simulation."""


def seconds(argument: str, value: str | float) -> float:
    """A time in seconds: text with its unit, or a number."""
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
    """The same as a JSON document (``bufferlab schema explanations``) and as the text of the command line."""
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
