"""The demo: end to end on a real server, and what it says when it cannot run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.conversations import generate_bytes
from bench.demo import main
from bench.demo_report import show
from bench.demo_run import DemoRun
from bench.running_server import ServerError, running_server
from bench.scrape import Moved
from pinch import Measured, Pruned, PruneStats
from tests.bench.commands import ROOT, run_bench

CORPUS = ROOT.parent / "shared" / "corpus"
DECISION = "0190a0b0-0000-7000-8000-000000000001"


def told(*options: str) -> dict[str, Any]:
    finished = run_bench("demo", "--json", *options)
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


@pytest.mark.xdist_group("demo")
def test_end_to_end() -> None:
    """A long session gets shorter, its row is in the database, counters moved, the server ends with 0."""
    found = told()
    stats, row = found["stats"], found["row"]
    assert found["pruned"]
    assert found["persisted"]
    assert found["exit_status"] == 0
    assert stats["original_tokens"] > 95_000
    assert stats["tokens_saved"] == stats["original_tokens"] - stats["final_tokens"] > 0
    assert stats["elided"] + stats["omitted"] + stats["capped"] == stats["summarized"]
    assert found["edits"] > 0
    assert found["conversation"]["bytes_after"] < found["conversation"]["bytes"]
    assert row["decision_id"] == found["decision_id"]
    assert row["pinch_original_tokens"] == stats["original_tokens"]
    assert row["pinch_final_tokens"] == stats["final_tokens"]
    moved = {line["series"]: line["change"] for line in found["metrics"]}
    assert moved["pinch_tokens_saved_total"] == stats["tokens_saved"]
    assert moved["pinch_decisions_stored_total"] == 1
    assert sum(change for name, change in moved.items() if name.startswith("pinch_decisions_total")) == 1


@pytest.mark.xdist_group("demo")
def test_tables_for_people() -> None:
    """Away from a terminal the tables come without colour, and name the decision and the row's table."""
    finished = run_bench("demo", "--tokens", "60000")
    assert finished.returncode == 0, finished.stderr
    assert "\x1b" not in finished.stdout
    for words in ("tokens before", "Decision id", "prune_decisions", "/metrics", "exit status 0"):
        assert words in finished.stdout


@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_real_conversations(dialect: str) -> None:
    """Real sessions take the same path."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real conversations is not beside this checkout")
    longest = max(CORPUS.glob(f"*.{dialect}.json"), key=lambda path: path.stat().st_size)
    found = told("--conversation", str(longest))
    assert found["exit_status"] == 0
    assert found["row"]["pinch_original_tokens"] == found["stats"]["original_tokens"] > 50_000
    assert found["pruned"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read"),
        (b"", "is not JSON"),
        (b'{"messages": [', "is not JSON"),
        (b"\xff\xfe\xfd", "is not JSON"),
        (b"[]", "no JSON object"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_unusable_files(
    content: bytes | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is absent or no JSON object is refused before any server starts: status 2, one line."""
    path = tmp_path / "conversation.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["--conversation", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert words in said.err
    assert said.err.count("\n") == 1


def test_too_small_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    """A size below the generator's bound is refused, and the bound is named."""
    assert main(["--tokens", "10"]) == 2
    assert "--tokens must be at least 2000" in capsys.readouterr().err


@pytest.mark.xdist_group("demo")
def test_refused_by_the_server(tmp_path: Path) -> None:
    """A JSON object that is no conversation is refused in the server's words, with status 2."""
    path = tmp_path / "conversation.json"
    path.write_text('{"messages": 7}')
    finished = run_bench("demo", "--conversation", str(path))
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "INVALID_ARGUMENT" in finished.stderr


@pytest.mark.xdist_group("demo")
def test_a_server_that_cannot_start_tells_why(tmp_path: Path) -> None:
    """When the server ends before it is ready, its last words are in the error."""
    with pytest.raises(ServerError, match="no-such-option"), running_server(tmp_path, "--no-such-option"):
        pytest.fail("the server started")


def one_run(stats: PruneStats, *, is_pruned: bool = True, width: int = 80) -> str:
    """What is printed of a run with these numbers."""
    body = generate_bytes(1, tokens=3_000)
    measured = Measured(tokens=41_002, method="chars3", error_bound=0.5)
    seen = DemoRun(
        grpc="127.0.0.1:1",
        database="sqlite:///x",
        pruned=Pruned(
            body=body,
            pruned=is_pruned,
            reason=None if is_pruned else "nothing_to_trim",
            stats=stats,
            measured=measured,
            decision_id=DECISION,
        ),
        call_seconds=0.0123,
        row={
            "decision_id": DECISION,
            "created_at": 1_760_000_000_000_000,
            "route": "ROUTED",
            "model": None,
            "budget_tokens": 50_000,
            "outcome": "pending",
        },
        row_seconds=0.05,
        metrics=[
            Moved('grpc_server_handled_total{grpc_code="OK",grpc_service="pinch.v1.PruneService"}', 0, 1)
        ],
        exit_status=0,
        start_seconds=1.0,
        stop_seconds=0.2,
    )
    out = io.StringIO()
    show(Console(file=out, width=width, highlight=False), seen, "made from seed 1", len(body), 2.0)
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_any_width(width: int) -> None:
    """At any width no line is longer than the terminal; figures stay whole where they fit."""
    shown = one_run(
        PruneStats(pruned=True, original_tokens=91_234, final_tokens=41_002, tokens_saved=50_232, elided=7),
        width=width,
    )
    assert max(map(len, shown.splitlines())) <= width
    assert all(figure in shown for figure in ("91,234", "41,002", "50,232")) or width < 40
    assert DECISION in shown or width < 80


def test_the_words_fit_what_happened() -> None:
    """An unchanged conversation is not called shortened, and a missed budget is explained."""
    missed = PruneStats(pruned=True, original_tokens=91_234, final_tokens=60_602, tokens_saved=30_632)
    shortened = " ".join(one_run(missed).split())
    assert "with old tool results shortened" in shortened
    assert "10,602 over the budget of 50,000: the next trims wait until they gain enough" in shortened
    unchanged = one_run(PruneStats(original_tokens=91_234, final_tokens=91_234), is_pruned=False)
    assert "the same conversation, as it was" in unchanged
    assert "shortened" not in unchanged


def test_names_of_series_break_at_their_labels() -> None:
    """In a narrow terminal a series is broken between labels, and names are in one case."""
    shown = one_run(PruneStats(), width=72)
    assert "grpc_server_handled_total" in shown
    assert 'grpc_service="pinch.v1.PruneService"}' in shown
    assert "routed" in shown
    assert "ROUTED" not in shown
