"""The sessions that pruning made dearer, or hardly cheaper, and what the history says of why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Final

from bench.economics.dollars import Pauses, call_dollars
from bench.economics.measure import CLASSES, Replayed
from bench.economics.policies import UNPRUNED
from bench.economics.rates import Rates
from bench.economics.replay import Call

_HARDLY: Final = -0.25
_LONG: Final = CLASSES[-1][2]
_LEAST: Final = "read-once"


@dataclass(frozen=True, slots=True)
class Break:
    """A call that changed what had been sent.

    Attributes:
        call: Which of the session, from 1.
        removed: What it took away, beyond what was gone already (tokens).
        rewritten: What of the call before stood behind the first change, the removed included (tokens).
        needed: How many further calls it takes to pay back.
    """

    call: int
    removed: int
    rewritten: int
    needed: float


@dataclass(frozen=True, slots=True)
class Loss:
    """One session that gained too little.

    Attributes:
        size_class: Its class by size.
        calls: How many it has.
        change: Relative change of its input dollars against no pruning.
        attainable: The same where nothing is left of what was read (`read-once`); None when not measured.
        tokens: What its last call came with (tokens).
        rest: What of that stays under `read-once`; None when not measured (tokens).
        breaks: Every call that changed what had been sent.
    """

    size_class: str
    calls: int
    change: float
    attainable: float | None
    tokens: int
    rest: int | None
    breaks: tuple[Break, ...]

    @property
    def why(self) -> str:
        """What cost it, in words."""
        late = [one for one in self.breaks if one.call + one.needed > self.calls]
        if self.change > 0 and late:
            return "; ".join(
                f"call {one.call} of {self.calls} removes {one.removed:,} tokens and writes "
                f"{one.rewritten - one.removed:,} again: that pays back in {_calls(one.needed)} calls, "
                f"{self.calls - one.call} follow"
                for one in late
            )
        first = f"first trimmed at call {self.breaks[0].call}" if self.breaks else "never trimmed"
        if self.rest is None:
            return first
        return f"{first}; {self.rest:,} of its {self.tokens:,} tokens are none that any tool gave back"


def _calls(needed: float) -> str:
    return "no number of" if needed == inf else str(ceil(max(needed, 0)))


def losses(replayed: Sequence[Replayed], policy: str, rates: Rates, pauses: Pauses) -> list[Loss]:
    """The sessions that a policy made dearer, and the long ones that it made less than a quarter cheaper."""
    calls = {(one.policy, one.session): one.calls for one in replayed}
    dollars = {key: sum(call_dollars(made, rates, key[1], pauses)) for key, made in calls.items()}
    found = list(_losses(replayed, policy, rates, calls, dollars))
    return sorted(found, key=lambda loss: (loss.size_class != _LONG, -loss.change))


def _losses(
    replayed: Sequence[Replayed],
    policy: str,
    rates: Rates,
    calls: Mapping[tuple[str, str], tuple[Call, ...]],
    dollars: Mapping[tuple[str, str], float],
) -> Iterator[Loss]:
    for one in replayed:
        if one.policy != policy:
            continue
        unpruned = dollars[UNPRUNED.name, one.session]
        change = dollars[policy, one.session] / unpruned - 1
        if change > 0 or (one.size_class == _LONG and change > _HARDLY):
            whole, least = calls[UNPRUNED.name, one.session], calls.get((_LEAST, one.session))
            yield Loss(
                size_class=one.size_class,
                calls=len(one.calls),
                change=change,
                attainable=None if least is None else dollars[_LEAST, one.session] / unpruned - 1,
                tokens=whole[-1].tokens,
                rest=None if least is None else least[-1].tokens,
                breaks=tuple(_breaks(whole, one.calls, rates)),
            )


def _breaks(whole: Sequence[Call], pruned: Sequence[Call], rates: Rates) -> Iterator[Break]:
    write, read = rates.prices.write, rates.prices.read
    for index in range(1, len(pruned)):
        call = pruned[index]
        if not call.extends:
            gone = [whole[at].tokens - pruned[at].tokens for at in (index - 1, index)]
            removed, rewritten = gone[1] - gone[0], pruned[index - 1].tokens - call.shared_tokens
            # R (w + K r) = (w - r) S, solved for K.
            paid = ((write - read) * rewritten / removed - write) / read if removed > 0 and read else inf
            yield Break(index + 1, removed, rewritten, paid)
