"""One call at a time, beside the echo of its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.latency.pairs import Pair, Times, pairing, times_of
from bench.latency.payloads import Call, Form, GrowingSession, Reply
from bench.latency.servers import Measured

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


NEXT: Final = CASES[:4]
"""What is measured of two workers: a session's next calls, in each form and reply."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What one case costs at one size.

    Attributes:
        case: Which case.
        tokens: The size (tokens).
        times: What its calls and their echoes took.
        shipped_tokens: What the last call ships (tokens): the budget is 50,000.
        goal: The most that `times.ratio` may be; None where none is set.
    """

    case: Case
    tokens: int
    times: Times
    shipped_tokens: int
    goal: float | None


def measure(
    echo: Measured,
    pinch: Measured,
    sizes: tuple[int, ...],
    steps: int,
    done: Callable[[], None],
    cases: Sequence[Case] = CASES,
) -> Iterator[Ratio]:
    """Times every case at every size, calls and echoes in turn.

    Args:
        echo: The floor.
        pinch: What is measured. Goals are set for one worker; several get the calls of each session in turn.
        sizes: Sizes of conversation (tokens).
        steps: Calls timed of each session; of small ones there are several.
        done: Called after every case and size.
        cases: What is measured.
    """
    with pairing(echo, pinch) as pairs:
        for tokens in sizes:
            session = GrowingSession(tokens, steps + pinch.workers)
            for case in cases:
                taken: list[Pair] = []
                for is_timed, call in _calls(session, case, steps, pinch.workers):
                    pair = pairs.take(call)
                    if is_timed:
                        taken.append(pair)
                shipped = taken[-1].reply.measured.tokens
                goal = _goal(case, tokens) if pinch.workers == 1 else None
                yield Ratio(case, tokens, times_of(taken), shipped, goal)
                done()


def _calls(session: GrowingSession, case: Case, steps: int, workers: int) -> Iterator[tuple[bool, Call]]:
    """The calls of one case, each with whether it is timed: a session's first at a worker is no next one."""
    name = f"{case.form} {case.reply} {case.ranked}"
    if case.history == "next":
        for number in range(max(1, SMALL_TOKENS // session.tokens)):
            calls = session.calls(f"{name} {number}", case.form, case.reply, ranked=case.ranked)
            yield from ((place >= workers, call) for place, call in enumerate(calls))
        return
    for number in range(steps):
        *_, last = session.calls(f"{name} {number}", case.form, case.reply, ranked=case.ranked)
        yield True, last


def _goal(case: Case, tokens: int) -> float | None:
    goals = GOALS.get((case.form, case.reply))
    if goals is None or case.history != "next" or case.ranked or tokens not in SIZES:
        return None
    return goals[SIZES.index(tokens)]
