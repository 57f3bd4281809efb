"""Frozen texts and forms: the first to write wins, everybody reads the same, and nobody waits for a hang."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, event, func, select

from pinch_server.core.extraction.frozen import Claim, FrozenText, Settled, content_id, form_key, text_key
from pinch_server.store.engine import open_engine
from pinch_server.store.frozen import DatabaseFrozen
from pinch_server.store.tables import extraction_forms, extraction_texts

KEY = b"k" * 32
OTHER = b"o" * 32
CLAIM = Claim(b"nobody's", 0, holds=True)


@pytest.fixture
def frozen(engine: Engine) -> Iterator[DatabaseFrozen]:
    kept = DatabaseFrozen(engine, wait_seconds=60)
    yield kept
    kept.close()


def holds(frozen: DatabaseFrozen, key: bytes) -> bool:
    """Whether one more claim of a key is granted."""
    claim = frozen.claim(key, 100)
    assert claim is not None
    return claim.holds


def test_the_first_text_of_a_key_stays(frozen: DatabaseFrozen, engine: Engine) -> None:
    """Whoever freezes a content a second time gets what was frozen first, in any process."""
    first = FrozenText("a né€w line")
    assert frozen.freeze(KEY, first, CLAIM) == first
    assert frozen.freeze(KEY, FrozenText("another"), CLAIM) == first
    other = DatabaseFrozen(engine, wait_seconds=60)
    assert other.freeze(KEY, FrozenText(None, "not_smaller"), CLAIM) == first
    assert other.find([KEY, OTHER]) == {KEY: first}
    other.close()


def test_one_process_at_a_time_writes_a_text(frozen: DatabaseFrozen, engine: Engine) -> None:
    """What one claims no other gets until it is given back, and nobody takes the claim for a text."""
    other = DatabaseFrozen(engine, wait_seconds=60)
    claim = frozen.claim(KEY, 100)
    assert claim is not None
    assert claim.holds
    assert not holds(other, KEY)
    assert not holds(frozen, KEY)
    assert holds(other, OTHER)
    assert frozen.find([KEY]) == {}
    frozen.give_back(claim)
    assert holds(other, KEY)
    other.close()


def test_a_claim_ends_with_what_is_written(frozen: DatabaseFrozen) -> None:
    """Who freezes a text needs to give nothing back, whatever key the text has."""
    claim = frozen.claim(KEY, 100)
    assert claim is not None
    assert frozen.freeze(OTHER, FrozenText("text"), claim) == FrozenText("text")
    assert holds(frozen, KEY)


def test_who_writes_without_a_claim_ends_no_others(frozen: DatabaseFrozen) -> None:
    """A claim that does not hold tells since when the other's does, and ends nothing."""
    first = frozen.claim(KEY, 100)
    assert first is not None
    second = frozen.claim(KEY, 100)
    assert second is not None
    assert (second.since, second.holds) == (first.since, False)
    frozen.give_back(second)
    frozen.freeze(OTHER, FrozenText("text"), second)
    assert not holds(frozen, KEY)


def test_a_claim_of_the_dead_ends(engine: Engine) -> None:
    """A claim that nobody gave back is free when its time is over; who comes late ends no other's."""
    times = iter([1_000_000, 100_999_999, 101_000_000, 101_000_001])
    kept = DatabaseFrozen(engine, now=lambda: next(times), wait_seconds=60)
    late = kept.claim(KEY, 100)
    assert late is not None
    assert not holds(kept, KEY)
    assert holds(kept, KEY)
    kept.give_back(late)
    assert not holds(kept, KEY)
    kept.close()


def test_a_claim_by_a_clock_that_was_ahead_ends(engine: Engine) -> None:
    """A claim that begins after the end of one made now is nobody's; one by a clock less ahead holds."""
    times = iter([201_000_001, 101_000_001, 101_000_000, 101_000_001])
    kept = DatabaseFrozen(engine, now=lambda: next(times), wait_seconds=60)
    ahead = kept.claim(KEY, 100)
    assert ahead is not None
    assert not holds(kept, KEY)
    assert holds(kept, KEY)
    kept.give_back(ahead)
    assert not holds(kept, KEY)
    kept.close()


def test_of_many_claims_at_once_one_holds(engine: Engine) -> None:
    """Of processes that claim a text at the same time exactly one gets it."""
    replicas = [DatabaseFrozen(engine, wait_seconds=60) for _ in range(4)]
    start = threading.Barrier(4)

    def claim(one: DatabaseFrozen) -> bool:
        start.wait(30)
        return holds(one, KEY)

    with ThreadPoolExecutor(4) as pool:
        claims = list(pool.map(claim, replicas))
    for one in replicas:
        one.close()
    assert sorted(claims) == [False, False, False, True]


def test_a_refusal_is_frozen_too(frozen: DatabaseFrozen) -> None:
    """A content whose filter was refused is known as refused, with its reason."""
    refused = FrozenText(None, "not_smaller")
    frozen.freeze(KEY, refused, CLAIM)
    assert frozen.find([KEY]) == {KEY: refused}


def test_a_form_is_settled_once(frozen: DatabaseFrozen) -> None:
    """A form holds as it was first sent, as a text or as the elision; later proposals change nothing."""
    forms = {KEY: None, OTHER: "text"}
    assert frozen.settle(forms) == Settled(forms, frozenset({KEY, OTHER}))
    assert frozen.settle({KEY: "late", OTHER: None}) == Settled(forms)


def test_replicas_that_settle_at_once_agree(engine: Engine) -> None:
    """Of many proposals at the same time one holds, and all who proposed are told the same."""
    replicas = [DatabaseFrozen(engine, wait_seconds=60) for _ in range(4)]
    start = threading.Barrier(4)

    def propose(index: int) -> object:
        start.wait(30)
        settled = replicas[index].settle({KEY: f"text {index}", OTHER: None if index % 2 else "x"})
        assert settled is not None
        return settled.forms

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(propose, range(4)))
    assert answers[0] is not None
    assert all(answer == answers[0] for answer in answers)
    for replica in replicas:
        replica.close()


def test_use_is_noted_once_an_hour(engine: Engine) -> None:
    """A text that is read stays young; it is not written at every read."""
    times = [0]
    kept = DatabaseFrozen(engine, now=lambda: times[0], wait_seconds=60)
    kept.freeze(KEY, FrozenText("text"), CLAIM)

    def used() -> int:
        with engine.connect() as connection:
            return connection.execute(select(extraction_texts.c.used_at)).scalar_one()

    for now, noted in ((3_600_000_000, 0), (3_600_000_001, 3_600_000_001), (3_700_000_000, 3_600_000_001)):
        times[0] = now
        kept.find([KEY])
        assert used() == noted
    kept.close()


def test_a_database_that_hangs_is_not_waited_for_and_settles_nothing(engine: Engine) -> None:
    """A call gives up in time, and what it had proposed is not settled behind its back."""
    released, entered = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        entered.set()
        released.wait(60)

    event.listen(engine, "before_cursor_execute", hang)
    kept = DatabaseFrozen(engine, wait_seconds=0.05)
    assert kept.settle({KEY: "text"}) is None
    assert entered.wait(60)
    event.remove(engine, "before_cursor_execute", hang)
    released.set()
    kept.close()
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(extraction_forms)).scalar_one() == 0


@pytest.mark.parametrize("slow", ["commit", "reading"])
def test_what_is_committed_too_late_is_the_elision(engine: Engine, slow: str) -> None:
    """Who was not told in time has sent the elision: so it is for every replica, whatever was committed."""
    gone, committed = threading.Event(), threading.Event()

    def committing(_connection: object) -> None:
        committed.set()
        if slow == "commit":
            gone.set()

    def executing(*_: object) -> None:
        if committed.is_set():
            gone.set()

    event.listen(engine, "commit", committing)
    event.listen(engine, "before_cursor_execute", executing)
    kept = DatabaseFrozen(engine, wait_seconds=60)
    kept._settle({KEY: "text"}, gone)
    event.remove(engine, "commit", committing)
    event.remove(engine, "before_cursor_execute", executing)
    assert gone.is_set()
    assert kept.settle({KEY: "another"}) == Settled({KEY: None})
    kept.close()


def test_a_database_without_the_tables_gives_nothing(tmp_path: object) -> None:
    """Nothing raises when the database cannot do it, and a closed one knows nothing."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    kept = DatabaseFrozen(engine, wait_seconds=60)
    assert kept.find([KEY]) is None
    assert kept.freeze(KEY, FrozenText("x"), CLAIM) is None
    assert kept.settle({KEY: None}) is None
    kept.close()
    assert kept.find([KEY]) is None
    engine.dispose()


def test_keys_keep_tenants_sessions_and_settings_apart() -> None:
    """Every part of a key makes another key, and no two parts can be read as others."""
    base = ("blue", "v1", "haiku", "c" * 24, "f")
    keys = {text_key(*base), text_key(*base, origin="s")}
    for index in range(5):
        changed = list(base)
        changed[index] += "x"
        keys.add(text_key(changed[0], changed[1], changed[2], changed[3], changed[4]))
    keys |= {text_key("blue\0v1", "", "haiku", "c" * 24, "f"), form_key("blue", b"h", 0)}
    keys |= {form_key("blue", b"h", 1), form_key("red", b"h", 0), form_key("blue", b"i", 0)}
    assert len(keys) == 12


def test_a_content_is_known_by_its_very_characters() -> None:
    """What is sent in the place of a text quotes it, so that another spacing is another content."""
    assert content_id("a b") == content_id("a b")
    assert content_id("a  b") != content_id("a b")
    assert content_id("\ud800") != content_id("?")
