"""Events that have to be worth their price: the economic trigger and the ledger, held against plain sums."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation
from pinch_server.core.counting import Chars3
from pinch_server.core.event import Order, Ranked, oldest_first, uniform
from pinch_server.core.ledger import pays_back
from pinch_server.core.limits import Limits, Trigger
from pinch_server.core.plan import Ranking
from pinch_server.core.planning import begun_draft, form_at
from pinch_server.core.prospect import Prospect
from pinch_server.core.replay import Replay
from tests.core.builders import Chat, round_of, said, user
from tests.core.strategies import chats, limits_of
from tests.core.walks import real_sessions, shipped_sizes, walk

ECONOMIC = Limits(trigger=Trigger.ECONOMIC)
CACHES = {
    "sonnet": ECONOMIC,
    "deepseek": replace(ECONOMIC, cache_write_multiplier=1.0, cache_read_multiplier=0.033),
    "few calls": replace(ECONOMIC, cache_expected_calls=6, budget_tokens=100_000, target_tokens=10_000),
    "reads cost more": replace(ECONOMIC, cache_write_multiplier=0.5, cache_read_multiplier=1.0),
}


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.integers(0, 500),
    st.sampled_from([(1.25, 0.1), (2.0, 0.1), (1.0, 0.033), (1.0, 0.5), (0.0, 0.0), (0.5, 1.0)]),
)
def test_the_rule(removed: int, behind: int, calls: int, cache: tuple[float, float]) -> None:
    """An event pays when R (w + K r) > (w - r) S, exactly, up to the last digit of the sums."""
    write, read = map(Fraction, cache)
    limits = Limits(
        cache_write_multiplier=cache[0], cache_read_multiplier=cache[1], cache_expected_calls=calls
    )
    earned, paid = removed * (write + calls * read), (write - read) * behind
    if abs(earned - paid) > Fraction(1, 10**6):
        assert pays_back(limits, removed, behind) is (earned > paid)


@pytest.mark.parametrize("name", CACHES)
def test_every_event_of_a_real_session_pays(name: str) -> None:
    """Below the budget, what each event removed and had written again, counted anew, keeps the rule."""
    limits = CACHES[name]
    write, read = Fraction(limits.cache_write_multiplier), Fraction(limits.cache_read_multiplier)
    held = 0
    for session, conversation in real_sessions(least_messages=20):
        messages = conversation.messages
        for before, now in pairwise(walk(conversation, limits)):
            came = before.final_tokens + now.whole_tokens - before.whole_tokens
            changed = [edit.message for edit in now.edits if edit.is_new and edit.message < before.end]
            if not changed or came > limits.budget_tokens:
                continue
            first, removed = min(changed), came - now.final_tokens
            behind = sum(shipped_sizes(messages[: before.end], before.edits)[first:])
            earned = removed * (write + limits.cache_expected_calls * read)
            assert earned > (write - read) * behind, session
            held += 1
    assert held > 0


def planned(
    conversation: Conversation, limits: Limits, order: Order = oldest_first
) -> list[tuple[object, int]]:
    """What ships at every call of a session, and its size."""
    draft = begun_draft(conversation, Chars3(), 0)
    replay = Replay(conversation.messages, draft, limits, form_at(conversation, draft, limits), order)
    return [(tuple(draft.edits(end)), draft.total) for end in replay.points()]


@settings(max_examples=60, deadline=None)
@given(
    chats(),
    limits_of(),
    st.sampled_from([None, 0.0, 0.02]),
    st.sampled_from(Trigger),
    st.sampled_from([0, 3, 20]),
    st.sampled_from([(1.25, 0.1), (1.0, 0.5), (0.5, 1.0), (0.0, 0.0)]),
    st.sampled_from(
        [oldest_first, uniform, lambda results, _end: Ranked(range(len(results) - 1, -1, -1), Ranking.COSINE)]
    ),
)
def test_giving_up_early_decides_nothing(
    chat: Chat,
    limits: Limits,
    share: float | None,
    trigger: Trigger,
    calls: int,
    cache: tuple[float, float],
    order: Order,
) -> None:
    """What is given up at its first change is what would have been taken back after all of them."""
    chosen = replace(
        limits,
        ledger_share=share,
        trigger=trigger,
        cache_expected_calls=calls,
        cache_write_multiplier=cache[0],
        cache_read_multiplier=cache[1],
    )
    conversation = Conversation(read_chat(chat))
    quickly = planned(conversation, chosen, order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prospect, "is_in_vain", lambda *_: False)
        assert planned(conversation, chosen, order) == quickly


def test_giving_up_early_decides_nothing_in_real_sessions() -> None:
    """The same over real sessions, where most events that are tried do not pay."""
    for session, conversation in real_sessions(least_messages=60)[:12]:
        for limits in (CACHES["few calls"], replace(ECONOMIC, ledger_share=0.0, budget_tokens=20_000)):
            quickly = planned(conversation, limits)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Prospect, "is_in_vain", lambda *_: False)
                assert planned(conversation, limits) == quickly, session


def test_a_result_is_made_anew_only_when_its_identifiers_changed() -> None:
    """Of the same texts and worth the form is asked once; said since, an identifier makes it ask again."""
    chat = [user("go"), *round_of("ls", "src/app.py worker-3 " * 40), said("look at src/app.py"), user("on")]
    conversation = Conversation(read_chat(chat))
    draft = begun_draft(conversation, Chars3(), 0)
    form_of = form_at(conversation, draft, replace(ECONOMIC, placeholder_chars=40))
    texts = draft.results[0].originals
    first = form_of(3).omit("ls", texts)
    assert form_of(3).omit("ls", texts) is first
    later = form_of(5).omit("ls", texts)
    assert "src/app.py" in first[0]
    assert "src/app.py" not in later[0]
    plain = form_at(conversation, draft, Limits(placeholder_chars=40))
    assert plain(5).omit("ls", texts) == later
