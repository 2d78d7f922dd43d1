"""Tests of the HTML with small charts that notebooks show for results."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import bufferlab
from bufferlab import Scenario, _charts, _html, _svg

EMPTY = {"meta", "br"}


class Balance(HTMLParser):
    """Collects the open elements of a page, and fails at a wrong closing tag."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def charts(page: str) -> list[ElementTree.Element]:
    """Checks a page, and returns its charts (larger than a bar)."""
    balance = Balance()
    balance.feed(page)
    assert balance.open == [] and "script" not in balance.seen and "http" not in page
    assert not re.search(r"#000|#fff|black|white", page), "a colour that one of the themes hides"
    drawn = [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page)]
    return [svg for svg in drawn if float(svg.get("height", "0")) > 100]


def test_a_run_shows_its_slowdowns_and_its_buffer(star: Scenario) -> None:
    run = bufferlab.run(star)
    page = run._repr_html_()
    slowdown, buffer = charts(page)
    assert slowdown.get("aria-label") == "Slowdown of flows"
    assert buffer.get("aria-label") == "Buffer in use, peaks"
    [line] = [path for path in buffer.iter("path") if path.get("stroke-width") == "1.5"]
    heights = [float(place.split()[1]) for place in (line.get("d") or "M").strip("M").split("L")]
    assert len(heights) <= 121 and min(heights) < 20 < max(heights)
    assert len(page) < 20_000
    assert not charts(run.summary._repr_html_()) and run.summary._repr_html_().count("<svg") >= 2


def test_tables_without_rows_have_no_chart(star: Scenario) -> None:
    run = bufferlab.run(star)
    assert _charts.slowdowns(run.flows.arrow.slice(0, 0)) == ""
    assert _charts.occupancies(run.series.arrow.slice(0, 0)) == ""
    assert _charts.slowdowns(run.flows.arrow.slice(0, 1)) == ""


def test_a_comparison_has_a_bar_with_its_interval_in_each_cell(star: Scenario) -> None:
    comparison = bufferlab.compare(star, ["dt", "cs"], seeds=3)
    page = comparison._repr_html_()
    assert charts(page) == []
    headlines = sum(metric.headline for metric in comparison.metrics)
    assert page.count("<rect") == sum(
        comparison[metric.id][policy].estimate is not None
        for metric in comparison.metrics
        if metric.headline
        for policy in comparison.policies
    ) > headlines
    estimate = comparison["switches.lost_percent"]["dt"].estimate
    assert estimate is not None and f"{estimate.mean:.6g} ±" in page


@pytest.mark.parametrize(
    ("vary", "titles"),
    [
        ({"switch.buffer": ["200 KB", "400 KB", "1 MB"]}, ["class.incast.qct_mean_ms [ms]"]),
        (
            {"switch.buffer": ["200 KB", "400 KB", "1 MB"], "workload.incast.fan_in": [3, 7]},
            ["workload.incast.fan_in = 3", "workload.incast.fan_in = 7"],
        ),
        ({"transport.0.congestion_control": ["dctcp", "newreno"]}, []),
    ],
)
def test_a_sweep_draws_a_metric_over_a_number(star: Scenario, vary: dict[str, list[bufferlab.Value]], titles: list[str], tmp_path: Path) -> None:
    page = bufferlab.sweep(star, vary, policies=["dt", "cs"], seeds=2, out=tmp_path / "sweep")._repr_html_()
    found = charts(page)
    assert [svg.get("aria-label") for svg in found] == titles
    for svg in found:
        lines = [path for path in svg.iter("path") if path.get("stroke-width") == "1.5"]
        assert len(lines) == 2 and [line.get("stroke-dasharray") for line in lines] == [None, "6 4"]
        assert all((line.get("d") or "").count("L") == 2 for line in lines)


def test_names_are_escaped_and_nothing_is_drawn_of_one_place() -> None:
    lines = [_svg.Line("<b>", [_svg.Point(1, 2), _svg.Point(2, 3, 2.5, 3.5)], _svg.color(0))]
    page = _svg.chart("a & <b>", lines, _svg.Axis("<x>"), _svg.Axis("y"))
    assert "<b>a &amp; &lt;b&gt;</b>" in page and "&lt;x&gt;" in page and len(charts(page)) == 1
    assert _svg.chart("t", [_svg.Line("a", [_svg.Point(1, 2)], "#123456")], _svg.Axis("x"), _svg.Axis("y")) == ""
    assert _svg.chart("t", [], _svg.Axis("x"), _svg.Axis("y")) == ""
    assert _html.table("c", ["h"], [(_html.Markup("<i>"),), ("<i>",)]).count("<i>") == 1


@pytest.mark.parametrize("numbers", [(0, 0), (-3, 5), (1e-9, 1e12), (1, 1.0001), (0.2, 0.9), (7, 7)])
@pytest.mark.parametrize("log", [False, True])
def test_axes_have_few_round_ticks_within_the_chart(numbers: tuple[float, float], log: bool) -> None:
    scale = _svg._Scale(numbers, _svg.Axis("", log=log), 10.0, 110.0)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 6
    assert all(9.9 <= scale.place(tick) <= 110.1 for tick in ticks)
