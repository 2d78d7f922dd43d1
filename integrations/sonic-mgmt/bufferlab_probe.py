"""Runs MMU probing of sonic-mgmt (tests/saitests/probe) against `bufferlab sonic probe`.

The framework of sonic-mgmt calls executors to prepare ports and to check packet counts. The
executors of this file send the calls to one simulated chip in a process of the command line. Use::

    from bufferlab_probe import Chip, install

    with Chip(["config_db.json", "pg_profile_lookup.ini"], chip="trident3") as chip:
        install(chip)                       # registers the environment `sim`
        ...                                 # run a probe with executor_env = "sim"

This file needs Python 3.8 and the program `bufferlab`, but no Python package.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import types
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type

PROBES = ("pfc_xoff", "ingress_drop", "egress_drop", "pfc_xon")


class ProbeError(RuntimeError):
    """The simulated chip refused a request, or its process ended."""


class Chip:
    """A simulated chip that all executors share, with stored packets and persistent priority
    groups."""

    def __init__(
        self,
        files: Sequence[str],
        chip: Optional[str] = None,
        packet: int = 64,
        program: Optional[str] = None,
    ) -> None:
        command = [program or os.environ.get("BUFFERLAB", "bufferlab"), "--quiet", "sonic", "probe", *files]
        command += ["--packet", str(packet)]
        if chip is not None:
            command += ["--chip", chip]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1
        )
        self.requests = 0
        """Number of requests that the simulated chip has answered."""

    def request(self, **request: Any) -> Mapping[str, Any]:
        """Sends a request to the chip's process and returns the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ProbeError("bufferlab ended; its standard error has the reason")
        self.requests += 1
        answer: Dict[str, Any] = json.loads(line)
        if not answer["success"]:
            raise ProbeError(str(answer.get("error", "the request failed")))
        return answer

    def ports(self) -> List[str]:
        """Names of the ports, in the order of their numbers."""
        return list(self.request(op="ports")["ports"])

    def close(self) -> None:
        """Ends the process that simulates the chip."""
        if self._process.stdin is not None:
            # A process that has ended leaves its last request in the pipe.
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> "Chip":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _executor(chip: Chip, probe: str) -> Type[Any]:
    """An executor class with the calls of sonic-mgmt's ProbingExecutorProtocol."""

    class ModelExecutor:
        def __init__(self, observer: Any = None, name: str = "", **_: Any) -> None:
            self.observer, self.name = observer, name

        def prepare(self, src_port: int, dst_port: int, dst_port_b: Optional[int] = None) -> None:
            chip.request(op="prepare", src_port=src_port, dst_port=dst_port)

        def check(
            self,
            src_port: int,
            dst_port: int,
            value: int,
            attempts: int = 1,
            drain_buffer: bool = True,
            iteration: int = 0,
            **traffic_keys: int,
        ) -> Tuple[bool, bool]:
            answer = chip.request(
                op="check",
                probe=probe,
                src_port=src_port,
                dst_port=dst_port,
                value=value,
                attempts=attempts,
                drain_buffer=drain_buffer,
                **{key: number for key, number in traffic_keys.items() if key in ("pg", "queue")},
            )
            return True, bool(answer["detected"])

        def cleanup(self) -> None:
            chip.request(op="prepare", src_port=0, dst_port=1)

    class ResumeExecutor(ModelExecutor):
        """Executor for `pfc_xon` with two destination ports: the first port is drained, the second
        port stores the rest."""

        def check(  # type: ignore[override]
            self,
            src_port: int,
            dst_port_a: int,
            dst_port_b: int,
            value: int,
            attempts: int = 1,
            **traffic_keys: int,
        ) -> Tuple[bool, bool]:
            answer = chip.request(
                op="check",
                probe=probe,
                src_port=src_port,
                dst_port=dst_port_a,
                dst_port_b=dst_port_b,
                value=value,
                attempts=attempts,
                pg=traffic_keys["pg"],
            )
            return True, bool(answer["detected"])

    return ResumeExecutor if probe == "pfc_xon" else ModelExecutor


class BufferControl:
    """Replacement for sonic-mgmt's BufferOccupancyController, with the methods that threshold
    probes call."""

    def __init__(self, chip: Chip) -> None:
        self._chip = chip

    def persist_buffer_occupancy(self, src_port_id: int, dst_port_id: int, count: int, **traffic_keys: int) -> None:
        """Keeps a priority group filled until :meth:`Chip.request` with ``op="drain"``."""
        self._chip.request(op="persist", src_port=src_port_id, dst_port=dst_port_id, value=count, pg=traffic_keys["pg"])

    def hold_buffer(self, port_ids: Sequence[int]) -> None:
        """Does nothing, because every check blocks its egress port itself."""

    def drain_buffer(self, port_ids: Sequence[int], last_port: bool = False) -> None:
        """Does nothing, because every check empties the chip, except for persistent priority
        groups."""


def install(chip: Chip, probe_folder: Optional[str] = None) -> None:
    """Registers the executors for the framework's environment `sim`, without a scenario.

    ``probe_folder`` is ``tests/saitests/probe`` of a checkout; without it, the folder must be on
    ``sys.path``. The framework's own simulated executors are not imported.
    """
    if probe_folder is not None and probe_folder not in sys.path:
        sys.path.insert(0, probe_folder)
    from executor_registry import ExecutorRegistry  # type: ignore[import-not-found]

    for probe in PROBES:
        # The executor registry imports this module before it looks for an executor.
        name = f"sim_{probe}_probing_executor"
        sys.modules[name] = types.ModuleType(name)
        ExecutorRegistry.register(probe, "sim")(_executor(chip, probe))


# Indices of counters in the list that sonic-mgmt's sai_thrift_read_port_counters returns.
EGRESS_DROP, INGRESS_DROP, PFC_PRIO_0, TRANSMITTED_PKTS = 0, 1, 2, 11
INGRESS_PORT_BUFFER_DROP, EGRESS_PORT_BUFFER_DROP = 12, 13
# More packets than the memory stores, so that the port sends all stored packets.
ALL_PACKETS = 10_000_000
# Number of pauses that a paused chip repeats between two reads, as measured on Tomahawk 2.
REPEATED_PAUSES = 220


class Ptf:
    """The calls of PTF tests of the switch memory: ports, packets and counters, on a simulated
    chip.

    A packet is a pair of egress port and priority. :meth:`install` replaces the modules ``switch``
    and ``ptf.testutils``, so that the framework's *physical* executors run unmodified::

        ptf = Ptf(chip)
        ptf.install()
        controller = BufferOccupancyController(
            ptf.tx_disable, ptf.tx_enable, ptf, ptf.send_packet, test, None, ""
        )
    """

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._held: set = set()
        self._repeated: Dict[Tuple[int, int], int] = {}

    def get_packet(self, src_port: int, dst_port: int, **traffic_keys: int) -> Tuple[int, int]:
        """The packet of a test flow, as the StreamManager of sonic-mgmt returns the packet."""
        return dst_port, traffic_keys.get("pg", traffic_keys.get("queue", 0))

    def tx_disable(self, client: Any, asic_type: str, port_ids: Sequence[int], **_: Any) -> None:
        """Blocks ports, so that their packets stay in the chip's memory."""
        self._held.update(port_ids)

    def tx_enable(self, client: Any, asic_type: str, port_ids: Sequence[int], last_port: bool = True, **_: Any) -> None:
        """Opens blocked ports, so that their packets leave the chip."""
        self._held.difference_update(port_ids)
        for port in port_ids:
            self._chip.request(op="release", dst_port=port, value=ALL_PACKETS)

    def send_packet(self, test: Any, port: int, packet: Tuple[int, int], count: int = 1) -> None:
        """Sends packets that arrive at a port of the chip."""
        to, priority = packet
        self._chip.request(op="send", src_port=port, dst_port=to, value=count, pg=priority)
        if to not in self._held:
            self._chip.request(op="release", dst_port=to, value=ALL_PACKETS)

    def read_port_counters(self, client: Any, asic_type: str, port: int) -> Tuple[List[int], List[int]]:
        """Counters of a port in sonic-mgmt's order, and the number of packets that each queue
        sent."""
        found = self._chip.request(op="counters", port=port)["counters"]
        counters = [0] * 20
        counters[INGRESS_DROP] = counters[INGRESS_PORT_BUFFER_DROP] = sum(found["group_drops"])
        counters[EGRESS_DROP] = counters[EGRESS_PORT_BUFFER_DROP] = sum(found["queue_drops"])
        counters[TRANSMITTED_PKTS] = sum(found["sent"])
        for priority, pauses in enumerate(found["pauses"]):
            if self._chip.request(op="paused", src_port=port, pg=priority)["paused"]:
                key = (port, priority)
                self._repeated[key] = self._repeated.get(key, 0) + REPEATED_PAUSES
            counters[PFC_PRIO_0 + priority] = pauses + self._repeated.get((port, priority), 0)
        return counters, list(found["sent"])

    def read_pg_drop_counters(self, client: Any, port: int) -> List[int]:
        """Numbers of lost packets that arrived at a port, by priority group."""
        return list(self._chip.request(op="counters", port=port)["counters"]["group_drops"])

    def read_port_watermarks(self, client: Any, port: int) -> Tuple[List[int], List[int], List[int]]:
        """Peak occupancies (bytes) of queues, of the shared part of priority groups, and of the
        groups' headroom."""
        found = self._chip.request(op="watermarks", port=port)["bytes"]
        return found["queue_shared"], found["group_shared"], found["group_headroom"]

    def install(self) -> None:
        """Replaces the functions that PTF tests and physical executors import by the calls of this
        class."""
        switch, tests, testutils = (types.ModuleType(name) for name in ("switch", "sai_qos_tests", "ptf.testutils"))
        exported = {
            "sai_thrift_read_port_counters": self.read_port_counters,
            "sai_thrift_read_pg_drop_counters": self.read_pg_drop_counters,
            "sai_thrift_read_port_watermarks": self.read_port_watermarks,
            "port_list": {"src": range(4_096), "dst": range(4_096)},
            "switch_init": lambda *_: None,
        }
        for name, value in exported.items():
            setattr(switch, name, value)
        positions = {
            "PORT_TX_CTRL_DELAY": 0,
            "PFC_TRIGGER_DELAY": 0,
            "EGRESS_DROP": EGRESS_DROP,
            "INGRESS_DROP": INGRESS_DROP,
            "INGRESS_PORT_BUFFER_DROP": INGRESS_PORT_BUFFER_DROP,
            "EGRESS_PORT_BUFFER_DROP": EGRESS_PORT_BUFFER_DROP,
            "log_message": lambda *_, **__: None,
            "construct_ip_pkt": lambda *_, **__: None,
            "get_rx_port": lambda *_: None,
        }
        for name, value in positions.items():
            setattr(tests, name, value)
        testutils.send_packet = self.send_packet  # type: ignore[attr-defined]
        sys.modules.update({"switch": switch, "sai_qos_tests": tests, "ptf.testutils": testutils})
