"""`pinch config`."""

import json
from pathlib import Path

import pytest

from pinch_server.settings import knobs
from tests.cli.commands import invoke


def test_every_problem_is_told_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unknown names and values out of range, of file and environment, come in one go with status 2."""
    file = tmp_path / "pinch.toml"
    file.write_text('bugdet_tokens = 1\nkeep_last_turns = -1\n[log]\nlevel = "loud"\n')
    monkeypatch.setenv("PINCH_MIN_GAIN", "7")
    monkeypatch.setenv("PINCH_NOTHING", "1")
    result = invoke("config", "check", "--config", str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 5
    for name in ("bugdet_tokens", "keep_last_turns", "log.level", "min_gain", "PINCH_NOTHING"):
        assert any(name in line for line in lines)


def test_good_settings_pass() -> None:
    """Settings that can be used end with status 0 and nothing on standard output."""
    result = invoke("config", "check")
    assert (result.exit_code, result.stdout) == (0, "")


def test_show_hides_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in force is shown for every setting, but no password and no key."""
    monkeypatch.setenv("PINCH_STORE__DATABASE_URL", "postgresql://pinch:pa55word@db/pinch")
    monkeypatch.setenv("PINCH_SESSION_HASH_KEY", "a key that nobody sees")
    monkeypatch.setenv("PINCH_BUDGET_TOKENS", "12345")
    for arguments in (["config", "show"], ["config", "show", "--json"]):
        result = invoke(*arguments)
        assert result.exit_code == 0
        assert "pa55word" not in result.output
        assert "nobody sees" not in result.output
        assert "12345" in result.stdout
    assert json.loads(result.stdout)["store"]["database_url"].startswith("postgresql://pinch:")


def test_show_has_a_line_for_every_setting() -> None:
    """The plain form has one line `key = value` for each setting, a comment where there is no value."""
    lines = invoke("config", "show").stdout.splitlines()
    assert [line.removeprefix("# ").partition(" = ")[0] for line in lines] == [knob.key for knob in knobs()]
    assert "# target_tokens = none  # default" in lines


def test_what_is_shown_can_be_read_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`config show` prints a settings file that gives the same settings, but for what it hides."""
    (tmp_path / "first.toml").write_text('protected_tools = ["memory_*", "\u00fc"]\n[server]\nthreads = 3\n')
    monkeypatch.setenv("PINCH_SESSION_HASH_KEY", "a key that nobody sees")
    monkeypatch.setenv("PINCH_TARGET_TOKENS", "1234")
    first = invoke("config", "show", "--config", str(tmp_path / "first.toml"))
    assert first.exit_code == 0
    places = dict(line.partition(" = ")[::2] for line in first.stdout.splitlines())
    assert places["target_tokens"] == "1234  # PINCH_TARGET_TOKENS"
    assert places["server.threads"] == f"3  # {tmp_path / 'first.toml'}"
    assert places["budget_tokens"] == "50000  # default"
    assert places["# session_hash_key"].endswith("  # PINCH_SESSION_HASH_KEY")
    monkeypatch.delenv("PINCH_SESSION_HASH_KEY")
    monkeypatch.delenv("PINCH_TARGET_TOKENS")
    (tmp_path / "second.toml").write_text(first.stdout, encoding="utf-8")
    second = invoke("config", "show", "--config", str(tmp_path / "second.toml"))
    assert second.exit_code == 0, second.stderr
    before, after = (
        [line.partition("  # ")[0] for line in one.stdout.splitlines()] for one in (first, second)
    )
    assert [line for line in before if "session_hash_key" not in line] == [
        line for line in after if "session_hash_key" not in line
    ]


def test_another_ending_is_refused_with_those_that_work(tmp_path: Path) -> None:
    """A settings file that ends in .json is refused, and the endings that are read are named."""
    (tmp_path / "x.json").write_text("{}")
    result = invoke("config", "check", "--config", str(tmp_path / "x.json"))
    assert result.exit_code == 2
    assert all(ending in result.stderr for ending in (".toml", ".yaml", ".yml"))


def test_what_a_number_may_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text where a whole number belongs is answered with "a whole number", not with a bound alone."""
    monkeypatch.setenv("PINCH_MAX_SUMMARIZE_CHARS", "lots")
    monkeypatch.setenv("PINCH_MIN_GAIN", "lots")
    problems = invoke("config", "check").stderr
    assert "'lots' is not legal; give a whole number from 3000" in problems
    assert "'lots' is not legal; give a number from 0" in problems


def test_serving_others_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain text beyond this machine is refused with the option that allows it."""
    monkeypatch.setenv("PINCH_SERVER__LISTEN", "0.0.0.0:50051")
    assert "--insecure" in invoke("config", "check").stderr


def test_schema_is_json_schema() -> None:
    """The schema is a JSON document that knows the settings."""
    assert "budget_tokens" in json.loads(invoke("config", "schema").stdout)["properties"]
