"""What a call sends again, and what its new trims changed of that."""

from dataclasses import replace

from pinch_server.core.conversation import Conversation, Message, Speaker, TextPart, ToolResult
from pinch_server.core.plan import Action, Edit, Plan, Ranking, Reason, Stats
from pinch_server.core.resending import Resending, resending

STATS = Stats(
    pruned=True,
    original_tokens=2_000,
    final_tokens=1_000,
    tokens_saved=1_000,
    summarized=1,
    elided=1,
    omitted=0,
    capped=0,
    candidates=2,
    budget_met=True,
    ranking=Ranking.UNIFORM,
)


def result(chars: int) -> Message:
    part = TextPart("x" * chars, ("content",))
    return Message(Speaker.TOOL, results=(ToolResult("c", None, is_error=False, parts=(part,)),))


def said(speaker: Speaker, chars: int) -> Message:
    return Message(speaker, fixed=("x" * chars,))


CONVERSATION = Conversation(
    (
        said(Speaker.USER, 100),
        said(Speaker.MODEL, 100),
        result(3_200),
        said(Speaker.MODEL, 100),
        result(100),
        said(Speaker.MODEL, 100),
        result(200),
    ),
    preamble=("x" * 100,),
)


def an_edit(message: int, *, is_new: bool = True) -> Edit:
    old = CONVERSATION.messages[message].results[0].parts[0]
    assert isinstance(old, TextPart)
    return Edit(
        message=message,
        block=None,
        tool="t",
        old=old,
        new="x" * 200,
        action=Action.ELIDED,
        reason=Reason.OUTSIDE_WINDOW,
        event_message=6,
        is_new=is_new,
        tokens_before=1,
        tokens_after=1,
    )


def test_all_before_the_newest_answer_had_been_sent() -> None:
    """Of 1,000 characters (800 tokens) 700 stand before the newest answer and 300 before the trim."""
    found = resending(CONVERSATION, Plan((an_edit(2),), STATS), 200)
    assert found == Resending(
        sent_before_tokens=200 + round(700 * 0.8), unchanged_prefix_tokens=200 + round(300 * 0.8)
    )


def test_a_trim_of_an_earlier_call_changes_nothing_now() -> None:
    """Where every trim was made before, the prefix is what had been sent."""
    found = resending(CONVERSATION, Plan((an_edit(2, is_new=False),), STATS), 200)
    assert found.unchanged_prefix_tokens is None


def test_a_trim_of_what_is_sent_for_the_first_time_breaks_no_prefix() -> None:
    """A result capped on arrival stands behind all that had been sent."""
    plan = Plan((an_edit(6),), replace(STATS, final_tokens=4_000))
    found = resending(CONVERSATION, plan, 0)
    assert found.unchanged_prefix_tokens is not None
    assert found.unchanged_prefix_tokens >= found.sent_before_tokens


def test_a_first_call_had_sent_nothing() -> None:
    """Without an answer of the model there was no call before."""
    first = Conversation((said(Speaker.USER, 10), result(100)))
    assert resending(first, Plan((), STATS), 100) == Resending(0, None)


def test_nothing_at_all_is_measured_too() -> None:
    """A conversation without a character divides by nothing."""
    assert resending(Conversation(()), Plan((), STATS), 1_000) == Resending(0, None)
