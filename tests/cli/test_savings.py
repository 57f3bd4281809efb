"""`pinch savings` and `pinch decisions`, from the database and through a service."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.running_server import RunningServer, running_server
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.writer import DecisionWriter
from tests.cli.commands import invoke
from tests.store.samples import CountingObserver, a_decision, an_id, an_outcome

SAVED = {
    "window_days": 30,
    "calls_30d": 2,
    "pruned_calls_30d": 1,
    "share_pruned": 0.5,
    "total_tokens_saved": 41_000,
    "median_tokens_saved": 41_000,
    "dollars_saved_usd_30d": "0.123000",
    "unpriced_calls": 0,
}


def fill(url: str) -> None:
    """Two calls that count, one of them pruned, and one disabled call of which nothing was measured."""
    migrate.up(url)
    engine = open_engine(url)
    now = time.time_ns() // 1000
    unmeasured = {"pinch_enabled": False, "pinch_original_tokens": None, "pinch_final_tokens": None}
    DecisionWriter(engine, CountingObserver()).write(
        [
            a_decision(1, created_at=now - 3),
            a_decision(2, created_at=now - 2, pinch_final_tokens=90_000, dry_run=False),
            a_decision(3, created_at=now - 1, **unmeasured),
        ],
        [an_outcome(1, prompt_tokens=None, cached_tokens=None), an_outcome(2), an_outcome(3)],
        now,
    )
    engine.dispose()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service with some decisions."""
    state = tmp_path_factory.mktemp("service")
    fill(f"sqlite:///{state}/pinch.sqlite3")
    with running_server(state) as running:
        yield running


@pytest.fixture(params=["database", "server"])
def where(request: pytest.FixtureRequest, service: RunningServer) -> list[str]:
    """The options that lead to the decisions, both ways."""
    if request.param == "server":
        return ["--server", service.grpc]
    return ["--database-url", service.database]


def test_savings_as_json_have_every_key(where: list[str]) -> None:
    """Both ways print the same keys and figures, and nothing else."""
    result = invoke("savings", "--json", *where)
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == SAVED


def test_savings_for_people(where: list[str]) -> None:
    """The account names calls, tokens, and money, with thousands apart."""
    result = invoke("savings", "--days", "7", *where)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Last 7 days",
        "  calls                   2",
        "  pruned                  1 (50.00%)",
        "  tokens saved            41,000",
        "  median per pruned call  41,000 tokens",
        "  dollars saved           $0.123000",
    ]


def test_one_of_anything_is_singular(tmp_path: Path) -> None:
    """A day, a call and a token are told as one, in `savings` and in `top`."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    now = time.time_ns() // 1000
    saving_one = a_decision(1, created_at=now, pinch_original_tokens=49_001)
    DecisionWriter(engine, CountingObserver()).write([saving_one], [an_outcome(1)], now)
    engine.dispose()
    shown = invoke("savings", "--days", "1", "--database-url", url).stdout
    assert shown.startswith("Last 1 day\n")
    assert "  median per pruned call  1 token\n" in shown
    with running_server(tmp_path) as running:
        assert "1 token, $0.000" in (watched := invoke("top", "--server", running.grpc).stdout)
    assert "100.0% of 1 call pruned" in watched


def test_savings_follow_the_settings(service: RunningServer, tmp_path: Path) -> None:
    """The assumed cache rate and the billing day of the settings are in the account."""
    config = tmp_path / "pinch.toml"
    config.write_text("[objective]\nassumed_cache_rate = 0.9\nbilling_reset_day = 1\n")
    result = invoke("savings", "--config", str(config), "--database-url", service.database)
    assert "$0.023370" in result.stdout
    assert "  billing                 since 20" in result.stdout


def test_savings_while_pruning_is_off(service: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to show then: an empty object, or a line that says so."""
    monkeypatch.setenv("PINCH_ENABLED", "false")
    assert invoke("savings", "--json", "--database-url", service.database).stdout == "{}\n"
    result = invoke("savings", "--database-url", service.database)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "switched off" in result.stderr


def test_a_loss_and_what_has_no_price_are_told(tmp_path: Path) -> None:
    """A negative saving has its sign before the dollar, and unpriced calls a line of their own."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    engine = open_engine(url)
    now = time.time_ns() // 1000
    rewriting = a_decision(
        1,
        created_at=now,
        pinch_final_tokens=89_000,
        sent_before_tokens=80_000,
        unchanged_prefix_tokens=10_000,
    )
    unpriced = a_decision(2, created_at=now, prompt_rate=None, model="house-model")
    usage = an_outcome(1, prompt_tokens=10_000, cached_tokens=10_000, cache_write_tokens=70_000)
    DecisionWriter(engine, CountingObserver()).write(
        [rewriting, unpriced], [usage, an_outcome(2, model="house-model")], now
    )
    engine.dispose()
    shown = invoke("savings", "--database-url", url).stdout
    # 1,000 tokens at $0.30 less 70,000 at $3.00 - $0.30, a million.
    assert "  dollars saved           -$0.188700" in shown
    assert "  without a known price   1 pruned call, in tokens alone" in shown


def test_decisions_as_json(where: list[str]) -> None:
    """Both ways print one decision a line, newest first, under the names of the API."""
    result = invoke("decisions", "--last", "2", "--json", *where)
    assert (result.exit_code, result.stderr) == (0, "")
    newest, older = map(json.loads, result.stdout.splitlines())
    assert (newest["decision_id"], older["decision_id"]) == (an_id(3), an_id(2))
    assert "pinch_original_tokens" not in newest
    assert (older["pinch_original_tokens"], older["outcome"], older["stability"]) == (
        90_000,
        "DISPATCHED",
        "PER_CALL",
    )
    assert older["usage"]["prompt_tokens"] == 49_100


def test_decisions_for_people(where: list[str]) -> None:
    """A table with a line each: what was sent, what shipped, what became of it."""
    head, *lines = invoke("decisions", *where).stdout.splitlines()
    assert head.split("  ")[0] == "made (UTC)"
    assert len(lines) == 3
    assert f"{an_id(1)}  chosen-model  90,000 -> 49,000  41,000  dispatched" in lines[2]


def test_a_service_without_decisions(tmp_path: Path) -> None:
    """An empty database has no decisions and no savings, which is no failure."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    result = invoke("decisions", "--database-url", url)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "No decisions yet.\n")
    assert "dollars saved           $0.000000" in invoke("savings", "--database-url", url).stdout


@pytest.mark.parametrize("name", ["savings", "decisions"])
def test_what_cannot_be_read_is_said_in_one_line(name: str, tmp_path: Path) -> None:
    """No database, none of this version, nobody at the address: status 1; a wrong URL: status 2."""
    missing = f"sqlite:///{tmp_path}/none.sqlite3"
    for where, words in (
        (["--database-url", missing], "pinch migrate up"),
        (["--database-url", f"postgresql://pinch:secret@/x?host={tmp_path}"], "cannot open"),
        (["--server", "127.0.0.1:1"], "127.0.0.1:1"),
    ):
        result = invoke(name, *where)
        assert (result.exit_code, result.stdout) == (1, "")
        assert words in result.stderr
        assert "secret" not in result.stderr
    assert not list(tmp_path.iterdir())
    assert invoke(name, "--database-url", "mysql://x/y").exit_code == 2
