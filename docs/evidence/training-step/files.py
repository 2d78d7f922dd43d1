"""Executes one command per set of other simulators' files, each in an empty folder.

Usage: python files.py PROGRAM FOLDER-OF-FILES > files.csv (needs the Python package pyarrow)

The time in a row ends with the last flow or with the iteration of the schedule.
"""

import csv
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import pyarrow.compute as pc
import pyarrow.parquet as pq

UEC = "uet-htsim 40ccb05, validate_outputs"
WORMHOLE = "arXiv:2602.10615, ns-3"

# Files, results (us) and computing times that others published, and their source.
SETS = [
    ("htsim/one.cm", "176 to 177 us", UEC),
    ("htsim/bidir.cm", "177 to 178 us", UEC),
    ("htsim/incast.cm", "2463 to 2479 us", UEC),
    ("htsim/incast_128.cm", "20891 to 21029 us", UEC),
    ("htsim/incast_1024_100K.cm", "8803 to 10556 us", UEC),
    ("htsim/incast_1024_100K.cm htsim/fat_tree_1024.topo", "8803 to 10556 us", UEC),
    ("htsim/incast_2to1_size4194304B.cm", "", ""),
    ("htsim/incast_3-1_overlapped.tm", "217 to 222 us", UEC),
    ("htsim/perm_16n_16c_2MB.cm", "194 to 528 us", UEC),
    ("htsim/perm_32n_32c_2MB.cm", "", ""),
    ("htsim/perm_128n_128c_2MB.cm htsim/fat_tree_128_4os.topo", "", ""),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/fat_tree_1024.topo", "201 to 203 us", UEC),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/leaf_spine_1024.topo", "", ""),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/leaf_spine_1024_oversub.topo", "", ""),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/leaf_spine_1024_oversub_8-1.topo", "", ""),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/leaf_spine_8192_400g_4_to_1.topo", "", ""),
    ("htsim/perm_1024n_1024c_0u_2000000b.cm htsim/fat_tree_8192_4os.topo", "", ""),
    ("htsim/leaf_spine_tiny.topo", "", ""),
    ("htsim/test.topo", "", ""),
    ("htsim/foo2.cm", "", ""),
    ("htsim/csg_collateral_incast.cm", "", ""),
    ("htsim/csg_permutation_example.cm", "", ""),
    ("htsim/test_cr_1f10m1p.cm", "", ""),
    ("htsim/test_cr_1f10m10p.cm", "", ""),
    ("htsim/test_cr_1f1m10p.cm", "", ""),
    ("htsim/test_cr_1f1m100p.cm", "", ""),
    ("goal/one_send.goal", "", ""),
    ("goal/binary_tree_32.goal", "", ""),
    ("goal/test_border_incast_l.goal", "", ""),
    (" ".join(f"chakra/custom_ring_allreduce_8npus_1MB.{rank}.et" for rank in range(8)), "", ""),
    ("chakra/custom_ring_allreduce_8npus_1MB.mscclang.xml", "", ""),
    ("chakra/all_reduce.4npus_1MB.0.et chakra/all_reduce.4npus_1MB.1.et", "", ""),
    ("chakra/all_gather.4npus_1MB.0.et chakra/all_gather.4npus_1MB.1.et", "", ""),
    ("chakra/all_reduce.16npus_1MB.0.et chakra/all_reduce.16npus_1MB.1.et", "", ""),
    ("chakra/all_gather.16npus_1MB.0.et chakra/all_gather.16npus_1MB.1.et", "", ""),
    ("chakra/feeder_tests_trace.tar.gz", "", ""),
    ("chakra/json_trace.tar.gz", "", ""),
    ("chakra/1.0.2-chakra.0.0.4.tgz", "", ""),
    ("hpcc/mix_topology.txt hpcc/mix_flow.txt hpcc/mix_trace.txt", "", ""),
    ("ns3dc/PowerTCP_topology.txt ns3dc/PowerTCP_flow.txt", "", ""),
    ("ns3dc/PowerTCP_topology.txt ns3dc/PowerTCP_flow-burstExp-10.txt", "", ""),
    ("ns3dc/PowerTCP_topology.txt ns3dc/PowerTCP_flow-fairnessExp.txt", "", ""),
    ("ns3dc/Reverie_leaf-spine.txt ns3dc/Reverie_flow-test.txt", "", ""),
    ("ns3dc/Reverie_leaf-spine.txt ns3dc/Reverie_config-workload.txt ns3dc/Reverie_alphas", "", ""),
    ("ns3dc/ABM_websearch.csv", "", ""),
    ("aicb/workload_gpt13b_128g.txt", "9 hours of computing", WORMHOLE),
]


def result(folder: pathlib.Path) -> tuple[str, str]:
    """Returns what a run measured, and the time (us)."""
    if (folder / "ranks.parquet").is_file():
        ends = pq.read_table(folder / "ranks.parquet")["end_ps"]
        return "iteration", f"{pc.max(ends).as_py() / 1e6:.5g}"
    flows = pq.read_table(folder / "flows.parquet")
    done = flows.filter(pc.is_valid(flows["fct_ns"]))
    if done.num_rows == 0:
        return f"{flows.num_rows} flows, endless", ""
    ends = pc.add(done["start_ns"], done["fct_ns"])
    last = (pc.max(ends).as_py() - pc.min(flows["start_ns"]).as_py()) / 1e3
    what = f"{done.num_rows} flows" + ("" if done.num_rows == flows.num_rows else f" of {flows.num_rows}")
    return what, f"{last:.5g}"


def execute(program: str, source: pathlib.Path, files: str) -> list[str]:
    """Imports and simulates one set of files; returns the columns that were measured."""
    with tempfile.TemporaryDirectory() as place:
        command = [program, "import", *(str(source / name) for name in files.split())]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([*command, "--name", "x", "--run"], cwd=place, capture_output=True, text=True)
        wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode:
            told = " ".join(line.strip(" │×") for line in done.stderr.splitlines() if "written" not in line)
            what, ended = told.split("help:")[0].strip().replace(str(source) + "/", ""), ""
        else:
            what, ended = result(pathlib.Path(place) / "results" / "x")
        return [what, ended, f"{cpu:.2f}", f"{wall:.2f}"]


def main() -> None:
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["files", "result", "time_us", "cpu_s", "wall_s", "published", "source"])
    for files, published, origin in SETS:
        rows.writerow([shorten(files), *execute(program, source, files), published, origin])
        sys.stdout.flush()


def shorten(files: str) -> str:
    """Names the traces of many ranks by a pattern."""
    names = files.split()
    return files if len(names) < 8 else names[0].replace(".0.", ".*.")


main()
