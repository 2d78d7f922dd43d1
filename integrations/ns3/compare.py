#!/usr/bin/env python3
"""Runs the flows of `incast-flows.csv` in ns-3 and in bufferlab, and prints a table of both
results.

    compare.py NS3_PROGRAM BUFFERLAB_PROGRAM

NS3_PROGRAM is the program that build.sh builds. The script needs pyarrow to read bufferlab's
tables.
"""

import csv
import io
import pathlib
import subprocess
import sys
import tempfile

import pyarrow.parquet as parquet

HERE = pathlib.Path(__file__).resolve().parent
POLICIES = ["dt", "abm", "plasticine", "losspass", "occamy"]


def fct(rows):
    """Mean completion times of queries and long flows (ms), and the largest completion time of a
    query."""
    query = [ns / 1e6 for name, ns in rows if name == "query"]
    long = [ns / 1e6 for name, ns in rows if name == "long"]
    return sum(query) / len(query), max(query), sum(long) / len(long)


def in_ns3(program, switch):
    command = [program, f"--switch={switch}", f"--flows={HERE / 'incast-flows.csv'}"]
    command += ["--pias=100000", "--unscheduled=14000"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    table, totals = output.split("totals ")
    rows = [(row["class"], int(row["fct_ns"])) for row in csv.DictReader(io.StringIO(table))]
    words = totals.split()
    totals = dict(zip(words[::2], map(int, words[1::2])))
    assert totals["left"] == totals["open"] == totals["misordered"] == 0, totals
    return totals["arrivals"], totals["drops"] + totals["evictions"], totals["peak"], fct(rows)


def in_bufferlab(program, policy, folder):
    command = [program, "run", str(HERE / "incast.toml"), "--out", str(folder), "--quiet"]
    subprocess.run([*command, "--set", f"switch.policy={policy}"], check=True, capture_output=True)
    flows = parquet.read_table(folder / "flows.parquet", columns=["class", "fct_ns"]).to_pylist()
    queues = parquet.read_table(folder / "queues.parquet").to_pylist()
    arrivals = sum(row["arrived_packets"] for row in queues)
    lost = sum(row["dropped_packets"] + row["evicted_packets"] for row in queues)
    rows = [(row["class"], row["fct_ns"]) for row in flows]
    bins = parquet.read_table(folder / "occupancy.parquet").to_pylist()
    peak = max(row["from_bytes"] for row in bins if row["scope"] == "switch")
    return arrivals, lost, peak, fct(rows)


def main():
    ns3, bufferlab = sys.argv[1:]
    text = (HERE / "switch.toml").read_text()
    print("| policy | program | arrivals | lost | peak, KB | query, mean | query, max | long, mean |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for policy in POLICIES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lines = [line for line in text.splitlines() if not line.startswith("policy")]
            (folder / "switch.toml").write_text("\n".join([*lines, f'policy = "{policy}"', ""]))
            for program, result in [
                ("ns-3", in_ns3(ns3, folder / "switch.toml")),
                ("bufferlab", in_bufferlab(bufferlab, policy, folder / "run")),
            ]:
                arrivals, lost, peak, times = result
                cells = " | ".join(f"{time:.2f}" for time in times)
                print(f"| {policy} | {program} | {arrivals:,} | {lost:,} | {peak / 1000:.1f} | {cells} |")


if __name__ == "__main__":
    main()
