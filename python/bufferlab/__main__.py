"""``python -m bufferlab compare``: what ``bufferlab compare`` does, with own policies in Python.

A policy may be ``FILE.py:CLASS``; the options are those of the program::

    python -m bufferlab compare scenario.toml --variants dt 'dt(alpha=2)' 'mine.py:FairShare(part=0.5)' --seeds 5
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ._variants import texts
from .comparisons import Comparison, compare
from .exceptions import BufferlabError
from .scenario import Scenario


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bufferlab",
        description="Compare buffer policies, own ones in Python among them. The program `bufferlab` does everything else.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("compare", help="compare policies on the same traffic, paired by seed")
    command.add_argument("scenario", type=Path, help="the scenario file")
    command.add_argument(
        "--variants",
        nargs="+",
        default=[],
        metavar="VARIANT",
        help="what is compared, the baseline first: 'dt(alpha=0.5)' 'mine.py:FairShare(part=0.5)'",
    )
    command.add_argument("--policies", default="", metavar="NAMES", help="policies, separated by commas, before the variants")
    command.add_argument("--seeds", type=int, default=1, metavar="N", help="number of seeds [default: 1]")
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the scenario")
    command.add_argument("--out", type=Path, metavar="DIR", help="folder of the results [default: below results/]")
    command.add_argument("--jobs", type=int, metavar="N", help="runs at the same time [default: the number of cores]")
    command.add_argument("--verify", action="store_true", help="check every identity after every event (slow)")
    command.add_argument("--replace", action="store_true", help="replace runs of another scenario in the folder")
    return parser


def _scenario(path: Path, changes: Sequence[str]) -> Scenario:
    scenario = Scenario.from_file(path)
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"--set {change}: expected a key, = and a value, such as switch.buffer=2 MB")
        scenario = scenario._set_text(key.strip(), value.strip())
    return scenario


def _compare(args: argparse.Namespace, variants: Sequence[str]) -> Comparison:
    scenario = _scenario(args.scenario, args.set)
    policies = [name.strip() for name in args.policies.split(",") if name.strip()]
    return compare(
        scenario,
        policies or None,
        variants=variants,
        seeds=args.seeds,
        out=args.out or Path("results") / f"{scenario.name}-compare",
        replace=args.replace,
        jobs=args.jobs,
        verify=args.verify,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the arguments say; answers the exit code: 0 done, 1 failed, 2 the command line was wrong."""
    args = _arguments().parse_args(arguments)
    try:
        comparison = _compare(args, texts(args.variants))
    except BufferlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(comparison.text, end="")
    print(f"results in {comparison.folder}, report in {comparison.folder / 'report.html'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
