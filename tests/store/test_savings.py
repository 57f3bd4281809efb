"""Savings read from the database: exact, whatever part of the window is added up already."""

import random
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from statistics import median
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select

from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.insight import SavedTokens, SavingsQuery
from pinch_server.core.savings import Sums
from pinch_server.store import activity, migrate, retention, rollup
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.periods import DAY, HOUR
from pinch_server.store.rollup import RollUp
from pinch_server.store.rows import decision_row
from pinch_server.store.savings import saved_tokens
from pinch_server.store.tables import prune_decisions, savings_periods, savings_sums, savings_values
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision, an_id, an_outcome

GRACE = 300_000_000


@pytest.fixture
def writer(engine: Engine, observer: CountingObserver) -> DecisionWriter:
    return DecisionWriter(engine, observer)


def roll_up(engine: Engine, now: int = NOW, oldest: int | None = None) -> int:
    """Adds up all that can be; the number of periods."""
    work = RollUp(engine, grace_us=GRACE)
    return sum(work.add_up(length, start) for length, start in work.missing(now, oldest))


def read(engine: Engine, now: int = NOW, **query: Any) -> SavedTokens:
    return saved_tokens(engine, SavingsQuery(now, **({"window_days": 30} | query)), grace_us=GRACE)


def one_sum(found: SavedTokens) -> Sums:
    assert len(found.sums) == 1
    return found.sums[0]


def count(engine: Engine, table: Any) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def expected(
    decisions: Iterable[Decision], outcomes: dict[str, Outcome], query: SavingsQuery
) -> tuple[dict[tuple[str, ...], list[int]], Decimal | None]:
    """The same by a plain walk over all decisions."""
    found: dict[tuple[str, ...], list[int]] = {}
    saved_by_call = []
    for one in decisions:
        told = outcomes.get(one.decision_id)
        is_dispatched = told is not None and told.outcome == "DISPATCHED"
        is_late = told is None and one.created_at <= query.now - GRACE
        in_window = query.now - query.window_days * DAY <= one.created_at <= query.now
        matches = all(
            wanted in (None, getattr(one, name))
            for name, wanted in (("route", query.route), ("model", query.model), ("format", query.format))
        )
        if one.dry_run or one.pinch_original_tokens is None or one.pinch_final_tokens is None:
            continue
        if not (in_window and matches and (is_dispatched or is_late)):
            continue
        called = (told.model if told else None) or one.model or ""
        priced = (one.prompt_rate, one.cached_rate or "", one.cache_write_rate or "", "")
        key = tuple(map(str, priced)) if one.prompt_rate else ("", "", "", called)
        group = found.setdefault(key, [0] * 6)
        group[0] += 1
        saved = one.pinch_original_tokens - one.pinch_final_tokens
        if saved <= 0:
            continue
        saved_by_call.append(saved)
        group[1] += 1
        group[2] += saved
        if told and told.prompt_tokens and told.cached_tokens is not None:
            share = min(told.cached_tokens, told.prompt_tokens) / told.prompt_tokens
            group[3] += saved
            group[4] += round(saved * share * 1_000_000)
        if told and told.cached_tokens and told.cache_write_tokens is not None:
            before, kept = one.sent_before_tokens, one.unchanged_prefix_tokens
            if before is not None and kept is not None:
                group[5] += max(0, min(before - max(kept, told.cached_tokens), told.cache_write_tokens))
    return found, Decimal(str(median(saved_by_call))) if saved_by_call else None


def assert_exact(
    engine: Engine, decisions: list[Decision], outcomes: dict[str, Outcome], **query: Any
) -> None:
    asked = SavingsQuery(**({"now": NOW, "window_days": 30} | query))
    found = saved_tokens(engine, asked, grace_us=GRACE)
    groups, middle = expected(decisions, outcomes, asked)
    added: dict[tuple[str, ...], list[int]] = {}
    for one in found.sums:
        key = (one.prompt_rate, one.cached_rate, one.cache_write_rate, one.model)
        group = added.setdefault(key, [0] * 6)
        for place, value in enumerate(
            (
                one.calls,
                one.pruned_calls,
                one.tokens_saved,
                one.measured_tokens,
                one.cached_parts,
                one.induced_tokens,
            )
        ):
            group[place] += value
    assert added == groups
    assert found.median == middle


def some_decisions(dice: random.Random, number: int) -> list[Decision]:
    made = []
    for each in range(number):
        original = dice.randrange(1_000, 200_000)
        is_enabled = dice.random() > 0.05
        made.append(
            a_decision(
                each,
                created_at=NOW - dice.choice([HOUR, DAY, 4 * DAY]) * dice.randrange(10_000) // 10_000,
                route=dice.choice(["ROUTED", "PASSTHROUGH"]),
                model=dice.choice([None, "m", "n"]),
                format=dice.choice(["openai-chat", "gemini"]),
                pinch_original_tokens=original if is_enabled else None,
                pinch_final_tokens=dice.choice([original, original // 2, original // 9])
                if is_enabled
                else None,
                pinch_enabled=is_enabled,
                dry_run=dice.random() < 0.05,
                prompt_rate=dice.choice([None, "3", "2.50"]),
                cached_rate=dice.choice([None, "0.3"]),
                cache_write_rate=None,
                sent_before_tokens=dice.choice([None, original // 2]),
                unchanged_prefix_tokens=dice.choice([None, original // 8]),
            )
        )
    return made


def some_outcomes(dice: random.Random, decisions: list[Decision]) -> dict[str, Outcome]:
    made = {}
    for each, decision in enumerate(decisions):
        if dice.random() < 0.7:
            prompt = dice.choice([None, 0, 1, 40_000, 2**63 - 1])
            made[decision.decision_id] = an_outcome(
                each,
                outcome=dice.choice(["DISPATCHED", "DISPATCHED", "DISPATCHED", "REJECTED", "FAILED"]),
                model=dice.choice([None, "other"]),
                prompt_tokens=prompt,
                cached_tokens=dice.choice([None, 0, 30_000, 2**63 - 1]),
                cache_write_tokens=dice.choice([None, 0, 7_000, 2**63 - 1]),
            )
    return made


@pytest.mark.parametrize("seed", range(3))
def test_sums_and_median_are_those_of_a_plain_walk(engine: Engine, writer: DecisionWriter, seed: int) -> None:
    """Before, while and after periods are added up, and under every filter, savings are what the rows say."""
    dice = random.Random(seed)
    decisions = some_decisions(dice, 400)
    outcomes = some_outcomes(dice, decisions)
    late = dict(list(outcomes.items())[:100])
    early = dict(list(outcomes.items())[100:])
    writer.write(decisions[:300], list(early.values()), NOW)
    writer.settle_waiting(NOW, GRACE)
    known = decisions[:300]
    matching = {key: value for key, value in early.items() if key in {one.decision_id for one in known}}
    assert_exact(engine, known, matching)
    assert roll_up(engine) > 0
    assert_exact(engine, known, matching)
    writer.write(decisions[300:], [], NOW)
    writer.settle_waiting(NOW, GRACE)
    assert_exact(engine, decisions, early)
    roll_up(engine, NOW - 2 * DAY)
    writer.write([], list(late.values()), NOW)
    for _ in range(2):
        for query in (
            {},
            {"route": "ROUTED"},
            {"model": "m"},
            {"format": "gemini", "route": "PASSTHROUGH"},
            {"window_days": 1},
            {"window_days": 3},
            {"now": NOW - 36 * HOUR},
            {"model": "nobody's"},
        ):
            assert_exact(engine, decisions, outcomes, **query)
        roll_up(engine)


def test_every_settled_hour_and_day_is_added_up_once(engine: Engine, writer: DecisionWriter) -> None:
    """Adding up covers the hours from the first decision to the grace period, whole days too, and no more."""
    writer.write([a_decision(1, created_at=NOW - 3 * DAY)], [], NOW)
    now = NOW - NOW % DAY + 12 * HOUR
    added = roll_up(engine, now)
    first = NOW - 3 * DAY
    hours = (now - first % HOUR - first) // HOUR
    assert count(engine, savings_periods) == added
    assert added >= hours + 2
    assert roll_up(engine, now) == 0


def test_a_late_outcome_takes_the_sums_away(engine: Engine, writer: DecisionWriter) -> None:
    """A decision that turns out to be rejected after its day was added up no longer counts."""
    writer.write([a_decision(1, created_at=NOW - 2 * DAY)], [], NOW)
    roll_up(engine)
    assert one_sum(read(engine)).calls == 1
    before = count(engine, savings_periods)
    writer.write([], [an_outcome(1, outcome="REJECTED")], NOW)
    assert count(engine, savings_periods) == before - 2
    assert count(engine, savings_sums) == count(engine, savings_values) == 0
    assert read(engine) == SavedTokens((), None)
    roll_up(engine)
    assert count(engine, savings_periods) == before
    assert read(engine) == SavedTokens((), None)


def test_decisions_that_come_late_count_in_an_hour_that_had_none(
    engine: Engine, writer: DecisionWriter
) -> None:
    """What a journal brings days later counts in its empty hour, whether that was added up or not."""
    first = NOW - NOW % DAY - 3 * DAY
    writer.write([a_decision(1, created_at=first), a_decision(2, created_at=NOW - DAY)], [], NOW)
    roll_up(engine)
    assert sum(one.calls for one in read(engine).sums) == 2
    late = first + 5 * HOUR + 7
    writer.write([a_decision(3, created_at=late)], [], NOW)
    for _ in range(2):
        assert sum(one.calls for one in read(engine).sums) == 3
        hours = activity.hours(engine, NOW, 30, grace_us=GRACE)
        assert [(one.start, one.counts["calls"]) for one in hours[:2]] == [(first, 1), (first + 5 * HOUR, 1)]
        roll_up(engine)
    assert roll_up(engine) == 0


def test_a_report_that_waited_takes_the_sums_away(engine: Engine, writer: DecisionWriter) -> None:
    """An outcome that finds its decision late changes the savings too."""
    writer.write([], [an_outcome(1, outcome="REJECTED")], NOW)
    writer.write([a_decision(1, created_at=NOW - DAY)], [], NOW)
    roll_up(engine)
    assert one_sum(read(engine)).calls == 1
    writer.settle_waiting(NOW, GRACE)
    assert read(engine).sums == ()


def test_a_rejected_decision_never_counts_and_an_unreported_one_after_the_grace_period(
    engine: Engine, writer: DecisionWriter
) -> None:
    """Dispatched decisions count at once, unreported ones when the grace period is over, others never."""
    ages = {1: 0, 2: 0, 3: 0, 4: GRACE - 1, 5: GRACE}
    writer.write(
        [a_decision(number, created_at=NOW - age) for number, age in ages.items()],
        [
            an_outcome(1),
            an_outcome(2, outcome="REJECTED"),
            an_outcome(3, outcome="FAILED"),
        ],
        NOW,
    )
    assert sum(one.calls for one in read(engine).sums) == 2
    assert sum(one.calls for one in read(engine, now=NOW + 1).sums) == 3


def test_the_window_ends_now_and_begins_to_the_microsecond(engine: Engine, writer: DecisionWriter) -> None:
    """A call 30 days old to the microsecond is in the window, an older one is not, nor one of the future."""
    for number, moment in enumerate((NOW - 30 * DAY - 1, NOW - 30 * DAY, NOW, NOW + 1)):
        writer.write([a_decision(number, created_at=moment)], [an_outcome(number)], NOW)
    for _ in range(2):
        assert sum(one.calls for one in read(engine).sums) == 2
        roll_up(engine)


def test_old_decisions_go_in_batches_with_their_sums(engine: Engine, writer: DecisionWriter) -> None:
    """What is past its time is deleted a batch at a time, and the savings are those of what is left."""
    writer.write([a_decision(number, created_at=NOW - DAY * number) for number in range(10)], [], NOW)
    roll_up(engine)
    kept = NOW - 3 * DAY
    deleted = []
    while not deleted or deleted[-1]:
        deleted.append(retention.delete_batch(engine, kept, 4))
    assert deleted == [4, 2, 0]
    assert count(engine, prune_decisions) == 4
    roll_up(engine, oldest=kept)
    with engine.connect() as connection:
        assert connection.execute(select(func.min(savings_periods.c.start))).scalar_one() >= kept
    assert one_sum(read(engine)).calls == 3


def test_two_that_add_up_do_it_once(engine: Engine, writer: DecisionWriter) -> None:
    """A period that another worker has added up is left alone."""
    writer.write([a_decision(1, created_at=NOW - DAY)], [], NOW)
    one, other = RollUp(engine, grace_us=GRACE), RollUp(engine, grace_us=GRACE)
    periods = list(one.missing(NOW))
    assert all(one.add_up(*period) for period in periods)
    assert not any(other.add_up(*period) for period in periods)
    assert one_sum(read(engine)).calls == 1


def test_a_day_waits_for_its_hours(engine: Engine, writer: DecisionWriter) -> None:
    """A day is not added up while an hour of it is missing."""
    first = NOW - NOW % DAY - 2 * DAY
    writer.write([a_decision(1, created_at=first)], [], NOW)
    work = RollUp(engine, grace_us=GRACE)
    assert not work.add_up(DAY, first)
    assert roll_up(engine) > 24
    assert not work.add_up(DAY, first)


def test_what_was_never_given_is_grouped_as_nothing(engine: Engine, writer: DecisionWriter) -> None:
    """Decisions without model and rates form one group of empty texts, whatever else came with them."""
    bare = a_decision(1, model=None, prompt_rate=None, cached_rate="1", created_at=NOW - DAY)
    writer.write([bare, replace(bare, decision_id=an_id(2))], [an_outcome(2, model=None)], NOW)
    for _ in range(2):
        found = one_sum(read(engine))
        assert (found.prompt_rate, found.cached_rate, found.model, found.calls) == ("", "", "", 2)
        roll_up(engine)


def test_a_period_is_not_added_up_beside_a_writer_of_it(postgres_url: str) -> None:
    """On PostgreSQL an hour waits while a writer that changed it has not committed, and then has its rows."""
    migrate.up(postgres_url)
    engine = open_engine(postgres_url)
    hour = NOW - NOW % HOUR - 3 * HOUR
    work = RollUp(engine, grace_us=GRACE)
    with writing(engine) as connection:
        connection.execute(insert(prune_decisions), [decision_row(a_decision(1, created_at=hour))])
        rollup.forget(connection, [hour])
        assert not work.add_up(HOUR, hour)
        assert work.add_up(HOUR, hour + HOUR)
    assert work.add_up(HOUR, hour)
    assert one_sum(read(engine)).calls == 1
    engine.dispose()


@pytest.mark.parametrize(
    ("cached", "written", "induced"),
    [
        (10_000, 40_000, 30_000),
        (10_000, 5_000, 5_000),
        (35_000, 40_000, 5_000),
        (60_000, 40_000, 0),
        (1, 40_000, 30_000),
        (0, 40_000, 0),
        (None, 40_000, 0),
        (10_000, None, 0),
    ],
)
def test_induced_cache_writes_are_what_the_cache_would_have_given_back(
    engine: Engine, writer: DecisionWriter, cached: int | None, written: int | None, induced: int
) -> None:
    """40,000 had been sent, 10,000 of it before the first new trim: at most what lies between was induced."""
    one = a_decision(1, created_at=NOW, sent_before_tokens=40_000, unchanged_prefix_tokens=10_000)
    writer.write([one], [an_outcome(1, cached_tokens=cached, cache_write_tokens=written)], NOW)
    assert one_sum(read(engine)).induced_tokens == induced
