"""Tests the adapter for sonic-mgmt with a driver that repeats the framework's steps, and with the
framework itself.

The second test needs a checkout of sonic-mgmt: BUFFERLAB_SONIC_MGMT names its folder.
Usage: python3 test_framework.py PROGRAM SWITCH CHIP
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any, List, Optional, Tuple
from unittest.mock import MagicMock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bufferlab_probe import (  # noqa: E402
    INGRESS_DROP,
    PFC_PRIO_0,
    TRANSMITTED_PKTS,
    BufferControl,
    Chip,
    Ptf,
    install,
)


class Registry:
    """The two methods of sonic-mgmt's ExecutorRegistry that the tests use."""

    executors: dict = {}

    @classmethod
    def register(cls, probe: str, env: str, scenario: Optional[str] = None) -> Any:
        def keep(executor: Any) -> Any:
            cls.executors[probe, env, scenario] = executor
            return executor

        return keep


def search(executor: Any, src: int, dst: int, pool: int, pg: int, start: Optional[int] = None) -> int:
    """Finds a threshold in the phases of sonic-mgmt's probing: bounds, range, point."""

    def check(value: int, drain: bool = True) -> bool:
        success, detected = executor.check(src, dst, value, drain_buffer=drain, pg=pg)
        assert success
        return detected

    executor.prepare(src, dst)
    upper = pool
    while not check(upper):
        upper *= 2
        assert upper <= 3 * pool, "upper bound failure"
    lower = upper // 2 if start is None else start
    while lower > 0 and check(lower):
        lower //= 2
    while upper - lower > 100:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if check(middle) else (middle + 1, upper)
    executor.prepare(src, dst)
    value, drain = lower + 1, True
    while not check(value if drain else 1, drain):
        value, drain = value + 1, False
    return value


def own_driver(chip: Chip) -> None:
    """Probes pause, loss and resume, and then a headroom pool until the pool is exhausted."""
    registry = types.ModuleType("executor_registry")
    registry.ExecutorRegistry = Registry  # type: ignore[attr-defined]
    sys.modules["executor_registry"] = registry
    install(chip)
    probes = ("pfc_xoff", "ingress_drop", "pfc_xon")
    made = {probe: Registry.executors[probe, "sim", None](observer=None, name=probe) for probe in probes}
    pause = search(made["pfc_xoff"], 0, 1, 20_000, 3)
    loss = search(made["ingress_drop"], 0, 1, 20_000, 3, start=pause - 1)
    resume = next(value for value in range(1, 500) if made["pfc_xon"].check(0, 1, 2, value=value, pg=3)[1])
    print(f"pause {pause}, first loss {loss}, resume after {resume}")
    control, total = BufferControl(chip), 0
    for source in (0, 2):
        for group in (3, 4):
            pause = search(made["pfc_xoff"], source, 1, 20_000, group)
            loss = search(made["ingress_drop"], source, 1, 20_000, group, start=pause - 1)
            total += loss - pause
            control.persist_buffer_occupancy(source, 1, loss, pg=group)
    print(f"headroom of four groups {total}, {chip.requests} requests")
    chip.request(op="drain")
    del sys.modules["executor_registry"]


def own_ptf_steps(chip: Chip) -> None:
    """Repeats the steps of PFCtest: pauses and losses within the margin of the expected points."""
    ptf, pause, loss, margin, group = Ptf(chip), 4117, 4470, 2, 3
    packet = ptf.get_packet(0, 1, pg=group)

    def read() -> Tuple[int, int]:
        counters, _ = ptf.read_port_counters(None, "", 0)
        return counters[PFC_PRIO_0 + group], counters[INGRESS_DROP]

    ptf.tx_disable(None, "", [1])
    before = read()
    ptf.send_packet(None, 0, packet, pause - 1 - margin)
    assert read() == before, "neither pause nor loss"
    ptf.send_packet(None, 0, packet, 1 + 2 * margin)
    paused = read()
    assert paused[0] > before[0] and paused[1] == before[1], "pauses, and loses nothing"
    ptf.send_packet(None, 0, packet, loss - pause - 2 * margin - 1)
    assert read()[1] == before[1], "the headroom is not full"
    ptf.send_packet(None, 0, packet, 1 + 2 * margin)
    assert read()[1] > before[1] and ptf.read_pg_drop_counters(None, 0)[group] > 0
    ptf.tx_enable(None, "", [1])
    sent = ptf.read_port_counters(None, "", 1)[0][TRANSMITTED_PKTS]
    queues, shared, headroom = ptf.read_port_watermarks(None, 0)
    print(f"PTF: {sent} packets sent, peaks of group {group}: {shared[group]} B shared, {headroom[group]} B headroom")
    chip.request(op="drain")


def framework(chip: Chip, folder: str) -> None:
    """Runs PfcXoffProbing, IngressDropProbing and HeadroomPoolProbing of a sonic-mgmt checkout."""
    for name in ("sai_base_test", "ptf", "stream_manager"):
        sys.modules[name] = MagicMock()
    ptf = Ptf(chip)
    ptf.install()

    class Base:
        def setUp(self) -> None:
            pass

    sys.modules["sai_base_test"].ThriftInterfaceDataPlane = Base  # type: ignore[attr-defined]
    install(chip, os.path.join(folder, "tests", "saitests", "probe"))

    def run(module: str, name: str, flows: List[Tuple[int, int, int]], **more: Any) -> Any:
        test = getattr(importlib.import_module(module), name)()
        test.EXECUTOR_ENV, test.pg, test.pgs, test.probe_cells_per_packet = "sim", 3, [3, 4], 1
        test.cnt_pg_idx, test.src_client, test.asic_type = 3 + PFC_PRIO_0, None, ""
        test.ENABLE_PRECISE_DETECTION, test.ingress_drop_counter_mode = True, "pg_drop"
        test.ingress_lossless_pool_size, test.cell_size = 20_000 * 256, 256
        test.probing_port_ids, test.buffer_ctrl = [0, 1, 2], BufferControl(chip)
        test.stream_mgr = MagicMock()
        test.stream_mgr.get_port_ids.return_value = [1]
        test.stream_mgr.flows = {(src, dst, frozenset({("pg", pg)})): MagicMock(dscp=pg) for src, dst, pg in flows}
        for key, value in more.items():
            setattr(test, key, value)
        result = test.probe()
        print(f"{name}: {result.lower_bound} to {result.upper_bound}")
        return result

    pause = run("pfc_xoff_probing", "PfcXoffProbing", [(0, 1, 3)])
    loss = run("ingress_drop_probing", "IngressDropProbing", [(0, 1, 3)])
    assert loss.lower_bound > pause.lower_bound
    # The physical executors reach the chip through thrift and dataplane, and find the same pause
    # point.
    controller = importlib.import_module("buffer_occupancy_controller").BufferOccupancyController
    control = controller(ptf.tx_disable, ptf.tx_enable, ptf, ptf.send_packet, None, None, "")
    again = run("pfc_xoff_probing", "PfcXoffProbing", [(0, 1, 3)], EXECUTOR_ENV="physical", buffer_ctrl=control)
    assert (again.lower_bound, again.upper_bound) == (pause.lower_bound, pause.upper_bound)
    chip.request(op="drain")
    flows = [(src, 1, pg) for src in (0, 2) for pg in (3, 4)]
    run("headroom_pool_probing", "HeadroomPoolProbing", flows, POINT_PROBING_STEP_SIZE=1)


def main() -> None:
    program, switch, family = sys.argv[1:4]
    with Chip([switch], chip=family, program=program) as chip:
        own_driver(chip)
        own_ptf_steps(chip)
    folder = os.environ.get("BUFFERLAB_SONIC_MGMT")
    if folder is None:
        print("skipped: the framework of sonic-mgmt (BUFFERLAB_SONIC_MGMT names no checkout)")
        return
    with Chip([switch], chip=family, program=program) as chip:
        framework(chip, folder)


if __name__ == "__main__":
    main()
