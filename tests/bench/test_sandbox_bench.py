"""The sandbox's bench tells a bomb that ended as it may from one that did not."""

import json
from contextlib import closing

import pytest

from bench.sandbox.__main__ import Exploded, Work, explode, main, show
from bench.sandbox.bombs import BOMBS, Bomb
from pinch_server.extract.program import FaultKind
from pinch_server.extract.sandbox import Sandbox


def test_a_bomb_that_runs_is_reported() -> None:
    """A program that ran though it should not, or ended otherwise than it may, is not as expected."""
    with closing(Sandbox()) as sandbox:
        ran = explode(sandbox, Bomb("harmless", "OUTPUT = 'a'", frozenset({FaultKind.PANIC})))
        ended = explode(sandbox, Bomb("ended", "OUTPUT = 1", frozenset()))
        right = explode(sandbox, Bomb("right", "OUTPUT = 1", frozenset({FaultKind.NOT_TEXT})))
    assert [row.outcome for row in (ran, ended)] == ["ran", "bad program result: OUTPUT was not a string"]
    assert [row.is_as_expected for row in (ran, ended, right)] == [False, False, True]
    assert all(row.works_afterwards for row in (ran, ended, right))


def test_the_tables_name_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """A bomb that left the sandbox broken, and a goal that was missed, stand out."""
    show([Exploded("worst", "ran", 1.0, False, False)], [Work("a log", 1_000, 31.0)])
    printed = capsys.readouterr().out
    assert printed.count("NO") == 2
    assert "MISSED" in printed


def test_every_bomb_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` holds each bomb once, and the work."""
    main(["--json"])
    figures = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in figures["bombs"]] == [bomb.name for bomb in BOMBS]
    assert all(row["is_as_expected"] and row["works_afterwards"] for row in figures["bombs"])
    assert {row["name"] for row in figures["work"]} == {"1 MB of log", "1 kB of log"}
