"""The service put together, in this process."""

import socket
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from pinch import Limits, PinchClient
from pinch_server import state
from pinch_server.app import App, StartError
from pinch_server.clock import TESTING_NOW
from pinch_server.rpc.asking import NotServingError, ask_health
from pinch_server.settings import JournalSettings, ServerSettings, Settings, StoreSettings
from pinch_server.store import decisions, migrate
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.tables import originals
from tests.rpc.conversations import body
from tests.workers.processes import until

FREE = "127.0.0.1:0"


def settings_in(directory: Path, *, listen: str = FREE, http: str = FREE, fsync: bool = False) -> Settings:
    return Settings(
        server=ServerSettings(listen=listen, http_listen=http, workers=1),
        store=StoreSettings(state_dir=directory),
        journal=JournalSettings(fsync=fsync),
    )


@pytest.mark.parametrize("fsync", [False, True])
def test_a_decision_is_in_the_database_after_the_stop(tmp_path: Path, fsync: bool) -> None:
    """What a call was told is what the database has after the stop; stopping twice is harmless."""
    app = App(settings_in(tmp_path, fsync=fsync))
    app.start()
    try:
        ask_health(app.addresses.grpc, timeout=10)
        with PinchClient(app.addresses.grpc, strict=True, timeout=10) as client:
            pruned = client.prune_openai(body(), limits=Limits(budget_tokens=2_000, keep_last_turns=1))
    finally:
        app.stop()
    app.stop()
    engine = open_engine(app.addresses.database)
    stored = decisions.get(engine, pruned.decision_id)
    engine.dispose()
    assert stored is not None
    assert pruned.stats is not None
    assert stored.decision.pinch_final_tokens == pruned.stats.final_tokens
    assert stored.outcome is None


def test_there_are_no_addresses_before_the_start(tmp_path: Path) -> None:
    """A service that is not started is nowhere, and stopping it is harmless."""
    app = App(settings_in(tmp_path))
    with pytest.raises(RuntimeError, match="not started"):
        _ = app.addresses
    app.stop()


def test_a_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """When the last part cannot start, the parts before it are stopped: their port is free again."""
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        grpc, http = (f"127.0.0.1:{one.getsockname()[1]}" for one in (taken, free))
        free.close()
        with pytest.raises(StartError, match=grpc):
            App(settings_in(tmp_path, listen=grpc, http=http)).start()
    app = App(settings_in(tmp_path, listen=grpc, http=http))
    app.start()
    app.stop()


def test_nobody_answers_after_the_stop(tmp_path: Path) -> None:
    """A stopped service takes no calls."""
    app = App(settings_in(tmp_path))
    app.start()
    app.stop()
    with pytest.raises(NotServingError):
        ask_health(app.addresses.grpc, timeout=10)


def test_what_a_server_for_tests_keeps_ages_by_its_own_clock(tmp_path: Path) -> None:
    """Where the wall clock stands, what is of that moment is not old, and what is older than allowed goes."""
    settings = settings_in(tmp_path)
    url = state.database_url(settings)
    migrate.up(url)
    engine = open_engine(url, pooled=False)
    moment = int(TESTING_NOW.timestamp() * 1e6)
    old = moment - settings.originals.ttl_seconds * 1_000_000 - 1
    with writing(engine) as connection:
        for key, made in ((b"old", old), (b"new", moment)):
            row = {"key": key, "sealed": b"s", "size": 1, "created_at": made}
            connection.execute(insert(originals), row)

    def kept() -> list[bytes]:
        with engine.connect() as connection:
            return list(connection.execute(select(originals.c.key)).scalars())

    app = App(settings, testing=True)
    app.start()
    try:
        until(lambda: b"old" not in kept())
        assert kept() == [b"new"]
    finally:
        app.stop()
        engine.dispose()
