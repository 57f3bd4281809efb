"""`pinch top`: a running service, watched."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.running_server import RunningServer, running_server
from pinch_server.cli.top_figures import Figures, look
from pinch_server.cli.top_screen import TopScreen
from pinch_server.doors.tokens import new_token
from pinch_server.rpc.watching import NotAnsweredError, watched
from tests.cli.commands import invoke
from tests.cli.test_savings import SAVED, fill
from tests.services.certificates import Authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service with three decisions."""
    state = tmp_path_factory.mktemp("service")
    fill(f"sqlite:///{state}/pinch.sqlite3")
    with running_server(state) as running:
        yield running


def decision(seconds_ago: float, **fields: Any) -> dict[str, Any]:
    plain = {
        "created_at_unix_micros": int((NOW.timestamp() - seconds_ago) * 1e6),
        "latency_micros": 1_000,
        "ranking": "NOT_NEEDED",
        "ranking_reason": "",
    }
    return plain | fields


def fact(name: str, decisions: list[dict[str, Any]]) -> str:
    return dict(Figures(True, None, decisions, "", NOW).facts())[name]


def test_off_a_terminal_it_is_a_table(service: RunningServer) -> None:
    """Into a pipe goes one table: the savings of GetSavings, the state of the parts, and the decisions."""
    told = invoke("top", "--server", service.grpc)
    assert told.exit_code == 0
    assert "takes calls" in told.stdout
    assert "41,000 tokens, $0.123000 in 30 days; 50.0% of 2 calls pruned" in told.stdout
    assert "90,000 -> 49,000" in told.stdout
    assert "\x1b" not in told.stdout


def test_programs_read_the_same_as_json(service: RunningServer) -> None:
    """With --json it is one object: figures as numbers, savings and decisions under the names of the API."""
    told = invoke("top", "--json", "--server", service.grpc)
    assert (told.exit_code, told.stderr, told.stdout.count("\n")) == (0, "", 1)
    shown = json.loads(told.stdout)
    assert shown.pop("looked_at_unix_micros") > shown["decisions"][0]["created_at_unix_micros"]
    listed = invoke("decisions", "--json", "--server", service.grpc).stdout.splitlines()
    assert shown.pop("decisions") == [json.loads(line) for line in listed]
    assert shown.pop("savings") == SAVED
    assert 0 <= shown.pop("calls_per_second") <= 0.05
    assert shown == {
        "is_ready": True,
        "database_problem": "",
        "latency_median_ms": 2.345,
        "latency_p95_ms": 2.345,
        "embedder_asked": False,
        "embedder_failed_calls": 0,
        "embedder_fault": "",
    }


def test_a_service_that_does_not_answer_is_no_json() -> None:
    """With --json too, nobody at the address is one line on standard error and status 1."""
    told = invoke("top", "--json", "--server", "127.0.0.1:1")
    assert (told.exit_code, told.stdout) == (1, "")
    assert "127.0.0.1:1" in told.stderr


def test_without_an_address_it_is_that_of_the_settings(
    tmp_path: Path, service: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address comes from --config, from the environment over it, and from --server over both."""
    config = tmp_path / "pinch.toml"
    config.write_text(f'[server]\nlisten = "{service.grpc}"\n')
    assert "takes calls" in invoke("top", "--config", str(config)).stdout
    monkeypatch.setenv("PINCH_SERVER__LISTEN", f"unix:{tmp_path}/nobody.sock")
    away = invoke("top", "--config", str(config))
    assert (away.exit_code, "nobody.sock" in away.stderr) == (1, True)
    assert "takes calls" in invoke("top", "--server", service.grpc).stdout
    monkeypatch.setenv("PINCH_SERVER__LISTEN", service.grpc)
    assert "takes calls" in invoke("top").stdout
    monkeypatch.setenv("PINCH_SERVER__LISTEN", "nowhere")
    assert invoke("top").exit_code == 2


def test_a_service_with_tls_is_known_by_its_settings(tmp_path: Path) -> None:
    """Beside the service, the certificate of its settings is what is trusted, and nothing has to be named."""
    pair = Authority(tmp_path).issue("server")
    state = tmp_path / "state"
    state.mkdir()
    config = tmp_path / "pinch.toml"
    tls = f'[server.tls]\ncert = "{pair.chain}"\nkey = "{pair.key}"\n'
    config.write_text(tls)
    with running_server(state, "--config", str(config)) as running:
        config.write_text(f'[server]\nlisten = "{running.grpc}"\n{tls}')
        told = invoke("top", "--config", str(config))
    assert (told.exit_code, "takes calls" in told.stdout) == (0, True), told.stderr


def test_calls_are_counted_over_a_minute() -> None:
    """Calls a second are those of the last minute, or of as long as a full list reaches back."""
    some = [decision(seconds) for seconds in (1, 30, 59, 61)]
    assert fact("calls", some).startswith("0.1 a second")
    assert Figures(True, None, some, "", NOW).fields()["calls_per_second"] == 3 / 60
    assert fact("calls", [decision(each / 100) for each in range(1000)]) == "100 a second"
    assert fact("calls", []).startswith("0.0 a second")


def test_latency_is_that_of_the_last_calls() -> None:
    """The median and the 95th percentile are those of the decisions that are listed."""
    decisions = [decision(1, latency_micros=1_000 * each) for each in range(1, 102)]
    assert fact("latency", decisions) == "median 51.0 ms, 95 % within 96.0 ms, of the last 101 calls"


def test_a_failing_embedder_is_named() -> None:
    """Calls that were ranked without vectors because of the embedder are counted, with the newest reason."""
    failing = [decision(1, ranking="LEXICAL", ranking_reason="embedder_timeout"), decision(2)]
    assert fact("embedder", failing) == "failed for 1 of the last 2 calls, at last with embedder_timeout"
    assert fact("embedder", [decision(1, ranking="HYBRID")]) == "answers"
    fields = Figures(True, None, failing, "", NOW).fields()
    assert (fields["embedder_failed_calls"], fields["embedder_fault"]) == (1, "embedder_timeout")


def test_a_database_that_is_away_is_no_end() -> None:
    """A service that cannot read its database is still shown, with that."""

    class Away:
        def is_ready(self) -> bool:
            return True

        def savings(self, days: int) -> dict[str, Any] | None:
            raise NotAnsweredError(f"UNAVAILABLE: stored decisions cannot be read now ({days})")

        def decisions(self, last: int) -> list[dict[str, Any]]:
            raise AssertionError(f"not asked for {last}")

    facts = dict(look(Away()).facts())
    assert facts == {
        "service": "takes calls",
        "database": "does not answer: calls go on, and their decisions wait",
    }
    fields = look(Away()).fields()
    assert fields.pop("database_problem") == facts["database"]
    assert (fields.pop("is_ready"), fields.pop("decisions"), fields.pop("embedder_fault")) == (True, [], "")
    assert fields.pop("looked_at_unix_micros")
    assert set(fields.values()) == {None}


def test_the_screen_shows_what_the_table_shows(service: RunningServer) -> None:
    """On a terminal the same figures and decisions are drawn, and q ends it."""

    async def watch() -> tuple[str, int]:
        with watched(service.grpc, 10, None, None) as watching:
            screen = TopScreen(watching, service.grpc, 3600)
            async with screen.run_test(size=(120, 40)) as pilot:
                await screen.workers.wait_for_complete()
                await pilot.pause()
                figures = str(screen.query_one("#figures").render())  # type: ignore[attr-defined]
                rows = screen.query_one("DataTable").row_count  # type: ignore[attr-defined]
                await pilot.press("q")
            return figures, rows

    figures, rows = asyncio.run(watch())
    assert "41,000 tokens, $0.123000" in figures
    assert rows == 3


def test_a_service_that_asks_for_tokens(tmp_path: Path) -> None:
    """With a token of the role insight it is shown, without one the refusal is told in one line."""
    token = new_token()
    tokens, own = tmp_path / "tokens", tmp_path / "own.token"
    tokens.write_text(f"reader insight plain:{token}\n")
    tokens.chmod(0o600)
    own.write_text(token)
    with running_server(tmp_path, "--tokens", str(tokens)) as guarded:
        for command in ("top", "savings", "decisions"):
            assert invoke(command, "--server", guarded.grpc, "--token-file", str(own)).exit_code == 0
            refused = invoke(command, "--server", guarded.grpc)
            assert refused.exit_code == 1
            assert "UNAUTHENTICATED" in refused.stderr
    mistaken = invoke("savings", "--token-file", str(own))
    assert mistaken.exit_code == 2
    assert "for --server" in mistaken.stderr
