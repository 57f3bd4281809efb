"""Where a call's time goes, by the server's own metrics: one caller, a session's next calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.latency.payloads import GrowingSession
from bench.latency.servers import Measured, pinch_stub
from bench.scrape import moved, scrape

STAGES: Final = ("read", "plan", "write", "record")
_HANDLING: Final = "grpc_server_handling_seconds"
_TELLINGS: Final = 3


@dataclass(frozen=True, slots=True)
class Stages:
    """The parts of a session's next call.

    Attributes:
        tokens: Size of the conversation (tokens).
        seen_ms: What the caller waits (milliseconds, the middle).
        handling_ms: What of it the server's interceptors and the method take (milliseconds, the mean).
        stages_ms: What of that each stage takes (milliseconds, the mean); the rest is decoding, the probe,
            the reply, metrics and the log line.
    """

    tokens: int
    seen_ms: float
    handling_ms: float
    stages_ms: Mapping[str, float]


def stages(measured: Measured, tokens: int, steps: int) -> Stages:
    """Times `steps` next calls of each of a few sessions in the body form, with edits as the reply."""
    session = GrowingSession(tokens, steps + 1)
    seen: list[float] = []
    spent = dict.fromkeys((*STAGES, _HANDLING), 0.0)
    with pinch_stub(measured.address) as prune:
        for number in range(_TELLINGS):
            first, *later = session.calls(f"stages {tokens} {number}", "body", "edits")
            prune(first.request)
            before = scrape(measured.http)
            for call in later:
                began = time.perf_counter()
                prune(call.request)
                seen.append((time.perf_counter() - began) * 1e3)
            for one in moved(before, scrape(measured.http)):
                if one.series.startswith(f"{_HANDLING}_sum") and "Prune" in one.series:
                    spent[_HANDLING] += one.change
                for stage in STAGES:
                    if one.series == f'pinch_stage_seconds_sum{{stage="{stage}"}}':
                        spent[stage] += one.change
    each = {name: seconds * 1e3 / len(seen) for name, seconds in spent.items()}
    handling = each.pop(_HANDLING)
    return Stages(tokens, statistics.median(seen), handling, each)
