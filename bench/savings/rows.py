"""Thirty days of decisions, made up and loaded as fast as the database takes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from sqlalchemy import Engine

from pinch_server.store.periods import DAY
from pinch_server.store.tables import prune_decisions

COLUMNS: Final = tuple(column.name for column in prune_decisions.c)
_BATCH: Final = 20_000
# Name, share of calls, and prices as requests bring them; the last brings none and is in the price table.
_MODELS: Final = (
    ("claude-sonnet-4-5", 0.45, ("3", "0.30", "3.75")),
    ("gpt-5.2", 0.3, ("1.75", "0.175", None)),
    ("deepseek-v4-pro", 0.15, ("0.66", "0.022", None)),
    ("gemini-2.5-flash", 0.1, (None, None, None)),
)
_FORMATS: Final = ("anthropic", "openai-chat", "openai-responses")


def rows(number: int, end: int, seed: int = 0) -> Iterator[tuple[Any, ...]]:
    """Rows of `prune_decisions` in the order of `COLUMNS`, oldest first.

    Seven of ten calls are dispatched, most of them with usage; two are never reported on, one is rejected. A
    third is within its budget.

    Args:
        number: How many.
        end: When the last was made (microseconds since the Unix epoch); they fill the 30 days before.
        seed: Of chance.
    """
    dice = random.Random(seed)
    step = 30 * DAY // number
    weights = [share for _, share, _ in _MODELS]
    for each in range(number):
        created = end - (number - 1 - each) * step
        model, _, (prompt, cached, write) = dice.choices(_MODELS, weights)[0]
        original = int(dice.lognormvariate(11, 0.8)) + 1_000
        is_pruned = dice.random() < 0.67
        final = int(original * dice.uniform(0.3, 0.95)) if is_pruned else original
        fate = dice.random()
        is_dispatched = fate < 0.7
        has_usage = fate < 0.6
        outcome = "dispatched" if is_dispatched else "pending" if fate < 0.9 else "rejected"
        row: dict[str, Any] = {
            "decision_id": f"{created // 1000:012x}"[:8]
            + f"-{created // 1000:012x}"[-5:]
            + f"-7{dice.getrandbits(12):03x}-8{dice.getrandbits(12):03x}-{each:012x}",
            "created_at": created,
            "request_id": f"request-{each}",
            "session_hash": f"{dice.randrange(number // 40 + 1):064x}",
            "route": "ROUTED" if dice.random() < 0.8 else "PASSTHROUGH",
            "model": model,
            "format": _FORMATS[dice.randrange(3)],
            "pinch_original_tokens": original,
            "pinch_final_tokens": final,
            "extra_fixed_tokens": 12_000,
            "messages": 81,
            "candidates": 30,
            "elided": 2,
            "omitted": 1,
            "capped": 0,
            "budget_tokens": 50_000,
            "budget_met": True,
            "ranking": "UNIFORM",
            "stability": "REPLAY",
            "trim_style": "KEYED",
            "dry_run": False,
            "latency_us": 900,
            "settings_fingerprint": "0123456789ab",
            "pinch_enabled": True,
            "prompt_rate": prompt,
            "cached_rate": cached,
            "cache_write_rate": write,
            "sent_before_tokens": int(final * 0.95),
            "unchanged_prefix_tokens": int(final * 0.4) if is_pruned and each % 10 == 0 else None,
            "outcome": outcome,
        }
        if outcome != "pending":
            row |= {"reported_at": created + 4_000_000, "outcome_model": model}
        if has_usage:
            row |= {
                "outcome_prompt_tokens": final,
                "outcome_cached_tokens": int(final * dice.choice((0, 0.4, 0.9))),
                "outcome_cache_write_tokens": int(final * 0.08),
                "outcome_completion_tokens": 400,
            }
        yield tuple(map(row.get, COLUMNS))


def load(engine: Engine, made: Iterator[tuple[Any, ...]], tick: Callable[[int], None]) -> None:
    """Loads rows into an empty table; its indexes are made afterwards, which is faster.

    Args:
        engine: The database.
        made: The rows.
        tick: Called with the number of rows of each batch that is in.
    """
    indexes = sorted(prune_decisions.indexes, key=lambda index: str(index.name))
    for index in indexes:
        index.drop(engine)
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        if engine.dialect.name == "sqlite":
            marks = ", ".join("?" * len(COLUMNS))
            insert = f"INSERT INTO prune_decisions ({', '.join(COLUMNS)}) VALUES ({marks})"  # noqa: S608 own names
            while batch := list(islice(made, _BATCH)):
                cursor.execute("BEGIN")
                cursor.executemany(insert, batch)
                cursor.execute("COMMIT")
                tick(len(batch))
        else:
            with cursor.copy(f"COPY prune_decisions ({', '.join(COLUMNS)}) FROM STDIN") as copy:
                while batch := list(islice(made, _BATCH)):
                    for row in batch:
                        copy.write_row(row)
                    tick(len(batch))
            connection.commit()
    finally:
        connection.close()
    for index in indexes:
        index.create(engine)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
        # As its background worker would have done by then.
        plain.exec_driver_sql("ANALYZE" if engine.dialect.name == "sqlite" else "VACUUM ANALYZE")
