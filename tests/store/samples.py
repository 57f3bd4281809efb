"""Decisions, outcomes and an observer for the tests of the store."""

import threading
from collections import Counter
from typing import Any

from pinch_server.core.decision import Decision, Outcome

NOW = 1_764_460_800_000_000


def a_decision(number: int = 1, **changes: Any) -> Decision:
    """A decision whose id is made of the number; any field can be set otherwise."""
    fields: dict[str, Any] = {
        "decision_id": an_id(number),
        "created_at": NOW + number,
        "request_id": f"request-{number}",
        "session_hash": "5e55",
        "route": "ROUTED",
        "model": "some-model",
        "format": "openai-chat",
        "pinch_original_tokens": 90_000,
        "pinch_final_tokens": 49_000,
        "extra_fixed_tokens": 1_200,
        "messages": 81,
        "candidates": 30,
        "elided": 20,
        "omitted": 3,
        "capped": 1,
        "budget_tokens": 50_000,
        "budget_met": True,
        "ranking": "UNIFORM",
        "ranking_reason": None,
        "unchanged_reason": None,
        "stability": "per_call",
        "trim_style": "plain",
        "dry_run": False,
        "latency_us": 2_345,
        "settings_fingerprint": "f1f1",
        "pinch_enabled": True,
        "prompt_rate": "3.00",
        "cached_rate": "0.30",
        "cache_write_rate": None,
        "prefix_previous_messages": 79,
        "prefix_matched_messages": 79,
        "prefix_matched_tokens": 88_000,
    }
    return Decision(**(fields | changes))


def an_outcome(number: int = 1, **changes: Any) -> Outcome:
    """An outcome of the decision of that number."""
    fields: dict[str, Any] = {
        "decision_id": an_id(number),
        "reported_at": NOW + 5_000_000,
        "outcome": "DISPATCHED",
        "model": "chosen-model",
        "prompt_tokens": 49_100,
        "cached_tokens": 40_000,
        "cache_write_tokens": 9_000,
        "completion_tokens": 300,
        "cost_usd": "0.0421",
    }
    return Outcome(**(fields | changes))


def an_id(number: int) -> str:
    """A UUIDv7 with that number at its end."""
    return f"019ad000-0000-7000-8000-{number:012x}"


class CountingObserver:
    """Remembers what the store reported."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self.counts: Counter[str] = Counter()
        self.pending = 0
        self._changed = threading.Condition()

    def journal_pending(self, records: int) -> None:
        """Remember the last figure."""
        self.pending = records

    def journal_dropped(self) -> None:
        """Count."""
        self._add("dropped", 1)

    def decisions_stored(self, count: int) -> None:
        """Count."""
        self._add("stored", count)

    def store_failed(self) -> None:
        """Count."""
        self._add("failed", 1)

    def outcomes_unmatched(self, count: int) -> None:
        """Count."""
        self._add("unmatched", count)

    def outcomes_replaced(self, count: int) -> None:
        """Count."""
        self._add("replaced", count)

    def wait_for(self, name: str, at_least: int, timeout: float = 30.0) -> bool:
        """Wait until so many were counted; False when that did not come."""
        with self._changed:
            return self._changed.wait_for(lambda: self.counts[name] >= at_least, timeout)

    def _add(self, name: str, count: int) -> None:
        with self._changed:
            self.counts[name] += count
            self._changed.notify_all()
