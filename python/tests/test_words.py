"""Tests that hints of the libraries name arguments and functions in Python, not options and
commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bufferlab
from bufferlab import _bufferlab
from bufferlab._bufferlab import in_python_words

CRATES = (
    "conformance core document experiment lab metrics operator params replay report reproduce results scenario sim sonic theory transport "
    "units workload"
).split()
"""Crates whose messages the extension module shows."""

TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)

NOT_SHOWN = {
    # Python resolves classes in files itself, so the parser of variants never receives a class in a
    # file.
    "crates/scenario/src/variant.rs": ["this program runs no Python"],
    # These texts appear only on the documentation page about limits of SONiC support.
    "crates/operator/src/limits.rs": ["`--redis` of `bufferlab sonic`"],
    "crates/sonic/src/limits.rs": ["files of `bufferlab sonic`"],
    # The source line of an overridden key, below which the command line prints a caret.
    "crates/scenario/src/load.rs": ["--set {key}={value}"],
    # Pages and texts of the command line, which name its commands.
    "crates/report/src/finding/grid.rs": ["Repeat with `--seeds 5`"],
    "crates/report/src/finding/sentences.rs": ["Repeat with `--seeds 5`"],
    "crates/reproduce/src/output.rs": ["bufferlab theory figure"],
    "crates/reproduce/src/package.rs": ["# Data of the reproduction"],
    "crates/theory-check/src/ecn.rs": ["bufferlab run scenarios/dumbbell.toml"],
}
"""Texts of the libraries that are not hints of error messages, by source file."""

OF_THE_COMMAND_LINE = re.compile(r"(?<![\w-])--[a-z][a-z-]+|`bufferlab [a-z]")

KEPT = ["the command `bufferlab check` says what a port needs", "`bufferlab import`"]
"""Hints about features that only the command line has."""


@pytest.mark.parametrize(
    ("hint", "here"),
    [
        ("choose another folder with --out", "choose another folder with `out`"),
        ("name a folder in it, for example --out results/first", 'name a folder in it, for example out="results/first"'),
        ("say where results go with --out DIR", "say where results go with `out`"),
        ("or give --replace to have these", "or give replace=True to have these"),
        ("run again with --verify to find it", "run again with verify=True to find it"),
        ("Run with --seeds 5 or more.", "Run with seeds=5 or more."),
        ("with each other: --seeds says how many", "with each other: `seeds` says how many"),
        ("all of them: --policies all", 'all of them: policies=["all"]'),
        ("for example --set switch.policy=abm", 'for example scenario.set("switch.policy", "abm")'),
        (
            "for example --set 'switch.policy={ name = \"abm\", alpha = 0.5 }'; a bare word stands for a string",
            'for example scenario.set("switch.policy", {"name": "abm", "alpha": 0.5})',
        ),
        ("or override the key with --set", "or override the key with `Scenario.set`"),
        ("leave --profile out", "leave `profile` out"),
        ("run fewer at a time with --jobs", "run fewer at a time with `jobs`"),
        ("name the round trip with --round-trip", "name the round trip with `round_trip_us`"),
        ("Compare with the same without `--steady`: a", "Compare with the same without `steady`: a"),
        ("`bufferlab policy list` shows all of them", "bufferlab.policies() has all of them"),
        ("a file called a--b is no option, nor is -- or a range 1--2", "a file called a--b is no option, nor is -- or a range 1--2"),
        ("µ --out", "µ `out`"),
    ],
)
def test_options_become_arguments(hint: str, here: str) -> None:
    assert in_python_words(hint) == here


def test_no_hint_of_a_library_names_an_option_in_python() -> None:
    found, seen = [], 0
    for crate in CRATES:
        for path in sorted(Path("crates", crate, "src").rglob("*.rs")):
            code = re.sub(r"(?m)^\s*//.*$", "", path.read_text())
            code = code.partition("#[cfg(test)]")[0]
            for text in TEXT.findall(code):
                text = re.sub(r"\\\n\s*", "", text).replace('\\"', '"')
                if not OF_THE_COMMAND_LINE.search(text) or "var(--" in text or text.startswith("--c") or "{ --c" in text:
                    continue
                seen += 1
                if any(part in text for part in NOT_SHOWN.get(path.as_posix(), [])):
                    continue
                here = in_python_words(text)
                if OF_THE_COMMAND_LINE.search(here) and not any(kept in here for kept in KEPT):
                    found.append(f"{path}: {text!r} becomes {here!r}")
    found = [one for one in found if not one.startswith("crates/report/src/page.rs")]
    assert not found, "teach crates/python/src/words.rs:\n" + "\n".join(found)
    assert seen > 20, "the texts were not found"


def test_the_hints_of_errors_have_words_of_python(tmp_path: Path) -> None:
    star = bufferlab.Scenario.from_file("star-incast", duration="4 ms")
    bufferlab.run(star, out=tmp_path / "run")
    with pytest.raises(bufferlab.ResultsError) as caught:
        bufferlab.run(star.set("name", "another"), out=tmp_path / "run")
    assert "replace=True" in caught.value.help and "--" not in str(caught.value)
    with pytest.raises(bufferlab.ScenarioError) as unread:
        star._set_text("switch..policy", "abm").check()
    assert "--" not in str(unread.value)
    with pytest.raises(bufferlab.BufferlabError) as unknown:
        bufferlab.reproduce("nothing-at-all", out=tmp_path / "all")
    assert "bufferlab.experiments()" in unknown.value.help
    caveats = bufferlab.compare(star, ["dt", "cs"]).caveats
    assert caveats and not any("--" in caveat.advice for caveat in caveats)
    assert _bufferlab.in_python_words("") == ""
