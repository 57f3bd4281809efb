"""The comparison of the two estimates."""

import json

import pytest

from bench import counting
from bench.corpus import Conversation
from pinch_server.formats.format import Format


def session(text: str) -> Conversation:
    """A session of one user message."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    return Conversation("made", Format.OPENAI_CHAT, body)


def test_both_estimates_are_held_against_one_another() -> None:
    """A session's ratio is its characters over three by its tokens, and the tokens are summed."""
    found = counting.compared([session("x" * 8 * 300), session(" word" * 300)])
    assert found.tokens == 300 + 300
    assert found.ratios == [500 / 300, 800 / 300]
    assert set(found.seconds) == {"chars3", "o200k"}


def test_without_a_corpus_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With nothing to count the command fails, and says what is missing."""
    monkeypatch.setattr(counting, "conversations", lambda: iter(()))
    assert counting.main() == 2
    assert "no conversations" in capsys.readouterr().err


def test_the_table_shows_the_quantiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Least and greatest ratio stand at the ends of the table."""
    monkeypatch.setattr(counting, "conversations", lambda: iter([session(" word" * n) for n in (30, 60)]))
    assert counting.main() == 0
    assert "| 1.67 |" in capsys.readouterr().out
