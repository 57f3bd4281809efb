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
    """The plain form has one line `key = value` for each setting."""
    lines = invoke("config", "show").stdout.splitlines()
    assert [line.partition(" = ")[0] for line in lines] == [knob.key for knob in knobs()]


def test_schema_is_json_schema() -> None:
    """The schema is a JSON document that knows the settings."""
    assert "budget_tokens" in json.loads(invoke("config", "schema").stdout)["properties"]
