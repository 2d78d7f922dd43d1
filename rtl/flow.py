"""Checks the circuits and measures their cost: the steps of ``cargo xtask rtl``.

Build files are stored in ``target/rtl``, results in ``rtl/results``. ``circuits.toml`` lists the
circuits with their sizes, ``mutations.toml`` lists the inserted mistakes.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "rtl"
WORK = ROOT / "target" / "rtl"
VECTORS = ROOT / "testdata" / "policy"
SCENARIO = ROOT / "scenarios" / "abm-reduced.toml"
TOTALS = re.compile(r"operations (\d+) packets (\d+) clocks (\d+) differences (\d+)")


class Failed(Exception):
    """An error with a message for the user."""


def run(command: list[str | Path], cwd: Path = ROOT, accepted: tuple[int, ...] = (0,)) -> str:
    """Runs ``command`` and returns its stdout. After an accepted nonzero exit code, adds stderr."""
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode not in accepted:
        raise Failed(f"{' '.join(words)}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout + (result.stderr if result.returncode else "")


def circuits(wanted: list[str]) -> list[dict[str, Any]]:
    """Returns the circuits of ``circuits.toml`` that ``wanted`` names, or all circuits if
    ``wanted`` is empty."""
    everything = tomllib.loads((RTL / "circuits.toml").read_text())["circuit"]
    unknown = set(wanted) - {circuit["name"] for circuit in everything}
    if unknown:
        known = ", ".join(circuit["name"] for circuit in everything)
        raise Failed(f"no circuit is called {', '.join(sorted(unknown))}; known: {known}")
    return [circuit for circuit in everything if not wanted or circuit["name"] in wanted]


def sources(circuit: dict[str, Any], folder: Path = RTL / "src") -> list[Path]:
    """Returns the source files of a circuit."""
    return [folder / f"{name}.sv" for name in circuit["files"]]


def generics(circuit: dict[str, Any]) -> list[str]:
    """Returns the parameters of a circuit in the comparison, as options of Verilator."""
    return [f"-G{name}={value}" for name, value in circuit.get("cosim", {}).items()]


def lint(wanted: list[str]) -> None:
    """Checks circuits for Verilator warnings, with default parameters and with the parameters of
    the comparison."""
    for circuit in circuits(wanted):
        for parameters in [[], generics(circuit)]:
            top = ["--top-module", circuit["top"]]
            used = closure(circuit["top"], sources(circuit))
            run(["verilator", "--lint-only", "-Wall", *parameters, *top, *used])
        print(f"lint {circuit['name']}: clean")


def closure(top: str, files: list[Path]) -> list[Path]:
    """Returns the files that ``top`` needs, because Verilator warns of unused modules."""
    by_name = {file.stem: file for file in files}
    needed = [top]
    for name in needed:
        text = by_name[name].read_text()
        needed += [other for other in by_name if other not in needed and re.search(rf"^\s*{other} ", text, re.M)]
    return [by_name[name] for name in needed]


def build(circuit: dict[str, Any], folder: Path, rtl: Path = RTL / "src") -> Path:
    """Builds the program that replays recorded operations on a simulated circuit."""
    folder.mkdir(parents=True, exist_ok=True)
    runtime = WORK / "runtime"
    reuse(runtime, folder)
    flags = f"-O1 -std=c++17 -I{RTL / 'tests'}"
    options = ["--cc", "--exe", "--build", "-Wall", "-O3", "-CFLAGS", flags, "--Mdir", folder, "-o", "replay"]
    top = ["--top-module", circuit["top"]]
    files = closure(circuit["top"], sources(circuit, rtl))
    run(["verilator", *options, *generics(circuit), *top, *files, RTL / "tests" / circuit["bench"]])
    runtime.mkdir(exist_ok=True)
    reuse(folder, runtime)
    return folder / "replay"


def reuse(source: Path, folder: Path) -> None:
    """Copies the compiled library of Verilator, which all circuits share, between build folders."""
    for file in source.glob("verilated*.[od]"):
        shutil.copy(file, folder / file.name)


def recorder() -> Path:
    """Builds the program that records operations of a switch with the policy's answers."""
    cargo = os.environ.get("CARGO", "cargo")
    run([cargo, "build", "--quiet", "--locked", "--package", "bufferlab-circuits"])
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    return folder / "bufferlab-circuits"


def sheet(program: Path, scheme: str, source: str, arguments: list[str | Path]) -> tuple[Path, str]:
    """Records the operations of ``source`` in a file. Returns the file's path and the program's
    output."""
    folder = WORK / "sheets"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{scheme}-{source}.txt"
    told = run([program, scheme, "--out", out, source, *arguments])
    return out, told


def sheets(program: Path, scheme: str, quick: bool) -> list[tuple[str, Path, str]]:
    """Records operations in three files: golden vectors, random operations, and operations of the
    first switch in ABM's scenario."""
    operations, packets = ("100000", "20000") if quick else ("1000000", "100000")
    wanted: list[tuple[str, list[str | Path]]] = [
        ("vectors", [VECTORS / f"{scheme.removesuffix('-shift')}.toml"]),
        ("random", ["--operations", operations]),
        ("run", [SCENARIO, "--packets", packets]),
    ]
    return [(name, *sheet(program, scheme, name, arguments)) for name, arguments in wanted]


def cosim(wanted: list[str], quick: bool) -> None:
    """Compares every circuit with its policy. A single different answer is an error."""
    program = recorder()
    head = ["circuit", "source", "operations", "packets", "clocks", "differences", "notes", "sheet_sha256"]
    order = [(one["name"], source) for one in circuits([]) for source in ("vectors", "random", "run")]
    for circuit in circuits(wanted):
        if "bench" not in circuit:
            continue
        replay = build(circuit, WORK / "cosim" / circuit["name"])
        for source, path, told in sheets(program, circuit["scheme"], quick):
            answer = run([replay, path], accepted=(0, 1))
            totals = TOTALS.search(answer)
            if totals is None:
                raise Failed(f"{replay} {path} said nothing of totals:\n{answer}")
            operations, packets, clocks, differences = map(int, totals.groups())
            found = " ".join(line for line in answer.splitlines() if line.startswith("other_answers"))
            cases = " ".join(line for line in told.splitlines() if line.startswith("cases"))
            row = [circuit["name"], source, operations, packets, clocks, differences, found or cases, digest(path)]
            print(f"cosim {circuit['name']} {source}: {operations} operations, {packets} packets, {differences} differences {found} {cases}")
            if differences:
                raise Failed(f"{circuit['name']} differs from the policy `{circuit['scheme']}`:\n{answer}")
            if not quick:
                renew("cosim", head, row, 2, order)


def digest(path: Path) -> str:
    """Returns the digest of a file of recorded operations.

    A test compares the stored digest with the digest of the current golden vectors, to detect an
    outdated table.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def write(name: str, head: list[str], rows: list[list[Any]]) -> None:
    """Writes a table to ``rtl/results``, with the date and the commit of the measurement."""
    with (RTL / "results" / f"{name}.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*head, "date", "commit"])
        table.writerows([*row, *stamp()] for row in rows)


def renew(name: str, head: list[str], row: list[Any], keys: int, order: list[tuple[str, ...]]) -> None:
    """Adds the row ``row`` to the table ``name`` of ``rtl/results``.

    The new row replaces the row with equal first ``keys`` cells. Rows with other first cells than
    the entries of ``order`` are removed.
    """
    path = RTL / "results" / f"{name}.csv"
    rows: dict[tuple[str, ...], list[Any]] = {}
    if path.exists():
        with path.open(newline="") as file:
            for known in list(csv.reader(file))[1:]:
                rows[tuple(known[:keys])] = known
    rows[tuple(map(str, row[:keys]))] = [*row, *stamp()]
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*head, "date", "commit"])
        table.writerows(rows[key] for key in order if key in rows)


def stamp() -> tuple[str, str]:
    """Returns the present date and the commit of the repository."""
    commit = run(["git", "rev-parse", "--short", "HEAD"]).strip()
    return datetime.datetime.now(datetime.UTC).date().isoformat(), commit


def mutants(wanted: list[str]) -> None:
    """Inserts small mistakes into the circuits. Lint or the comparison must detect each mistake."""
    program = recorder()
    listed = tomllib.loads((RTL / "mutations.toml").read_text())["mutation"]
    known = {circuit["name"]: circuit for circuit in circuits([])}
    rows, survivors = [], []
    for number, mutation in enumerate(listed, 1):
        if wanted and mutation["circuit"] not in wanted:
            continue
        circuit = known[mutation["circuit"]]
        folder = WORK / "mutants" / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(RTL / "src", folder / "rtl")
        target = folder / "rtl" / mutation["file"]
        text = target.read_text()
        if text.count(mutation["from"]) != 1:
            raise Failed(f"mutations.toml, entry {number}: expected `{mutation['from']}` once in {mutation['file']}")
        target.write_text(text.replace(mutation["from"], mutation["to"]))
        caught = caught_by(circuit, folder, program)
        rows.append([mutation["circuit"], mutation["file"], mutation["from"], mutation["to"], caught or "survives"])
        print(f"mutant {number} ({circuit['name']}, {mutation['what']}): {caught or 'SURVIVES'}")
        if not caught:
            survivors.append(str(number))
    if survivors:
        raise Failed(f"not noticed: mutants {', '.join(survivors)} of rtl/mutations.toml")
    if not wanted:
        write("mutants", ["circuit", "file", "from", "to", "caught_by"], rows)


def caught_by(circuit: dict[str, Any], folder: Path, program: Path) -> str | None:
    """Returns the check that detects a mistake in a circuit: ``lint``, or the source of the
    compared operations."""
    try:
        replay = build(circuit, folder / "cosim", folder / "rtl")
    except Failed:
        return "lint"
    for source, path, _ in sheets(program, circuit["scheme"], quick=True):
        answer = run([replay, path, "1"], accepted=(0, 1))
        if "differences 0" not in answer:
            return source
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["lint", "cosim", "prove", "mutants", "cost", "depth", "all"])
    parser.add_argument("circuit", nargs="*", help="check only these circuits (default: all)")
    parser.add_argument("--quick", action="store_true", help="compare fewer operations and skip cost, depth and mutants, as in CI")
    chosen = parser.parse_intermixed_args()
    import cost
    import prove

    steps = {
        "lint": lambda: lint(chosen.circuit),
        "cosim": lambda: cosim(chosen.circuit, chosen.quick),
        "prove": lambda: prove.prove(chosen.circuit),
        "mutants": lambda: mutants(chosen.circuit),
        "cost": lambda: cost.cost(chosen.circuit),
        "depth": lambda: cost.depth(chosen.circuit),
    }
    skipped = {"cost", "depth", "mutants"} if chosen.quick else set()
    try:
        for name in [name for name in steps if name not in skipped] if chosen.step == "all" else [chosen.step]:
            steps[name]()
    except Failed as why:
        print(f"error: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
