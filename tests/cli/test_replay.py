"""`pinch replay`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.conversations import generate
from pinch_server.cli.transcripts import TranscriptError, read_transcript
from tests.cli.commands import invoke

SMALL = ("--limit", "budget_tokens=15000")


@pytest.fixture(scope="module")
def bodies() -> dict[str, dict[str, Any]]:
    """One session of each dialect."""
    return {
        "openai": generate(3, tokens=40_000, format="openai-chat", images=False),
        "anthropic": generate(5, tokens=40_000, format="anthropic", images=False),
    }


@pytest.fixture
def folder(tmp_path: Path, bodies: dict[str, dict[str, Any]]) -> Path:
    """A folder of transcripts, one in a folder of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "one.json").write_text(json.dumps(bodies["openai"]))
    (tmp_path / "in" / "two.json").write_text(json.dumps(bodies["anthropic"]))
    return tmp_path


def test_a_folder_is_replayed(folder: Path) -> None:
    """Each session has its calls, sizes and dollars with pruning and without, and what was trimmed where."""
    result = invoke("replay", str(folder), "--json", *SMALL)
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert [one["session"] for one in told["sessions"]] == ["two.json", "one.json"]
    for session in told["sessions"]:
        calls = session["calls"]
        assert all(call["tokens_with"] <= call["tokens_without"] for call in calls)
        assert sum(len(call["trimmed"]) for call in calls) > 0
        assert sum(not call["extends_the_call_before"] for call in calls) == session["prefix_breaks"]
        assert calls[-1]["tokens_with"] < calls[-1]["tokens_without"]
        assert session["dollars_with"] == pytest.approx(sum(call["dollars_with"] for call in calls), abs=1e-3)


def test_the_report_is_one_file(folder: Path) -> None:
    """The HTML report holds its charts itself, asks nobody for anything, and quotes no transcript."""
    report = folder / "report.html"
    result = invoke("replay", str(folder / "one.json"), "--html", str(report), *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "one.json" in result.stderr
    page = report.read_text()
    assert page.count("<svg") == 2
    assert "Where it was trimmed" in page
    assert not re.search(r"https?://|src=|@import|url\(", page)
    first = json.loads((folder / "one.json").read_text())["messages"][1]["content"]
    assert (first if isinstance(first, str) else first[0]["text"])[:40] not in page


def test_the_report_may_do_nothing(folder: Path) -> None:
    """A report comes by mail: it forbids itself scripts, requests and forms, and has none."""
    report = folder / "report.html"
    assert invoke("replay", str(folder / "one.json"), "--html", str(report), *SMALL).exit_code == 0
    page = report.read_text()
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<form|<iframe|<object| on[a-z]+=|javascript:", page)


def test_the_report_fits_a_phone(folder: Path) -> None:
    """Every table stands in a box of its own that scrolls, so that a narrow page is as wide as its window."""
    report = folder / "report.html"
    assert invoke("replay", str(folder), "--html", str(report), *SMALL).exit_code == 0
    page = report.read_text()
    assert (
        page.count("<table>") == page.count('<div class="wide"><table>') == page.count("</table></div>") == 3
    )


def test_charts_have_round_numbers_and_the_budget(folder: Path) -> None:
    """Axes end at a round number; the budget is a level line among the tokens, not among the dollars."""
    report = folder / "report.html"
    assert invoke("replay", str(folder / "one.json"), "--html", str(report), *SMALL).exit_code == 0
    tokens, dollars = re.findall(r"<svg.*?</svg>", report.read_text())
    assert [re.sub("<[^>]*>", "", text) for text in re.findall('<text[^>]*end">[^<]*', tokens)][:3] == [
        "0",
        "25,000",
        "50,000",
    ]
    assert ('class="budget"' in tokens, 'class="budget"' in dollars) == (True, False)


def test_a_pipe_gets_no_progress_bar(folder: Path) -> None:
    """Where nobody watches, nothing is drawn, and no name is folded."""
    told = invoke("replay", str(folder)).stderr
    assert "Replaying" not in told
    assert "one.json" in told


def test_a_bad_line_is_told_by_its_number(tmp_path: Path) -> None:
    """The line of a log that is no JSON is named, so that it can be found."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"role": "user", "content": "a\u2028b"}\n\n{"role": bad\n')
    with pytest.raises(TranscriptError, match=r"^line 3 is no JSON: Expecting value \(column 10\)$"):
        read_transcript(path)


def test_one_message_is_a_session(tmp_path: Path) -> None:
    """A session of one message has one call and costs the same with pruning."""
    path = tmp_path / "one.json"
    path.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    told = json.loads(invoke("replay", str(path), "--json").stdout)
    assert len(told["sessions"][0]["calls"]) == 1
    assert told["change"] == 0


def test_names_are_escaped(folder: Path, bodies: dict[str, dict[str, Any]]) -> None:
    """A file's name is text in the report, never markup."""
    odd = folder / "<b>&.json"
    odd.write_text(json.dumps(bodies["openai"]))
    assert invoke("replay", str(odd), "--html", str(folder / "r.html")).exit_code == 0
    assert "&lt;b&gt;&amp;.json" in (folder / "r.html").read_text()


def test_messages_and_bodies_by_line(tmp_path: Path, bodies: dict[str, dict[str, Any]]) -> None:
    """A message a line, wrapped or not, a list of messages and a log of growing bodies are one session."""
    body = bodies["openai"]
    messages = body["messages"]
    forms = {
        "bare.jsonl": messages,
        "wrapped.jsonl": [{"type": "entry", "message": message} for message in messages],
        "log.jsonl": [{**body, "messages": messages[:end]} for end in (4, 9, len(messages))],
    }
    for name, values in forms.items():
        (tmp_path / name).write_text("\n".join(json.dumps(value) for value in values))
    (tmp_path / "list.json").write_text(json.dumps(messages))
    for name in (*forms, "list.json"):
        (session,) = read_transcript(tmp_path / name)
        assert len(session.messages) == len(messages), name


def test_two_sessions_in_one_log(tmp_path: Path, bodies: dict[str, dict[str, Any]]) -> None:
    """Bodies that do not continue each other are sessions of their own."""
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(body) for body in bodies.values()))
    assert len(read_transcript(path)) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "is no JSON"), ("{}", "holds no conversation"), ("[]", "holds no conversation")],
)
def test_what_is_no_transcript_is_told(tmp_path: Path, text: str, problem: str) -> None:
    """A file without a conversation is named with the reason, and the others are replayed all the same."""
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(TranscriptError, match=problem):
        read_transcript(path)
    result = invoke("replay", str(path))
    assert result.exit_code == 2
    assert f"{path}: {problem}" in result.stderr


def test_one_bad_file_does_not_stop_the_others(folder: Path) -> None:
    """What can be replayed is shown, and the status says that something could not."""
    (folder / "bad.json").write_text("{")
    result = invoke("replay", str(folder))
    assert result.exit_code == 1
    assert "one.json" in result.stderr
    assert "bad.json: is no JSON" in result.stderr


def test_options_are_checked(folder: Path) -> None:
    """A model without a price and a limit out of range end with status 2 and their names."""
    unpriced = invoke("replay", str(folder), "--model", "no-such-model")
    assert (unpriced.exit_code, "no-such-model" in unpriced.stderr) == (2, True)
    wrong = invoke("replay", str(folder), "--limit", "budget_tokens=0", "--limit", "nope=1")
    assert wrong.exit_code == 2
    assert "limits.nope" in wrong.stderr
    assert "limits.budget_tokens" in wrong.stderr


def test_items_of_the_responses_api_are_one_session(tmp_path: Path) -> None:
    """Items by line, bare or as an agent's log wraps them, and logs of growing bodies keep their calls."""
    body = generate(4, tokens=20_000, format="openai-responses", images=False)
    items = body["input"]
    assert any(item.get("type") == "function_call_output" for item in items)
    forms: dict[str, list[Any]] = {
        "bare.jsonl": items,
        "wrapped.jsonl": [
            {"type": "session_meta", "payload": {"id": "x"}},
            *({"type": "response_item", "payload": item} for item in items),
            {"type": "event_msg", "payload": {"type": "token_count"}},
        ],
        "log.jsonl": [{**body, "input": items[:end]} for end in (4, 9, len(items))],
    }
    for name, values in forms.items():
        (tmp_path / name).write_text("\n".join(json.dumps(value) for value in values))
    (tmp_path / "list.json").write_text(json.dumps(items))
    for name in (*forms, "list.json"):
        (session,) = read_transcript(tmp_path / name)
        assert sum(len(message.results) for message in session.messages) == sum(
            item.get("type") == "function_call_output" for item in items
        ), name


def test_a_folder_without_transcripts_is_told(tmp_path: Path) -> None:
    """Where no file looks like a transcript, the names that would are told."""
    result = invoke("replay", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path} holds no *.json, *.jsonl or *.ndjson file" in result.stderr
