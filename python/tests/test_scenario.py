"""Tests of scenarios: content, changes, and errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import bufferlab
from bufferlab import BufferlabWarning, Scenario, ScenarioError, UnknownNameError

TABLES: dict[str, bufferlab.Value] = {
    "duration": "1 ms",
    "topology": {"kind": "single_switch", "hosts": 4, "rate": "10 Gb/s", "delay": "2 us"},
    "switch": {"buffer": "100 KB", "policy": {"name": "dt", "alpha": 0.5}},
    "transport": [{"congestion_control": "dctcp"}],
    "workload": [
        {"kind": "incast", "fan_in": 3, "request": "60 KB", "queries_per_second_per_host": 1000.0}
    ],
}


def test_a_dictionary_a_text_and_a_file_say_the_same(tmp_path: Path) -> None:
    from_tables = Scenario(TABLES, name="same")
    text = """
        duration = "1 ms"
        [topology]
        kind = "single_switch"
        hosts = 4
        rate = "10 Gb/s"
        delay = "2 us"
        [switch]
        buffer = "100 KB"
        policy = { name = "dt", alpha = 0.5 }
        [[transport]]
        congestion_control = "dctcp"
        [[workload]]
        kind = "incast"
        fan_in = 3
        request = "60 KB"
        queries_per_second_per_host = 1000.0
    """
    file = tmp_path / "same.toml"
    file.write_text(text)
    assert from_tables.resolved == Scenario.from_toml(text, name="same").resolved
    assert from_tables.resolved == Scenario.from_file(file).resolved


def test_a_change_makes_a_new_scenario_and_leaves_the_old_one(star: Scenario) -> None:
    changed = star.set("switch.policy", {"name": "abm", "alpha": 0.25})
    assert (star.policy, changed.policy) == ("dt", "abm")
    assert "alpha = 0.25" in changed.resolved
    assert star.with_({"switch.policy": "cs"}, seed=9).seed == 9


def test_the_resolved_text_resolves_to_itself(star: Scenario) -> None:
    assert Scenario.from_toml(star.resolved).resolved == star.resolved


def test_a_mistake_is_answered_with_file_line_key_and_help(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('extends = "base.toml"\n\n[switch]\npolicy = "abn"\n')
    (tmp_path / "base.toml").write_text(Scenario(TABLES).resolved)
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_file(file).check()
    error = caught.value
    assert (error.file, error.line) == (str(file), 4)
    assert error.key.startswith("switch.policy")
    assert error.problems[0].help is not None and "abm" in error.problems[0].help
    assert str(file) in str(error) and "help: " in str(error)


def test_every_mistake_is_told_at_once() -> None:
    scenario = Scenario({**TABLES, "duration": "1 parsec", "seed": -1})
    with pytest.raises(ScenarioError) as caught:
        scenario.check()
    assert {problem.key for problem in caught.value.problems} == {"duration", "seed"}


def test_a_missing_file_is_a_scenario_error() -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        Scenario.from_file("scenarios/star-incas.toml").check()


def test_what_no_scenario_can_hold_is_refused_at_once(star: Scenario) -> None:
    with pytest.raises(TypeError, match="complex"):
        star.set("seed", 1j)  # type: ignore[call-overload]


@pytest.mark.parametrize("text", ["plain", 'quotes "inside"', "back\\slash", "tab\tline\n", "ünïcode ☃"])
def test_any_text_survives_the_way_through_toml(star: Scenario, text: str) -> None:
    described = star.set("description", text)
    assert described.description == text
    assert Scenario.from_toml(described.resolved).description == text


@pytest.mark.parametrize("text", ["\x7f", "\x01", "\x1b[31m", "\u202e"])
def test_characters_that_change_a_terminal_are_refused(star: Scenario, text: str) -> None:
    with pytest.raises(ScenarioError, match="hidden character"):
        star.set("description", text).check()


def test_scenarios_and_errors_can_be_pickled(star: Scenario) -> None:
    again = pickle.loads(pickle.dumps(star.set("seed", 5)))
    assert again.resolved == star.set("seed", 5).resolved
    with pytest.raises(ScenarioError) as caught:
        star.set("seed", -1).check()
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), error.key) == (str(caught.value), "seed")


def test_input_files_are_kept() -> None:
    scenario = Scenario.from_file("scenarios/dumbbell.toml")
    [(name, content)] = scenario._load().inputs
    assert name == "dumbbell-flows.csv"
    assert content == Path("scenarios/dumbbell-flows.csv").read_bytes()


def test_what_stands_in_no_file_names_none(star: Scenario) -> None:
    with pytest.raises(ScenarioError) as caught:
        star.set("switch.bufer", "1 MB").check()
    assert (caught.value.file, caught.value.line, caught.value.key) == (None, None, "switch.bufer")
    with pytest.raises(ScenarioError) as caught:
        Scenario({"duration": "1 ms", "switch": {"bufer": "1 MB"}}, name="mine").check()
    assert {problem.file for problem in caught.value.problems} == {"<mine>"}


def test_warnings_point_to_the_code_that_asked(star: Scenario) -> None:
    doubtful = star.set("switch.ecn", {"kind": "step", "threshold": "1 GB"})
    for ask in (lambda: bufferlab.run(doubtful), lambda: bufferlab.compare(doubtful, ["dt", "cs"])):
        with pytest.warns(BufferlabWarning) as caught:
            ask()
        assert {warning.filename for warning in caught} == {__file__}


def test_a_shipped_name_is_a_scenario_and_an_unknown_one_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bufferlab.run(Scenario.from_file("star-incast", duration="4 ms")).policy == "dt"
    with pytest.raises(ScenarioError, match='did you mean "star-incast"') as caught:
        bufferlab.run("star-incest")
    assert "bufferlab.scenarios()" in str(caught.value)
    # An existing file called like a shipped scenario takes precedence.
    (tmp_path / "star-incast").write_text('this is = "no scenario')
    with pytest.raises(ScenarioError, match="star-incast"):
        bufferlab.run("star-incast")


def test_values_are_read_by_key(star: Scenario) -> None:
    changed = star.with_({"switch.policy": {"name": "abm", "alpha": 0.25}, "workload.incast.fan_in": 3})
    assert changed["switch.buffer"] == star["switch"]["buffer"] == "400 KB"
    assert changed["switch.policy"]["alpha"] == changed["switch.policy.alpha"] == 0.25
    assert changed["workload.0.fan_in"] == changed["workload.incast.fan_in"] == changed["workload"][0]["fan_in"] == 3
    assert changed["seed"] == changed.seed and "seed" in changed and "seeds" not in changed
    # Every key can be read, and set to the value that was read.
    keys = changed.keys()
    assert len(keys) > 40 and "switch.policy.alpha" in keys and changed._ipython_key_completions_() == list(keys)
    assert changed.set("workload.0.request", changed["workload.0.request"]) == changed
    for key in keys:
        assert key in changed


@pytest.mark.parametrize(
    ("key", "wrong", "help"),
    [
        ("switch.bufer", "switch.bufer", 'did you mean "switch.buffer"?'),
        ("swich.buffer", "swich", 'did you mean "switch"?'),
        ("workload.1.load", "workload.1", 'did you mean "workload.0"?'),
        ("switch.buffer.size", "switch.buffer.size", "there is none"),
        ("", "", "choose one of: name, "),
    ],
)
def test_a_wrong_key_is_refused_with_a_suggestion(star: Scenario, key: str, wrong: str, help: str) -> None:
    with pytest.raises(UnknownNameError, match=f'there is no key "{wrong}"') as error:
        star[key]
    assert error.value.help is not None and error.value.help.startswith(help), error.value.help
    with pytest.raises(TypeError):
        iter(star)  # type: ignore[call-overload]


def test_a_notebook_shows_the_keys_of_a_scenario(star: Scenario) -> None:
    shown = star.set("description", "a < b")._repr_html_()
    assert "<caption>star-incast: a &lt; b</caption>" in shown and "<td>switch.buffer</td><td>400 KB</td>" in shown
    assert "more keys in keys()" in shown or shown.count("<tr>") < 62
    wrong = star.set("switch.bufer", "1 MB")._repr_html_()
    assert wrong.startswith("<pre>Scenario(") and "bufer" in wrong
