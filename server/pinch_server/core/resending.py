"""What a call sends again, and how much of that its new trims changed: the ground of induced cache writes.

A provider's cache gives back a prompt up to its first difference from the one before. All that stands before
the model's newest answer had been sent by an earlier call; from the first message on that is newly trimmed,
the cache no longer fits. Sizes are shares of the whole by characters: near enough, and free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pinch_server.core.conversation import Conversation, Message, OpaquePart, Speaker, TextPart
from pinch_server.core.plan import Edit, Plan


@dataclass(frozen=True, slots=True)
class Resending:
    """Sizes of what ships, tool definitions and the like included.

    Attributes:
        sent_before_tokens: What an earlier call had sent: all before the model's newest answer (tokens).
        unchanged_prefix_tokens: What stands before the first message that was trimmed for the first time
            (tokens); None when none was.
    """

    sent_before_tokens: int
    unchanged_prefix_tokens: int | None


def resending(conversation: Conversation, plan: Plan, fixed_tokens: int) -> Resending:
    """Measures what a pruned conversation sends again.

    Args:
        conversation: The whole history, untrimmed.
        plan: What is trimmed of it.
        fixed_tokens: What ships beside the messages, and is part of the plan's sizes (tokens).
    """
    messages = conversation.messages
    before = _chars_before(messages, plan.edits, sum(map(len, conversation.preamble)))
    per_char = (plan.stats.final_tokens - fixed_tokens) / max(before[-1], 1)

    def tokens_before(message: int) -> int:
        return fixed_tokens + round(before[message] * per_char)

    answers = (
        index for index in range(len(messages) - 1, -1, -1) if messages[index].speaker is Speaker.MODEL
    )
    newest = next(answers, None)
    new = min((edit.message for edit in plan.edits if edit.is_new), default=None)
    return Resending(
        0 if newest is None else tokens_before(newest), None if new is None else tokens_before(new)
    )


def _chars_before(messages: Sequence[Message], edits: Sequence[Edit], preamble: int) -> list[int]:
    """The characters that ship before each message, and at last before the end."""
    chars = list(map(_chars, messages))
    for edit in edits:
        if isinstance(edit.old, TextPart):
            chars[edit.message] -= len(edit.old.text) - len(edit.new)
    return list(accumulate(chars, initial=preamble))


def _chars(message: Message) -> int:
    return sum(map(len, message.fixed)) + sum(
        len(part.text)
        for result in message.results
        for part in result.parts
        if isinstance(part, TextPart | OpaquePart)
    )
