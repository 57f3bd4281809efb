"""The measurement: policies and sessions in; dollars, tokens and kept prefixes by class of session out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.economics.dollars import Pauses, call_dollars
from bench.economics.policies import UNPRUNED
from bench.economics.rates import Rates
from bench.economics.replay import Call, replay
from bench.recall.fan_out import Tick, fan_out
from bench.recall.policies import Policy
from bench.recall.sessions import Session

CLASSES: Final = ((0, 50_000, "<50k"), (50_000, 100_000, "50-100k"), (100_000, 10**12, ">100k"))
"""Classes of sessions by the size of the whole history (tokens): from, to, name."""
BUDGET_TOKENS: Final = 50_000
_WELL_UNDER: Final = 0.25
_TOLERATED: Final = 0.10


@dataclass(frozen=True, slots=True)
class Replayed:
    """One session under one policy.

    Attributes:
        policy: The policy's name.
        session: The session's name.
        size_class: Its class by size.
        calls: Its calls.
    """

    policy: str
    session: str
    size_class: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy over the sessions of one class, at one provider's rates.

    Attributes:
        policy: The policy.
        rates: The class of models that charges.
        size_class: The class of sessions.
        sessions: How many there are.
        dollars: What they cost in all (USD, input only).
        pooled: Relative change of that against no pruning.
        mean: Mean over sessions of each one's relative change.
        well_under: Share of sessions at least 25% cheaper.
        over: Sessions more than 10% dearer.
        worst: The greatest relative change.
        worst_session: Where it was.
        tokens: Tokens shipped against no pruning, as a share.
        extends: Share of consecutive calls that begin with the whole call before.
        events: Calls that changed what had been shipped, by session.
        peak: The largest call (tokens).
    """

    policy: str
    rates: str
    size_class: str
    sessions: int
    dollars: float
    pooled: float
    mean: float
    well_under: float
    over: int
    worst: float
    worst_session: str
    tokens: float
    extends: float
    events: float
    peak: int


def class_of(tokens: int) -> str:
    """The class of a session of that size."""
    return next(name for low, high, name in CLASSES if low <= tokens < high)


def replay_all(
    policies: Sequence[Policy],
    sessions: Sequence[Session],
    budget_tokens: int = BUDGET_TOKENS,
    *,
    jobs: int = 1,
    tick: Tick = lambda: None,
) -> list[Replayed]:
    """Replays every session under every policy, and unpruned; `tick` is called after each session."""
    tested = [UNPRUNED, *(one for one in policies if one.name != UNPRUNED.name)]
    largest_first = sorted(sessions, key=lambda session: -session.tokens * len(session.messages))

    def work(session: Session) -> list[tuple[Call, ...]]:
        return [replay(one, session, budget_tokens) for one in tested]

    done = fan_out(work, largest_first, jobs, tick)
    return [
        Replayed(one.name, session.name, class_of(session.tokens), calls)
        for session, replays in zip(largest_first, done, strict=True)
        for one, calls in zip(tested, replays, strict=True)
        if calls
    ]


def tally(replayed: Sequence[Replayed], rates: Rates, pauses: Pauses) -> list[Row]:
    """One row for each policy and class of sessions that occur."""
    costs = {
        (one.policy, one.session): sum(call_dollars(one.calls, rates, one.session, pauses))
        for one in replayed
    }
    shipped = {(one.policy, one.session): sum(call.tokens for call in one.calls) for one in replayed}
    rows = []
    for name in dict.fromkeys(one.policy for one in replayed):
        for _, _, size_class in CLASSES:
            group = [one for one in replayed if one.policy == name and one.size_class == size_class]
            if group:
                rows.append(_row(name, rates.name, group, costs, shipped))
    return rows


def _row(
    name: str,
    rates: str,
    group: Sequence[Replayed],
    costs: dict[tuple[str, str], float],
    shipped: dict[tuple[str, str], int],
) -> Row:
    sessions = [one.session for one in group]
    changes = {session: costs[name, session] / costs[UNPRUNED.name, session] - 1 for session in sessions}
    worst = max(changes, key=lambda session: changes[session])
    consecutive = [call for one in group for call in one.calls[1:]]
    kept = sum(call.extends for call in consecutive)

    def total(of: Callable[[str], float]) -> float:
        return sum(map(of, sessions))

    dollars = total(lambda session: costs[name, session])
    return Row(
        policy=name,
        rates=rates,
        size_class=group[0].size_class,
        sessions=len(group),
        dollars=dollars,
        pooled=dollars / total(lambda session: costs[UNPRUNED.name, session]) - 1,
        mean=sum(changes.values()) / len(changes),
        well_under=sum(change <= -_WELL_UNDER for change in changes.values()) / len(changes),
        over=sum(change > _TOLERATED for change in changes.values()),
        worst=changes[worst],
        worst_session=worst,
        tokens=total(lambda session: shipped[name, session])
        / total(lambda session: shipped[UNPRUNED.name, session]),
        extends=kept / len(consecutive) if consecutive else 1.0,
        events=(len(consecutive) - kept) / len(group),
        peak=max(call.tokens for one in group for call in one.calls),
    )
