"""A table that somebody has locked holds up neither who asks nor the end of the service."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from pinch_server.core.insight import DecisionFilter
from pinch_server.ports import InsightUnavailableError
from pinch_server.store import engine as engines
from pinch_server.store import migrate, store
from pinch_server.store import originals as store_of_originals
from pinch_server.store.engine import open_engine
from pinch_server.store.originals import REFERENCE_CHARS
from pinch_server.store.store import Store
from tests.store.samples import CountingObserver

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "READ_SECONDS", 0.05)
    monkeypatch.setattr(store, "_CLOSE_SECONDS", 0.05)


@pytest.fixture
def opened(postgres_url: str, tmp_path: Path) -> Iterator[Store]:
    migrate.up(postgres_url)
    made = Store(
        postgres_url,
        tmp_path / "journal",
        CountingObserver(),
        journal_bytes=1_000_000,
        fsync=False,
        batch_rows=10,
        grace_seconds=60,
    )
    yield made
    made.close()


@contextmanager
def locked(url: str, table: str, mode: str = "ACCESS EXCLUSIVE") -> Iterator[ThreadPoolExecutor]:
    """Locks a table for the block, which gets a thread that may hang as long."""
    own = open_engine(url)
    with ThreadPoolExecutor(1) as pool, own.connect() as connection:
        connection.execute(text(f"LOCK TABLE {table} IN {mode} MODE"))
        yield pool
    own.dispose()


def test_a_question_ends(postgres_url: str, opened: Store) -> None:
    """Who asks about decisions while their table is locked learns that there is no answer."""
    with locked(postgres_url, "prune_decisions") as pool:
        asked = pool.submit(opened.insight.page, DecisionFilter(), 1)
        assert isinstance(asked.exception(30), InsightUnavailableError)
    assert opened.insight.page(DecisionFilter(), 1).decisions == ()


def test_originals_are_not_waited_for(postgres_url: str, opened: Store) -> None:
    """A call that looks for originals while their table is locked goes on without."""
    originals = opened.keep_originals("s" * 16, ttl_seconds=60, max_chars=1000, max_bytes=1000)
    with locked(postgres_url, "originals") as pool:
        assert pool.submit(originals.expanded, "tenant", ["some text"]).result(30) == frozenset()


def test_an_original_is_given_though_no_row_may_be_written(postgres_url: str, opened: Store) -> None:
    """Who asks for an original while its table takes no writes gets it, and does not wait for the writing."""
    originals = opened.keep_originals("s" * 16, ttl_seconds=60, max_chars=1000, max_bytes=1_000_000)
    originals.keep("tenant", ["some text"])
    originals._writer.submit(int).result(30)
    reference = originals.reference("tenant", "some text")
    with locked(postgres_url, "originals", "SHARE") as pool:
        assert pool.submit(originals.expand, "tenant", reference).result(30) == "some text"


def test_a_locked_original_is_a_miss(
    postgres_url: str, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks for an original while its table is locked is told that there is none."""
    monkeypatch.setattr(store_of_originals, "_EXPAND_SECONDS", 0.05)
    originals = opened.keep_originals("s" * 16, ttl_seconds=60, max_chars=1000, max_bytes=1000)
    with locked(postgres_url, "originals") as pool:
        assert pool.submit(originals.expand, "tenant", "a" * REFERENCE_CHARS).result(30) is None


def test_the_service_ends(postgres_url: str, opened: Store) -> None:
    """A store that closes while it waits for a locked table says so instead of waiting for ever."""
    originals = opened.keep_originals("s" * 16, ttl_seconds=60, max_chars=1000, max_bytes=1000)
    with locked(postgres_url, "originals") as pool:
        originals.keep("tenant", ["some text"])
        closed: Future[bool] = pool.submit(opened.close)
        assert closed.result(30) is False
