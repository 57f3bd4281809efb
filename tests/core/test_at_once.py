"""Placeholders made at once: the plan is that of an event that makes every excerpt first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.core import event, keyed
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import COUNTERS, Chars3, Counter
from pinch_server.core.event import Order, oldest_first, uniform
from pinch_server.core.limits import Limits, Stability
from pinch_server.core.plan import Plan
from pinch_server.core.planning import plan_pruning
from pinch_server.core.sightings import read_texts
from pinch_server.core.worth import UNIT, Weighed
from tests.core.builders import Chat, round_of, said, user
from tests.core.strategies import chats, limits_of
from tests.core.walks import real_sessions


def both_ways(
    conversation: Conversation, limits: Limits, order: Order = oldest_first, counter: Counter | None = None
) -> Iterator[Plan]:
    """The plan as it is made, and as it would be step by step."""
    for is_whole in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if is_whole:
                patch.setattr(event, "omit_at_once", lambda *_: None)
            yield plan_pruning(conversation, limits, counter or Chars3(), order=order)


def backwards(results: Sequence[object], _end: int) -> event.Ranked:
    """Newest first, and the oldest left alone."""
    return event.Ranked(range(len(results) - 1, 0, -1), oldest_first([], 0).ranking)


@settings(max_examples=150, deadline=None)
@given(
    chats(),
    limits_of(),
    st.sampled_from(Stability),
    st.sampled_from([oldest_first, uniform, backwards]),
    st.sampled_from(list(COUNTERS.values())),
)
def test_the_plan_is_the_same(
    chat: Chat, limits: Limits, stability: Stability, order: Order, counter: Counter
) -> None:
    """Whatever the conversation, the limits, the order and the estimate: not one byte or number differs."""
    chosen = replace(limits, stability=stability)
    quick, slow = both_ways(Conversation(read_chat(chat)), chosen, order, counter)
    assert quick == slow


def test_the_plan_is_the_same_over_real_sessions() -> None:
    """The same at budgets from a tenth of what sessions hold to all of it."""
    for session, conversation in real_sessions(least_messages=20)[:30]:
        for budget in (8_000, 20_000, 60_000):
            quick, slow = both_ways(conversation, Limits(budget_tokens=budget))
            assert quick == slow, session


def test_excerpts_are_made_only_of_what_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that ends with so many excerpts has made a few more of them, not one for each long result."""
    made: list[str] = []
    elide_text = keyed.elide_text

    def counted(text: str, *rest: Any) -> str:
        made.append(text)
        return elide_text(text, *rest)

    monkeypatch.setattr(keyed, "elide_text", counted)
    chat = [user("go")]
    for index in range(60):
        chat += [said("m"), *round_of(f"t{index}", f"src/module_{index}.py: error {index}\n" * 300)]
    limits = Limits(budget_tokens=40_000, stability=Stability.PER_CALL)
    plan = plan_pruning(Conversation(read_chat(chat)), limits, Chars3(), order=oldest_first)
    assert plan.stats.omitted > 10
    assert plan.stats.elided > 5
    assert len(made) <= plan.stats.elided + 4


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.sampled_from("ab/_.9 \n\x1b[m\u0301\U0001f1e9é漢"), min_size=50, max_size=400),
    st.integers(8, 60),
)
def test_an_excerpt_has_the_length_that_was_told(piece: str, times: int) -> None:
    """Without making it, between how many characters an excerpt is."""
    text = piece * times

    def weigh(one: str) -> Weighed:
        found = read_texts([one])[0][0]
        return Weighed(found, found.starts * 0 + UNIT)

    told = keyed.excerpt_chars([text])
    if told is not None:
        assert told[0] <= len(keyed.elide([text], weigh)[0]) <= told[1]
