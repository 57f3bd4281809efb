"""One call at a time, beside the echo of its bytes."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench.latency.payloads import Call, Form, GrowingSession, Reply
from bench.latency.servers import Measured, echo_stub, pinch_stub

GOALS: Final[dict[tuple[Form, Reply], tuple[float, ...]]] = {
    ("body", "edits"): (1.3, 1.6, 2.2, 2.2),
    ("body", "full"): (1.3, 2.0, 2.8, 3.0),
    ("typed", "edits"): (1.3, 1.3, 1.6, 1.7),
}
"""The most that a call may cost, as a multiple of the echo, for each size."""
SIZES: Final = (3_000, 50_000, 324_000, 1_000_000)
"""Sizes of the conversations (tokens, characters / 3)."""
SMALL_TOKENS: Final = 150_000
"""Of sessions below this there are as many as fit in: their calls are short, and one session has few."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way of calling.

    Attributes:
        form: How the conversation goes in.
        reply: How it comes back.
        history: `next`: the call before it was answered by this server; `cold`: the session is new to it.
        ranked: Whether results are ranked by relevance at each call instead of replaying the history.
    """

    form: Form
    reply: Reply
    history: str
    ranked: bool = False


CASES: Final = (
    Case("body", "edits", "next"),
    Case("body", "full", "next"),
    Case("typed", "edits", "next"),
    Case("typed", "full", "next"),
    Case("body", "edits", "cold"),
    Case("body", "edits", "next", ranked=True),
    Case("body", "edits", "cold", ranked=True),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """What one case costs at one size; times in milliseconds.

    Attributes:
        case: Which case.
        tokens: The size (tokens).
        calls: How many were timed.
        echo_p50: Middle of the echoes of the same bytes.
        p50: Middle of the calls.
        p99: What one call of a hundred took longer than; with fewer calls the slowest.
        echo_p99: The same of the echoes.
        ratio: Middle of each call's time against its own echo's.
        shipped_tokens: What the last call ships (tokens): the budget is 50,000.
        goal: The most that `ratio` may be; None where none is set.
    """

    case: Case
    tokens: int
    calls: int
    echo_p50: float
    p50: float
    p99: float
    echo_p99: float
    ratio: float
    shipped_tokens: int
    goal: float | None


def measure(
    echo: Measured, pinch: Measured, sizes: tuple[int, ...], steps: int, done: Callable[[], None]
) -> Iterator[Ratio]:
    """Times every case at every size, calls and echoes in turn.

    Args:
        echo: The floor.
        pinch: What is measured.
        sizes: Sizes of conversation (tokens).
        steps: Calls timed of each session; of small ones there are several.
        done: Called after every case and size.
    """
    dice = random.Random(1)
    with ExitStack() as stack:
        send = stack.enter_context(echo_stub(echo.address))
        prune = stack.enter_context(pinch_stub(pinch.address))
        # None is to pay for what only the first calls of a process do.
        for _, call in _calls(GrowingSession(min(SIZES), steps), CASES[0], steps):
            send(call.payload)
            prune(call.request)
        for tokens in sizes:
            session = GrowingSession(tokens, steps + 1)
            for case in CASES:
                times: list[tuple[float, float]] = []
                shipped = 0
                for is_timed, call in _calls(session, case, steps):
                    timed: list[Callable[[], Any]] = [
                        partial(send, call.payload),
                        partial(prune, call.request),
                    ]
                    took = [0.0, 0.0]
                    for which in dice.sample((0, 1), 2):
                        began = time.perf_counter()
                        reply = timed[which]()
                        took[which] = (time.perf_counter() - began) * 1e3
                        if which == 1:
                            shipped = reply.measured.tokens
                    if is_timed:
                        times.append((took[0], took[1]))
                yield _ratio(case, tokens, times, shipped)
                done()


def _calls(session: GrowingSession, case: Case, steps: int) -> Iterator[tuple[bool, Call]]:
    """The calls of one case, each with whether it is timed: the first of a session is no next one."""
    name = f"{case.form} {case.reply} {case.ranked}"
    if case.history == "next":
        for number in range(max(1, SMALL_TOKENS // session.tokens)):
            calls = session.calls(f"{name} {number}", case.form, case.reply, ranked=case.ranked)
            yield from ((place > 0, call) for place, call in enumerate(calls))
        return
    for number in range(steps):
        *_, last = session.calls(f"{name} {number}", case.form, case.reply, ranked=case.ranked)
        yield True, last


def _ratio(case: Case, tokens: int, times: list[tuple[float, float]], shipped: int) -> Ratio:
    echoes, calls = (sorted(column) for column in zip(*times, strict=True))
    goals = GOALS.get((case.form, case.reply))
    has_goal = goals is not None and case.history == "next" and not case.ranked and tokens in SIZES
    return Ratio(
        case=case,
        tokens=tokens,
        calls=len(times),
        echo_p50=statistics.median(echoes),
        p50=statistics.median(calls),
        p99=calls[len(calls) * 99 // 100],
        echo_p99=echoes[len(echoes) * 99 // 100],
        ratio=statistics.median(call / echo for echo, call in times),
        shipped_tokens=shipped,
        goal=goals[SIZES.index(tokens)] if goals and has_goal else None,
    )
