"""Tests that the calculators give the answers that the command line prints."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bufferlab import DomainError, theory

CASES: list[tuple[Callable[[], theory.Derivation], list[str]]] = [
    (lambda: theory.burst_tolerance(), ["burst-tolerance"]),
    (
        lambda: theory.burst_tolerance(policy="abm", ports=16, congested=2, priorities=1, same_priority=True),
        ["burst-tolerance", "--policy", "abm", "--ports", "16", "--congested", "2", "--same-priority"],
    ),
    (
        lambda: theory.burst(policy="dt", burst="4 MB", fan_in=32, port_rate="100 Gb/s", alpha=1.0),
        ["burst", "--policy", "dt", "--burst", "4 MB", "--fan-in", "32", "--port-rate", "100 Gb/s", "--alpha", "1"],
    ),
    (
        lambda: theory.alpha(rate="80 Gb/s", burst="1 MB", others=[0.5, 1.0]),
        ["alpha", "--burst-rate", "80 Gb/s", "--burst", "1 MB", "--others", "0.5,1"],
    ),
    (
        lambda: theory.alpha(rate=80e9, duration="50 us", buffer=2_000_000),
        ["alpha", "--burst-rate", "80 Gb/s", "--duration", "50 us", "--buffer", "2 MB"],
    ),
    (lambda: theory.shares(buffer="4 MB", alpha=2.0), ["shares", "--buffer", "4 MB", "--alpha", "2"]),
    (lambda: theory.shares(share=0.25), ["shares", "--share", "0.25"]),
    (lambda: theory.guarantees(alphas=[1, 0.5], gamma=0.5), ["guarantees", "--alphas", "1,0.5", "--gamma", "0.5"]),
    (lambda: theory.drain_time(congested=3), ["drain-time", "--congested", "3"]),
    (
        lambda: theory.ecn(rtt="100 us", buffer="1 MB", burst="200 KB"),
        ["ecn", "--rtt", "100 us", "--buffer", "1 MB", "--burst", "200 KB"],
    ),
    (
        lambda: theory.headroom(rate="50 Gb/s", peer_response=400, interface_bits=1e4, response_bits=2e4),
        ["headroom", "--rate", "50 Gb/s", "--peer-response", "400", "--interface-bits", "10000", "--response-bits", "20000"],
    ),
    (lambda: theory.headroom(generation="spectrum-4"), ["headroom", "--generation", "spectrum-4"]),
    (lambda: theory.chips(buffer="16 MB"), ["chips", "--buffer", "16 MB"]),
    (lambda: theory.tdt_parameters(ports=64), ["tdt-parameters", "--ports", "64"]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_calculator_prints_what_the_command_line_prints(cli: Path, case: int) -> None:
    calculate, arguments = CASES[case]
    printed = subprocess.run([cli, "theory", *arguments], check=True, capture_output=True, text=True).stdout
    assert str(calculate()) == printed


def test_what_has_no_answer_is_refused_with_argument_value_and_what_is_valid() -> None:
    with pytest.raises(DomainError) as caught:
        theory.burst_tolerance(rate="5 Gb/s")
    assert (caught.value.input, caught.value.value) == ("rate", 5e9)
    assert "expected" in str(caught.value)
    with pytest.raises(DomainError, match="^alphas is 0"):
        theory.guarantees(alphas=[0.0])
    with pytest.raises(DomainError, match="^burst is 1e"):
        theory.alpha(rate="80 Gb/s", burst=1e9)
    with pytest.raises(DomainError, match="^pipeline_latency is -1"):
        theory.headroom(pipeline_latency=-1)


def test_a_quantity_without_its_unit_says_which_argument_it_is() -> None:
    with pytest.raises(ValueError, match="^buffer: "):
        theory.chips(buffer="16")
    with pytest.raises(TypeError, match="`duration` or `burst`"):
        theory.alpha(rate="80 Gb/s")


def test_every_figure_can_be_computed_and_has_lines() -> None:
    for name in theory.figures():
        panels = theory.figure(name)
        assert panels
        assert all(len(line.x) == len(line.y) > 1 for panel in panels for line in panel.series)
    with pytest.raises(KeyError):
        theory.figure("abm-99")


def test_an_answer_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(KeyError, match=r"there is no answer \"nothing\"\nhelp: choose one of: lossless for, arrived"):
        theory.burst_tolerance(policy="dt")["nothing"]


@pytest.mark.parametrize(("ask", "command"), CASES)
def test_packets_say_of_an_answer_what_the_command_line_says(
    cli: Path, ask: Callable[[], theory.Derivation], command: list[str]
) -> None:
    answer = ask()
    found = answer.verify()
    assert found.holds and (found.checks or found.left_out), found
    whole = [str(cli), "theory", *command, "--verify"]
    said = subprocess.run(whole, check=True, capture_output=True, text=True).stdout
    assert said == f"{answer}\n{found}"
    for check in found.checks:
        difference = check.measured - check.stated
        if math.isfinite(difference) and check.relation == "equal":
            assert abs(difference) <= check.bound + 1e-9 * abs(check.stated)
