"""What the hours say, against a plain walk over the decisions."""

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from sqlalchemy import Engine

from pinch_server.core.activity import LATENCY_BOUNDS_US
from pinch_server.core.decision import Decision
from pinch_server.store.activity import hours
from pinch_server.store.periods import DAY, HOUR
from pinch_server.store.rollup import RollUp
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision, an_outcome

GRACE = 300_000_000


def some_decisions(dice: random.Random, number: int) -> list[Decision]:
    made = []
    for each in range(number):
        original = dice.randrange(1_000, 200_000)
        previous = dice.choice([None, 40])
        made.append(
            a_decision(
                each,
                created_at=NOW - dice.choice([HOUR, DAY, 3 * DAY]) * dice.randrange(10_000) // 10_000,
                pinch_original_tokens=original,
                pinch_final_tokens=dice.choice([original, original // 2]),
                dry_run=dice.random() < 0.1,
                ranking=dice.choice(["HYBRID", "COSINE", "LEXICAL", "UNIFORM", "NOT_NEEDED"]),
                latency_us=dice.choice([0, 1, 250, 251, 3_000, 999_999, 1_000_000, 1_000_001, 2**62]),
                prefix_previous_messages=previous,
                prefix_matched_messages=None if previous is None else dice.randrange(41),
            )
        )
    return made


def expected(decisions: Iterable[Decision], rejected: set[str]) -> dict[int, Counter[str]]:
    """The same by a plain walk; nothing was reported but the rejections."""
    found: dict[int, Counter[str]] = {}
    for one in decisions:
        if one.dry_run or one.decision_id in rejected or one.created_at > NOW - GRACE:
            continue
        before, after = one.pinch_original_tokens or 0, one.pinch_final_tokens or 0
        bound = next((bound for bound in LATENCY_BOUNDS_US if one.latency_us <= bound), "inf")
        found.setdefault(one.created_at - one.created_at % HOUR, Counter()).update(
            {
                "calls": 1,
                "pruned_calls": int(before > after),
                "tokens_before": before,
                "tokens_after": after,
                "tokens_saved": before - after,
                "elided": one.elided,
                "omitted": one.omitted,
                "capped": one.capped,
                "previous_messages": one.prefix_previous_messages or 0,
                "matched_messages": one.prefix_matched_messages or 0,
                f"ranking_{one.ranking.lower()}": 1,
                f"latency_us_{bound}": 1,
            }
        )
    return {hour: +counts for hour, counts in found.items()}


@pytest.mark.parametrize("seed", range(2))
def test_hours_are_what_a_plain_walk_finds(engine: Engine, observer: CountingObserver, seed: int) -> None:
    """Added up or not, and after a late report, the counts of hours are those of the decisions."""
    dice = random.Random(seed)
    decisions = some_decisions(dice, 300)
    writer = DecisionWriter(engine, observer)
    writer.write(decisions, [], NOW)
    work = RollUp(engine, grace_us=GRACE)
    rejected: set[str] = set()
    for each in (None, 7, 11, None):
        if each is not None:
            writer.write([], [an_outcome(each, outcome="REJECTED")], NOW)
            rejected.add(decisions[each].decision_id)
        for _ in range(2):
            found = {one.start: Counter(one.counts) for one in hours(engine, NOW, 30, grace_us=GRACE)}
            assert found == expected(decisions, rejected)
            for length, start in work.missing(NOW):
                work.add_up(length, start)


def test_a_window_begins_with_a_whole_hour(engine: Engine, observer: CountingObserver) -> None:
    """An hour that began before the window is left out, the running one is in."""
    times = [NOW - DAY, NOW - DAY + HOUR, NOW - GRACE]
    made = [a_decision(each, created_at=time) for each, time in enumerate(times)]
    DecisionWriter(engine, observer).write(made, [], NOW)
    found = [one.start for one in hours(engine, NOW + HOUR // 2, 1, grace_us=GRACE)]
    assert found == [NOW - DAY + HOUR, NOW - HOUR]
