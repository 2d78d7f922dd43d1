"""Proves properties of the circuits with SymbiYosys by induction, with the solver z3.

The circuits include the properties in ``rtl/formal``. The proofs use small sizes,
because the properties do not depend on the number of ports, and larger widths only slow the solver.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import flow

# Columns of the list of proofs: circuit name, top module, files, parameters, depth of the
# induction, and depth of the search for traces that must exist.
PROOFS: list[tuple[str, str, list[str], dict[str, int], int, int]] = [
    ("dt", "dt_unit", ["dt_unit", "ledger", "alpha_shift"], {"PORTS": 2, "QUEUES": 2, "W": 8, "SIZE_W": 6}, 4, 20),
    ("abm-shift", "nearest_power", ["nearest_power"], {}, 1, 0),
    ("tdt-state", "tdt_state", ["tdt_state"], {"CNT_W": 4}, 3, 20),
    ("losspass", "losspass_arbiter", ["losspass_arbiter", "alpha_shift"], {"PORTS": 2, "QUEUES": 2, "W": 8, "SIZE_W": 6}, 8, 40),
    ("plasticine", "plasticine_pisa", ["plasticine_pisa"], {"PORTS": 2, "QUEUES": 2, "W": 6, "SIZE_W": 4, "COUNTED": 2}, 10, 0),
    ("longest", "longest_queue", ["longest_queue"], {"PORTS": 8, "QUEUES": 1, "W": 4}, 1, 0),
    ("overdrawn", "overdrawn_queue", ["overdrawn_queue", "first_one"], {"PORTS": 8, "QUEUES": 1, "W": 4}, 2, 0),
]

HEAD = ["circuit", "top", "result", "mode", "depth", "seconds"]


def script(top: str, files: list[Path], parameters: dict[str, int], mode: str, depth: int) -> str:
    """Returns the script for SymbiYosys, which copies the properties beside the sources."""
    names = " ".join(file.name for file in files)
    sets = "".join(f"chparam -set {name} {value} {top}\n" for name, value in parameters.items())
    listed = "\n".join(str(file) for file in [*files, *sorted((flow.RTL / "formal").glob("*.properties"))])
    return (
        f"[options]\nmode {mode}\ndepth {depth}\n\n[engines]\nsmtbmc z3\n\n"
        f"[script]\nread_verilog -sv -formal {names}\n{sets}prep -top {top}\n\n[files]\n{listed}\n"
    )


def prove(wanted: list[str]) -> None:
    """Runs the proofs of the wanted circuits. A failed property stops the run with a trace."""
    tools = toolbox()
    for name, top, files, parameters, depth, reach in PROOFS:
        if wanted and name not in wanted:
            continue
        paths = [flow.RTL / "src" / f"{file}.sv" for file in files]
        for mode, length in [("prove", depth), ("cover", reach)]:
            if length == 0:
                continue
            folder = flow.WORK / "proofs"
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{name}-{mode}.sby"
            file.write_text(script(top, paths, parameters, mode, length))
            begun = time.monotonic()
            # The tools cannot access files outside their working folder.
            flow.run([tools / "sby", "-f", file.name], cwd=folder)
            seconds = round(time.monotonic() - begun, 1)
            row = [name, top, "holds" if mode == "prove" else "reached", mode, length, seconds]
            print(f"{mode} {name}: {row[2]} ({seconds} s)", flush=True)
            order = [(one[0], one[1], result) for one in PROOFS for result in ("holds", "reached")]
            flow.renew("proofs", HEAD, row, 3, order)


def toolbox() -> Path:
    """Creates a folder with the proof tools, under the names by which the tools call each other."""
    import os
    import sys

    folder = flow.WORK / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = Path(sys.executable).parent
    for name in ["yosys", "yosys-smtbmc", "yosys-witness", "sby"]:
        link = folder / name
        if not link.exists():
            link.symlink_to(scripts / f"yowasp-{name}")
    os.environ["PATH"] = f"{folder}{os.pathsep}{scripts}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("z3") is None:
        raise flow.Failed("z3 is missing\nhint: apt-get install z3")
    return folder
