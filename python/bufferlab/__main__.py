"""``python -m bufferlab``: the commands of the program ``bufferlab``, with custom policies in
Python.

A policy may be ``FILE.py:CLASS``. The module has the options of the program ``bufferlab``::

    python -m bufferlab compare scenario.toml --seeds 5 \\
        --variants dt 'dt(alpha=2)' 'mine.py:FairShare(part=0.5)'
    python -m bufferlab sweep scenario.toml --vary 'switch.buffer=["1 MB", "2 MB"]' \\
        --variants dt mine.py:FairShare
    python -m bufferlab explain scenario.toml --variant mine.py:FairShare
    python -m bufferlab reproduce my/study --registry studies --own mine.py
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _bufferlab
from ._variants import register_file, text_of, texts
from .comparisons import Comparison, compare
from .exceptions import ArgumentError, BufferlabError, BufferlabWarning, ScenarioError, SweepError
from .executors import How
from .explanations import explained
from .policy import policy_names
from .reproduction import Reproduction, reproduced
from .runs import run
from .scenario import Scenario
from .sweeps import sweep_grid

_VARIANT = "a policy with parameters and other changes: 'dt(alpha=0.5)', 'mine.py:FairShare(part=0.5)'"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bufferlab",
        description="Run `bufferlab` with custom policies in Python. The program `bufferlab` has more commands and options.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="run one experiment: tables, manifest and report in a folder"))
    _add_compare(commands.add_parser("compare", help="compare policies on the same traffic, paired by seed"))
    _add_sweep(commands.add_parser("sweep", help="run a grid over keys of a scenario, for several policies and seeds"))
    _add_explain(commands.add_parser("explain", help="explain why a packet was dropped, marked or evicted"))
    _add_reproduce(commands.add_parser("reproduce", help="repeat experiments and judge their statements"))
    for command in commands.choices.values():
        command.add_argument(
            "--own",
            action="append",
            default=[],
            type=Path,
            metavar="FILE.py",
            help="register every custom class of a file, so that scenarios and experiments can name it",
        )
        command.add_argument("--json", action="store_true", help="print the results as JSON, as the program does with --json")
    return parser


def _add_scenario(command: argparse.ArgumentParser, what: str = "the scenario file") -> None:
    command.add_argument("scenario", type=Path, help=what)
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the scenario")


def _add_runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, metavar="DIR", help="folder of the results [default: a folder in results/]")
    command.add_argument("--verify", action="store_true", help="check packet conservation and the ledger after every event (slow)")


def _add_several(command: argparse.ArgumentParser, seeds: int = 1) -> None:
    _add_runs(command)
    command.add_argument("--seeds", type=int, default=seeds, metavar="N", help=f"number of seeds [default: {seeds}]")
    command.add_argument("--jobs", type=int, metavar="N", help="number of runs in parallel [default: the number of cores]")
    command.add_argument("--policies", default="", metavar="NAMES", help="policies to compare before the variants, separated by commas")
    command.add_argument("--variants", nargs="+", default=[], metavar="VARIANT", help=f"variants to compare, the baseline first: {_VARIANT}")


def _add_run(command: argparse.ArgumentParser) -> None:
    _add_scenario(command)
    _add_runs(command)
    command.add_argument("--variant", metavar="VARIANT", help=_VARIANT)
    command.add_argument("--seed", type=int, metavar="N", help="seed of the run")
    command.add_argument(
        "--packets", nargs="?", const="all", metavar="SWITCH", help="record every buffer event of all switches, or of one switch"
    )
    command.add_argument("--replace", action="store_true", help="replace results of another scenario in the folder")


def _add_compare(command: argparse.ArgumentParser) -> None:
    _add_scenario(command)
    _add_several(command, seeds=5)
    command.add_argument("--replace", action="store_true", help="replace runs of another scenario in the folder")


def _add_sweep(command: argparse.ArgumentParser) -> None:
    _add_scenario(command)
    _add_several(command)
    command.add_argument("--replace", action="store_true", help="remove runs of another scenario at the points of this sweep first")
    command.add_argument(
        "--vary",
        action="append",
        required=True,
        metavar="KEY=VALUES",
        help="vary a key; repeat the option for a grid: workload.0.load=0.2,0.4 or 'switch.buffer=[\"1 MB\", \"2 MB\"]'",
    )


def _add_explain(command: argparse.ArgumentParser) -> None:
    _add_scenario(command, "the scenario file, or the folder of a run")
    command.add_argument("--variant", metavar="VARIANT", help=_VARIANT)
    events = ["drop", "mark", "eviction", "loss", "pause"]
    command.add_argument("--event", choices=events, default="loss", help="kind of event to explain [default: loss]")
    command.add_argument("--switch", metavar="NAME", help="explain only events of the switch NAME")
    command.add_argument("--port", type=int, metavar="N", help="explain only events of the port N")
    command.add_argument("--after", default="0 s", metavar="TIME", help='skip events before this time, such as "12.5 ms"')
    command.add_argument("--nth", type=int, default=1, metavar="N", help="start with the n-th event of this kind [default: 1]")
    command.add_argument("--count", type=int, default=1, metavar="N", help="number of events to explain [default: 1]")


def _add_reproduce(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", nargs="+", metavar="NAMES", help="experiments (study/buffers), folders of them (study), or all")
    command.add_argument("--registry", type=Path, metavar="DIR", help="folder of custom experiments [default: the papers' experiments]")
    command.add_argument("--out", type=Path, default=Path("results/reproduce"), metavar="DIR", help="folder of the results")
    command.add_argument("--scale", choices=["quick", "paper"], default="quick", help="size of the experiments [default: quick]")
    command.add_argument("--seeds", type=int, metavar="N", help="seeds per point [default: the number that the experiment sets]")
    command.add_argument("--jobs", type=int, metavar="N", help="number of runs in parallel [default: the number of cores]")


def _scenario(args: argparse.Namespace) -> Scenario:
    inside = args.scenario / "scenario.toml"
    scenario = Scenario.from_file(inside if args.command == "explain" and inside.is_file() else args.scenario)
    for change in args.set:
        key, value = _pair("--set", change)
        scenario = scenario._set_text(key, value)
    return scenario


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise ArgumentError(f"{option} {text}: expected a key, = and a value, such as switch.buffer=2 MB")
    return key.strip(), value.strip()


def _policies(args: argparse.Namespace) -> list[Any]:
    """Splits a list of policies into names. The caller checks that the policies exist."""
    return [name.strip() for name in args.policies.split(",") if name.strip()]


def _there(kept: int) -> None:
    if kept:
        print(f"{kept} run{' is' if kept == 1 else 's are'} there already", file=sys.stderr)


def _run(args: argparse.Namespace) -> None:
    scenario = _scenario(args)
    if args.packets is not None:
        scenario = scenario._set_text("output.packets", args.packets)
    variant = None if args.variant is None else text_of("--variant", args.variant)
    folder = args.out or Path("results") / (scenario.name if variant is None else f"{scenario.name}-{_as_folder(variant)}")
    run(scenario, seed=args.seed, variant=variant, out=folder, replace=args.replace, verify=args.verify)
    print((folder / "comparison.json").read_text() if args.json else Comparison(folder).text, end="")
    print(f"results in {folder}, report in {folder / 'report.html'}", file=sys.stderr)


def _as_folder(variant: str) -> str:
    """Returns a folder name: every character other than a letter, a digit or a point becomes a
    hyphen."""
    words = "".join(c if c.isalnum() or c == "." else "-" for c in variant)
    return "-".join(word for word in words.split("-") if word)


def _compare(args: argparse.Namespace) -> None:
    scenario, variants = _scenario(args), texts(args.variants)
    comparison = compare(
        scenario,
        _policies(args) or None,
        variants=variants,
        seeds=args.seeds,
        out=args.out or Path("results") / f"{scenario.name}-compare",
        replace=args.replace,
        jobs=args.jobs,
        verify=args.verify,
    )
    _there(comparison.kept)
    print((comparison.folder / "comparison.json").read_text() if args.json else comparison.text, end="")
    print(f"results in {comparison.folder}, report in {comparison.folder / 'report.html'}", file=sys.stderr)


def _sweep(args: argparse.Namespace) -> None:
    scenario, variants = _scenario(args), texts(args.variants)
    vary = [_pair("--vary", text) for text in args.vary]
    failed: SweepError | None = None
    try:
        done = sweep_grid(
            scenario,
            [(key, _bufferlab.vary_values(values)) for key, values in vary],
            policy_names(_policies(args)),
            variants,
            How.checked(
                seeds=args.seeds,
                out=args.out or Path("results") / f"{scenario.name}-sweep",
                replace=args.replace,
                jobs=args.jobs,
                verify=args.verify,
            ),
        )
    except SweepError as error:
        if error.sweep is None:
            raise
        done, failed = error.sweep, error
    _there(done.kept)
    print((done.folder / "sweep.json").read_text() if args.json else done.text, end="")
    print(f"points in {done.folder}, means in sweep.csv, charts in sweep.html", file=sys.stderr)
    if failed is not None:
        raise failed


def _explain(args: argparse.Namespace) -> None:
    scenario = _scenario(args)
    document, text = explained(
        scenario, args.variant, args.event, args.switch, args.port, args.after, args.nth, args.count
    )
    print(document if args.json else text, end="")


def _reproduce(args: argparse.Namespace) -> None:
    done, document = reproduced(args.names, args.out, args.scale, None, args.seeds, args.registry, 0, jobs=args.jobs)
    print(document if args.json else "".join(map(_judged, done)), end="")
    for one in done:
        for failure in one.failures:
            print(f"failed: {failure}", file=sys.stderr)
        print(f"figure in {one.folder / 'figure.html'}", file=sys.stderr)


def _judged(one: Reproduction) -> str:
    """Formats the verdicts of an experiment, one line each."""
    lines = [f"{one.name}: {one.title}"]
    for verdict in one.verdicts:
        note = f" ({verdict.note})" if verdict.note else ""
        lines.append(f"  {verdict.verdict:<13} {verdict.claim}: {verdict.measured}{note}")
    return "\n".join(lines) + "\n"


def _show(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


_COMMANDS = {"run": _run, "compare": _compare, "sweep": _sweep, "explain": _explain, "reproduce": _reproduce}


def main(arguments: Sequence[str] | None = None) -> int:
    """Executes a command line and returns the exit code: 0 done, 1 failed, 2 wrong command line."""
    args = _arguments().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", BufferlabWarning)
            warnings.showwarning = _show
            for file in args.own:
                register_file(file)
            _COMMANDS[args.command](args)
    except ArgumentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BufferlabError as error:
        print(f"error: {error}", file=sys.stderr)
        if not args.own and isinstance(error, ScenarioError) and any(problem.unknown == "policy" for problem in error.problems):
            print("hint: pass the file that defines a custom policy: --own mine.py", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
