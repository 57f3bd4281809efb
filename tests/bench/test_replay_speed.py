"""The table of what a replay costs."""

import pytest

from bench.replay_speed import SETTINGS, main


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting has a row for every number of messages, and each of those sessions has its events."""
    assert main(["--messages", "161", "201", "--runs", "1"]) == 0
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][0] == "messages"
    assert [(row[0], row[1]) for row in lines[2:]] == [(n, name) for n in ("161", "201") for name in SETTINGS]
    assert all(row[-1].isdigit() for row in lines[2:])
    assert any(int(row[-1]) > 0 for row in lines[2:])
