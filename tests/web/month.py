"""A made-up month of decisions for the pages: busy by day, quiet by night, the same for the same end."""

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from sqlalchemy import Engine

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.periods import HOUR
from pinch_server.store.rollup import RollUp
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import CountingObserver

GRACE_US: Final = 300_000_000
_MODELS: Final = (
    ("claude-sonnet-4-5", "anthropic", 0.46, ("3", "0.30", "3.75")),
    ("gpt-5.2", "openai-chat", 0.31, ("1.75", "0.175", None)),
    ("gemini-2.5-pro", "gemini", 0.14, ("1.25", "0.31", None)),
    ("gpt-5.2-mini", "openai-responses", 0.09, ("0.25", "0.025", None)),
)
_TOOLS: Final = (("bash", 0.41), ("read_file", 0.27), ("grep", 0.15), ("web_fetch", 0.1), ("sql_query", 0.07))
_RANKINGS: Final = (("UNIFORM", 0.08), ("LEXICAL", 0.27), ("HYBRID", 0.21), ("NOT_NEEDED", 0.44))


def a_month(end: int, *, busiest: int = 22, days: int = 30, seed: int = 7) -> Iterator[Decision]:
    """Decisions, the oldest first.

    Args:
        end: When the last ones are made (microseconds since the Unix epoch).
        busiest: Calls in the busiest hours.
        days: How many days before `end` they begin.
        seed: Of chance.
    """
    dice = random.Random(seed)
    number = 0
    for hour in range(days * 24, 0, -1):
        start = end - hour * HOUR
        # The last hour is a Thursday's, at two in the afternoon.
        of_day, of_week = (14 - hour) % 24, (4 + (14 - hour) // 24) % 7
        wave = max(0.06, math.sin((of_day - 6) / 24 * 2 * math.pi)) * (0.3 if of_week in (0, 6) else 1.0)
        calls = round(busiest * wave * dice.uniform(0.7, 1.2))
        for made in sorted(dice.randrange(HOUR) for _ in range(calls)):
            number += 1
            yield _decision(dice, number, start + made)


def outcomes(decisions: list[Decision], seed: int = 8) -> Iterator[Outcome]:
    """What became of most of them."""
    dice = random.Random(seed)
    for one in decisions:
        chance = dice.random()
        if chance > 0.95 or one.dry_run:
            continue
        final = one.pinch_final_tokens or 0
        sent = "DISPATCHED" if chance < 0.92 else "REJECTED" if chance < 0.94 else "FAILED"
        yield Outcome(
            one.decision_id,
            one.created_at + 3_000_000,
            sent,  # type: ignore[arg-type]
            model=one.model,
            prompt_tokens=final,
            cached_tokens=int(final * dice.uniform(0.7, 0.95)),
            cache_write_tokens=int(final * 0.05),
            completion_tokens=dice.randrange(80, 1_400),
        )


def fill(engine: Engine, decisions: list[Decision], now: int) -> None:
    """Stores decisions with their outcomes, and adds up the hours that can be."""
    writer = DecisionWriter(engine, CountingObserver())
    told = {one.decision_id: one for one in outcomes(decisions)}
    for first in range(0, len(decisions), 500):
        batch = decisions[first : first + 500]
        writer.write(batch, [told[one.decision_id] for one in batch if one.decision_id in told], now)
    work = RollUp(engine, grace_us=GRACE_US)
    for length, start in work.missing(now):
        work.add_up(length, start)


def _by_tool(dice: random.Random, trimmed: int) -> str | None:
    tools = Counter(dice.choices([name for name, _ in _TOOLS], [share for _, share in _TOOLS], k=trimmed))
    return ",".join(f"{tool} {count}" for tool, count in sorted(tools.items())) or None


def _decision(dice: random.Random, number: int, made: int) -> Decision:
    model, form, _, rates = dice.choices(_MODELS, [one[2] for one in _MODELS])[0]
    ranking = dice.choices([name for name, _ in _RANKINGS], [share for _, share in _RANKINGS])[0]
    original = int(dice.lognormvariate(11.0, 0.55)) + 4_000
    is_pruned = original > 50_000
    final = int(original * dice.uniform(0.36, 0.52)) if is_pruned else original
    messages = dice.randrange(12, 180)
    trimmed = dice.choice((0, 0, 0, 0, 2, 3, 5, 9)) if is_pruned else 0
    stamp = f"{made // 1000:012x}"
    matched = 1.0 if dice.random() < 0.93 else dice.uniform(0.3, 0.9)
    return Decision(
        decision_id=f"{stamp[:8]}-{stamp[8:]}-7{number % 4096:03x}-8a5c-{number:012x}",
        created_at=made,
        request_id=f"req-{number:06d}",
        session_hash=f"{dice.getrandbits(256):064x}",
        route="ROUTED" if dice.random() < 0.84 else "PASSTHROUGH",
        model=model,
        format=form,
        pinch_original_tokens=original,
        pinch_final_tokens=final,
        extra_fixed_tokens=4_200,
        messages=messages,
        candidates=trimmed * 3,
        elided=trimmed - trimmed // 3,
        omitted=trimmed // 3,
        capped=1 if trimmed and dice.random() < 0.2 else 0,
        budget_tokens=50_000,
        budget_met=final <= 50_000,
        ranking=ranking if trimmed else "NOT_NEEDED",
        ranking_reason=None,
        unchanged_reason=None if is_pruned else "within_budget",
        stability="REPLAY",
        trim_style="KEYED",
        dry_run=dice.random() < 0.01,
        latency_us=int(dice.lognormvariate(7.4, 0.6)) + original // 90,
        settings_fingerprint="5f0c2a9e1b44",
        pinch_enabled=True,
        prompt_rate=rates[0],
        cached_rate=rates[1],
        cache_write_rate=rates[2],
        prefix_previous_messages=messages - 2,
        prefix_matched_messages=int((messages - 2) * matched),
        prefix_matched_tokens=int(final * 0.9),
        trimmed_tools=_by_tool(dice, trimmed),
    )
