"""Collects the public data (facts) of objects, in a form that two processes can compare.

If it runs as a program, this module prints the facts of pickled objects as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import sys
from pathlib import Path
from typing import Any


def facts(thing: Any) -> Any:
    """All public data of an object, including data from its files."""
    import bufferlab
    from bufferlab import sonic
    from bufferlab._custom import Custom

    if isinstance(thing, bufferlab.Run):
        summary = {name: repr(value) for name, value in thing.summary.items()}
        tables = {name: thing.table(name).num_rows for name in thing.tables}
        return [thing.label, thing.seed, tables, summary, thing.scenario.name, thing.report().is_file()]
    if isinstance(thing, bufferlab.Comparison):
        runs = {f"{policy} {seed}": facts(run) for (policy, seed), run in thing.runs().items()}
        return [thing.policies, thing.seeds, thing.text, runs, thing.table().num_rows, thing.report().is_file()]
    if isinstance(thing, bufferlab.Sweep):
        points = {name: facts(point) for name, point in thing.points().items()}
        return [thing.keys, thing.text, repr(thing.table().to_pydict()), points]
    if isinstance(thing, bufferlab.Scenario):
        return [thing.name, thing.resolved, thing.check().policy]
    if isinstance(thing, bufferlab.Table):
        return repr(thing.to_pydict())
    if isinstance(thing, bufferlab.Tuning):
        return [repr(thing), thing.table.num_rows, facts(thing.best_scenario), str(thing.confirm(seeds=1))]
    if isinstance(thing, bufferlab.SweepError):
        return [str(thing), thing.failed, facts(thing.sweep)]
    if isinstance(thing, sonic.Configuration):
        return [thing.explain().text, thing.problems, thing.chip]
    if isinstance(thing, sonic.WhatIf):
        return [thing.scenario, repr(thing.choices), thing.notes]
    if isinstance(thing, BaseException):
        hidden = ("args", "_caller", "_notes")
        named = {name: value for name, value in vars(thing).items() if name not in hidden}
        return [str(thing), repr(thing.args), getattr(thing, "caller", None), repr(named)]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return [type(thing).__name__, {field.name: facts(getattr(thing, field.name)) for field in dataclasses.fields(thing)}]
    if isinstance(thing, Custom):
        return [type(thing).__name__, repr(vars(thing))]
    return repr(thing)


def plain(found: Any) -> Any:
    """Converts data of an object to the types of JSON: tuples become lists."""
    return json.loads(json.dumps(found, default=repr))


if __name__ == "__main__":
    pickles = [pickle.loads(Path(name).read_bytes()) for name in sys.argv[1:]]
    print(json.dumps([facts(thing) for thing in pickles], default=repr))
