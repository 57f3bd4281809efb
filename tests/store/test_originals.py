"""Originals: encrypted at rest, each tenant's for itself, for a time and within a size; a miss is a miss."""

import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Engine, event, func, select, update

from pinch_server.store import migrate
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.originals import REFERENCE_CHARS, DatabaseOriginals
from pinch_server.store.tables import originals

SECRET = "a secret of the tests"
TEXT = "conversation text that nobody else may read\n" * 200
MIB = 1024 * 1024


class Wall:
    """A wall clock that is set by hand (microseconds)."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


def opened(engine: Engine, wall: Wall, **other: Any) -> DatabaseOriginals:
    bounds = {"secret": SECRET, "ttl_seconds": 100, "max_chars": MIB, "max_bytes": MIB, **other}
    return DatabaseOriginals(engine, now=wall, **bounds)


@pytest.fixture
def kept(engine: Engine, wall: Wall) -> Iterator[DatabaseOriginals]:
    store = opened(engine, wall)
    yield store
    store.close()


def after_writing(engine: Engine, wall: Wall, texts: dict[str, list[str]], **other: Any) -> None:
    store = opened(engine, wall, **other)
    for tenant, those in texts.items():
        store.keep(tenant, those)
    store.close()


@contextmanager
def held_up(store: DatabaseOriginals) -> Iterator[None]:
    """For the block nothing is written, as while the database hangs."""
    reached, let_go = threading.Event(), threading.Event()

    def waits() -> None:
        reached.set()
        let_go.wait(30)

    store._writer.submit(waits)
    assert reached.wait(30)
    try:
        yield
    finally:
        let_go.set()


def rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(originals)).scalar_one()


def test_an_original_comes_back_to_its_tenant_alone(
    engine: Engine, wall: Wall, kept: DatabaseOriginals
) -> None:
    """Its own tenant gets the very text; another tenant, with the same reference, gets nothing."""
    odd = "half a pair \ud83d and a zero \0"
    after_writing(engine, wall, {"blue": [TEXT, odd]})
    reference = kept.reference("blue", TEXT)
    assert len(reference) == REFERENCE_CHARS
    assert kept.expand("blue", reference) == TEXT
    assert kept.expand("blue", kept.reference("blue", odd)) == odd
    assert kept.expand("red", reference) is None
    assert kept.reference("red", TEXT) != reference
    assert kept.expand("blue", "nothing") is None
    assert kept.expand("blue", "") is None


def test_nothing_readable_is_stored(engine: Engine, wall: Wall) -> None:
    """Neither the text nor a plain hash or name of it stands in any column."""
    after_writing(engine, wall, {"blue": [TEXT]})
    with engine.connect() as connection:
        row = connection.execute(select(originals)).one()
    stored = b"".join(bytes(value) for value in row if isinstance(value, bytes | memoryview))
    assert b"conversation" not in stored
    assert len(row.sealed) < len(TEXT)


def test_another_secret_or_a_changed_row_gives_nothing(
    engine: Engine, wall: Wall, kept: DatabaseOriginals
) -> None:
    """What was sealed with another secret, moved to another row or tampered with is a miss, not an error."""
    after_writing(engine, wall, {"blue": [TEXT, "other " * 99]})
    reference = kept.reference("blue", TEXT)
    stranger = opened(engine, wall, secret="quite another secret")
    assert stranger.expand("blue", reference) is None
    assert stranger.reference("blue", TEXT) != reference
    stranger.close()
    with writing(engine) as connection:
        longest = select(originals.c.sealed).order_by(originals.c.size.desc())
        sealed = connection.execute(longest).scalars().first()
        connection.execute(update(originals).values(sealed=sealed))
    found = [kept.expand("blue", kept.reference("blue", text)) for text in (TEXT, "other " * 99)]
    assert sorted(text is None for text in found) == [False, True]


@pytest.mark.parametrize("sealed", [b"", b"short", b"x" * 12, b"x" * 99])
def test_a_row_that_was_cut_gives_nothing(
    engine: Engine, wall: Wall, kept: DatabaseOriginals, sealed: bytes
) -> None:
    """A row of which too little is left to be decrypted is a miss, not an error."""
    after_writing(engine, wall, {"blue": [TEXT]})
    with writing(engine) as connection:
        connection.execute(update(originals).values(sealed=sealed))
    assert kept.expand("blue", kept.reference("blue", TEXT)) is None


def test_many_long_texts_take_bounded_memory(engine: Engine, wall: Wall) -> None:
    """Texts are held to be named quickly, or until they are written, up to a number of characters."""
    texts = [f"{number} " * 1_000_000 for number in range(30)]
    with closing(opened(engine, wall, max_chars=10**9)) as store, held_up(store):
        for text in texts:
            store.keep("blue", [text])
        assert store._named_chars == sum(len(text) for _, text in store._references) <= 32_000_000
        assert 0 < store._waiting_chars <= 64_000_000
        assert store.reference("blue", texts[0]) == store.reference("blue", texts[0])
    assert store._waiting_chars == 0
    assert 0 < rows(engine) < len(texts)


def test_originals_have_their_time(engine: Engine, wall: Wall, kept: DatabaseOriginals) -> None:
    """After its time an original is a miss, unless what refers to it was sent again meanwhile."""
    kept.keep("blue", [TEXT])
    reference = kept.reference("blue", TEXT)
    kept.close()
    later = opened(engine, wall)
    wall.now += 99_999_999
    assert later.expand("blue", reference) == TEXT
    wall.now += 1
    assert later.expand("blue", reference) is None
    later.keep("blue", [TEXT])
    later.close()
    with closing(opened(engine, wall)) as again:
        assert again.expand("blue", reference) == TEXT


def test_originals_have_their_size(engine: Engine, wall: Wall, kept: DatabaseOriginals) -> None:
    """Over the bound the oldest go; one that is too long has no reference at all."""
    noise = [random.Random(number).randbytes(20_000).hex() for number in range(5)]
    for number, text in enumerate(noise):
        wall.now += 1
        after_writing(engine, wall, {"blue": [text]}, max_bytes=60_000)
        assert rows(engine) >= 1, number
    with engine.connect() as connection:
        assert connection.execute(select(func.sum(originals.c.size))).scalar_one() <= 60_000
    assert kept.expand("blue", kept.reference("blue", noise[-1])) == noise[-1]
    assert kept.expand("blue", kept.reference("blue", noise[0])) is None
    short = opened(engine, wall, max_chars=10)
    assert short.reference("blue", "x" * 11) == ""
    short.keep("blue", ["x" * 11])
    short.close()


def test_they_are_seldom_added_up(engine: Engine, wall: Wall) -> None:
    """A process adds all of them up twice at most for each 64th of the bound that it writes."""
    sums: list[str] = []

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sums.extend([statement] if "sum(" in statement else [])

    event.listen(engine, "before_cursor_execute", executed)
    store = opened(engine, wall, max_bytes=640_000)
    for number in range(400):
        wall.now += 1
        store.keep("blue", [random.Random(number).randbytes(1_500).hex()])
    store.close()
    with engine.connect() as connection:
        found = connection.execute(select(func.sum(originals.c.size), func.min(originals.c.size))).one()
    written = 400 * found[1]
    assert 620_000 <= found[0] <= 640_000 < written
    assert written / 12_000 < len(sums) <= 2 * written / 10_000


def test_adding_them_up_reads_no_text(engine: Engine) -> None:
    """Sizes are added up, and the oldest found, over the index alone."""
    oldest = "SELECT key, size FROM originals ORDER BY created_at, key"
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sqlalchemy.text("SET enable_seqscan = off"))
            connection.execute(sqlalchemy.text("SET enable_bitmapscan = off"))
        for statement in ("SELECT sum(size) FROM originals", oldest):
            asked = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
            plan = str(connection.execute(sqlalchemy.text(f"{asked} {statement}")).all())
            assert "ix_originals_created_at_key_size" in plan
            assert "Index Only Scan" in plan or "COVERING INDEX" in plan


def test_what_was_asked_for_is_known(engine: Engine, wall: Wall, kept: DatabaseOriginals) -> None:
    """A content whose original was asked for is told apart from the others, for its tenant."""
    after_writing(engine, wall, {"blue": [TEXT, "b" * 99], "red": [TEXT]})
    with closing(opened(engine, wall)) as store:
        store.expand("blue", store.reference("blue", TEXT))
    assert kept.expanded("blue", [TEXT, "b" * 99, "c"]) == {TEXT}
    assert kept.expanded("red", [TEXT]) == frozenset()


def test_what_is_not_written_yet_is_found(engine: Engine, wall: Wall) -> None:
    """An original is there for its tenant from the reply on, before the database has it, and is kept once."""
    written: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *told: written.append(told[2]))
    with closing(opened(engine, wall)) as store, held_up(store):
        reference = store.reference("blue", TEXT)
        for _ in range(3):
            store.keep("blue", [TEXT])
        assert store.expand("blue", reference) == TEXT
        assert store.expand("red", reference) is None
        assert rows(engine) == 0
        assert store._waiting_chars == len(TEXT)
    assert sum(statement.startswith("INSERT INTO originals") for statement in written) == 1
    with closing(opened(engine, wall)) as later:
        assert later.expanded("blue", [TEXT]) == {TEXT}
        assert later.expand("blue", reference) == TEXT


def test_who_asks_does_not_wait_until_it_is_noted(engine: Engine, wall: Wall) -> None:
    """An original is given while nothing can be written; that it was asked for is noted once it can be."""
    after_writing(engine, wall, {"blue": [TEXT]})
    with closing(opened(engine, wall)) as store, held_up(store):
        assert store.expand("blue", store.reference("blue", TEXT)) == TEXT
        assert store.expanded("blue", [TEXT]) == frozenset()
    with closing(opened(engine, wall)) as later:
        assert later.expanded("blue", [TEXT]) == {TEXT}


def test_what_can_only_be_read_is_found(tmp_path: Path, wall: Wall) -> None:
    """An original comes back from a database that takes no writes, though nobody can note who asked."""
    url = f"sqlite:///{tmp_path}/pinch.sqlite3"
    migrate.up(url)
    writable = open_engine(url)
    after_writing(writable, wall, {"blue": [TEXT]})
    writable.dispose()
    engine = open_engine(url)
    event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = 1"))
    store = opened(engine, wall)
    assert store.expand("blue", store.reference("blue", TEXT)) == TEXT
    store.close()
    engine.dispose()


def test_a_database_without_the_table_gives_nothing(tmp_path: object, wall: Wall) -> None:
    """Nothing raises when the database cannot do it."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    store = opened(engine, wall)
    store.keep("blue", [TEXT])
    store._writer.submit(int).result(30)
    assert store.expand("blue", store.reference("blue", TEXT)) is None
    assert store.expanded("blue", [TEXT]) == frozenset()
    store.close()
    store.keep("blue", [TEXT])
    engine.dispose()
