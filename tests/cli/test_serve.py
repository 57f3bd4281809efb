"""`pinch serve` from start to stop, as a process of its own."""

import json
import signal
import sqlite3
import stat
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from pinch import Limits, Outcome, PinchClient
from pinch_server import __version__
from tests.cli.commands import run
from tests.rpc.conversations import body

FREE = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)


def prune(running: RunningServer, times: int = 1) -> list[str]:
    """Prunes a body some times; the decisions' ids."""
    with PinchClient(running.grpc, strict=True, timeout=10) as client:
        pruned = [client.prune_openai(body(), limits=SMALL) for _ in range(times)]
    assert all(one.pruned and one.persisted for one in pruned)
    return [one.decision_id for one in pruned]


def stored(database: str) -> list[str]:
    """The ids in the database, in the order they were made."""
    with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        rows = connection.execute("SELECT decision_id FROM prune_decisions ORDER BY decision_id").fetchall()
    return [row[0] for row in rows]


def test_its_life(tmp_path: Path) -> None:
    """It says where it is, prunes, counts, and at SIGTERM leaves every decision in the database."""
    with running_server(tmp_path) as running:
        assert running.database == f"sqlite:///{tmp_path}/pinch.sqlite3"
        with urllib.request.urlopen(f"http://{running.http}/healthz", timeout=5) as reply:
            assert reply.status == 200
        ids = prune(running, times=20)
        counted = series(scrape(running.http))
        assert counted['pinch_decisions_total{result="pruned",route="unspecified"}'] == 20
        assert counted[f'pinch_build_info{{version="{__version__}"}}'] == 1
        assert running.stop() == 0
        # The ready line was all of standard output.
        assert running.process.stdout is not None
        assert running.process.stdout.read() == b""
    assert stored(running.database) == sorted(ids)
    assert list((tmp_path / "journal").iterdir()) == []
    words = running.log.read_text()
    assert f"Pinch {__version__} takes calls on {running.grpc}" in words
    lines = [json.loads(line) for line in words.splitlines() if line.startswith("{")]
    assert [line["decision_id"] for line in lines if line["event"] == "call"] == ids


def test_a_second_start_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    """The state directory is taken over: the same key, new decisions beside the old ones."""
    with running_server(tmp_path) as running:
        first = prune(running)
    key = (tmp_path / "session.key").read_bytes()
    with running_server(tmp_path) as running:
        second = prune(running)
        assert running.stop() == 0
    assert (tmp_path / "session.key").read_bytes() == key
    assert stored(running.database) == first + second


def test_what_a_killed_service_acknowledged_is_stored_after_the_next_start(tmp_path: Path) -> None:
    """After SIGKILL the next start moves what is left in the journal to the database."""
    with running_server(tmp_path) as running:
        ids = prune(running, times=50)
        running.process.kill()
        running.process.wait()
    with running_server(tmp_path) as running:
        assert running.stop() == 0
    assert stored(running.database) == sorted(ids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_signals_stop_it(tmp_path: Path, number: signal.Signals) -> None:
    """A terminal's interrupt and a supervisor's signal end it alike, with status 0."""
    with running_server(tmp_path) as running:
        running.process.send_signal(number)
        assert running.process.wait(20) == 0


def test_reports_reach_their_decision(tmp_path: Path) -> None:
    """What a router reports is in the decision's row after the stop."""
    with running_server(tmp_path) as running:
        with PinchClient(running.grpc, strict=True, timeout=10) as client:
            decision_id = client.prune_openai(body(), limits=SMALL).decision_id
            assert client.report_outcome(decision_id, Outcome.OUTCOME_DISPATCHED, selected_model="m")
        assert running.stop() == 0
    with closing(sqlite3.connect(running.database.removeprefix("sqlite:///"))) as connection:
        row = connection.execute("SELECT outcome, outcome_model FROM prune_decisions").fetchone()
    assert row == ("dispatched", "m")


def test_a_unix_socket(tmp_path: Path) -> None:
    """The gRPC port may be a unix socket."""
    with running_server(tmp_path, "--listen", f"unix:{tmp_path}/s") as running:
        assert running.grpc == f"unix:{tmp_path}/s"
        prune(running)
        assert running.stop() == 0


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    """The key of the session hashes is made once, readable for its owner alone."""
    with running_server(tmp_path):
        mode = (tmp_path / "session.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert [path.name for path in tmp_path.glob("session.key*")] == ["session.key"]


def test_wrong_settings_are_all_named_and_nothing_is_made(tmp_path: Path) -> None:
    """Options, variables and unknown names are told at once with status 2; an option by its own name."""
    done = run(
        "serve",
        *("--listen", "nowhere", "--http", "0.0.0.0:0", "--state-dir", str(tmp_path / "state")),
        home=tmp_path,
        variables={"PINCH_BUDGET_TOKENS": "0", "PINCH_LISTEN": "x"},
    )
    assert (done.returncode, done.stdout) == (2, b"")
    words = done.stderr.decode()
    assert len(words.splitlines()) == 4
    for name in ("(--listen)", "PINCH_BUDGET_TOKENS", "PINCH_LISTEN", "0.0.0.0:0"):
        assert name in words
    assert not (tmp_path / "state").exists()


def test_plain_text_beyond_this_machine_has_to_be_asked_for(tmp_path: Path) -> None:
    """An address that others reach is refused without --insecure, and served with it."""
    beyond = ("--listen", "0.0.0.0:0")
    refused = run("serve", *FREE, *beyond, "--state-dir", str(tmp_path), home=tmp_path)
    assert refused.returncode == 2
    assert "insecure" in refused.stderr.decode()
    with running_server(tmp_path, *beyond, "--insecure") as running:
        assert running.grpc.startswith("0.0.0.0:")


@pytest.mark.parametrize("option", ["--listen", "--http"])
def test_an_address_that_is_taken_ends_the_start(tmp_path: Path, option: str) -> None:
    """A port of another process is a failed start: status 1, with the address."""
    with running_server(tmp_path) as running:
        taken = {"--listen": running.grpc, "--http": running.http}[option]
        done = run("serve", *FREE, option, taken, "--state-dir", str(tmp_path), home=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"cannot listen on {taken}" in done.stderr.decode()


def test_a_state_directory_that_cannot_be_made_ends_the_start(tmp_path: Path) -> None:
    """A file where the directory should be is a failed start, status 1, with its name."""
    (tmp_path / "file").write_bytes(b"")
    done = run("serve", *FREE, "--state-dir", str(tmp_path / "file" / "state"), home=tmp_path)
    assert done.returncode == 1
    assert "the state directory cannot be used" in done.stderr.decode()


def test_a_file_that_is_no_database_ends_the_start(tmp_path: Path) -> None:
    """An SQLite file that is none is not written to: a failed start, status 1."""
    (tmp_path / "pinch.sqlite3").write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    done = run("serve", *FREE, "--state-dir", str(tmp_path), home=tmp_path)
    assert done.returncode == 1
    assert "pinch.sqlite3" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_postgresql_schema_that_is_behind_stops_the_start(tmp_path: Path, postgres_url: str) -> None:
    """PostgreSQL is migrated when asked for, and otherwise the start ends with the command to run."""
    behind = run("serve", *FREE, "--state-dir", str(tmp_path), "--database-url", postgres_url, home=tmp_path)
    assert behind.returncode == 1
    assert "pinch migrate up" in behind.stderr.decode()
    with running_server(tmp_path, "--database-url", postgres_url, "--migrate") as running:
        prune(running)
        assert running.stop() == 0
    with running_server(tmp_path, "--database-url", postgres_url) as running:
        assert running.stop() == 0


def test_a_postgresql_server_out_of_reach_does_not_stop_the_start(tmp_path: Path) -> None:
    """Calls are answered and journalled, the log warns, and the URL's password is nowhere."""
    url = f"postgresql://pinch:pa55word@/pinch?host={tmp_path}"
    with running_server(tmp_path, "--database-url", url) as running:
        assert "pa55word" not in running.database
        prune(running, times=3)
        with urllib.request.urlopen(f"http://{running.http}/healthz", timeout=5) as reply:
            assert reply.status == 200
        assert series(scrape(running.http))["pinch_decisions_stored_total"] == 0
        assert running.stop() == 0
    assert list((tmp_path / "journal").iterdir()) != []
    words = running.log.read_text()
    assert "decisions wait in the journal" in words
    assert "pa55word" not in words
