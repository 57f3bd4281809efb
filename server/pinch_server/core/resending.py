"""What a call sends again, and how much of that its new trims changed: the ground of induced cache writes.

A provider's cache gives back a prompt up to its first difference from the one before. All that stands before
the model's newest answer had been sent by an earlier call; from the first message on that is newly trimmed,
the cache no longer fits. Sizes are shares of the whole by characters: near enough, and free.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pinch_server.core.conversation import Conversation, Speaker, TextPart, text_chars
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


@dataclass(frozen=True, slots=True)
class Removed:
    """What edits take away, before each message.

    Attributes:
        messages: The messages of the edits, ascending.
        chars: The characters taken away before each of them, and by all.
    """

    messages: Sequence[int]
    chars: Sequence[int]

    def before(self, message: int) -> int:
        """The characters taken away before a message."""
        return self.chars[bisect_left(self.messages, message)]


def removed_by(edits: Sequence[Edit]) -> Removed:
    """What edits take away, given in the order of the conversation."""
    sizes = (len(e.old.text) - len(e.new) if isinstance(e.old, TextPart) else 0 for e in edits)
    return Removed([edit.message for edit in edits], list(accumulate(sizes, initial=0)))


def resending(
    conversation: Conversation,
    plan: Plan,
    fixed_tokens: int,
    chars: Sequence[int] | None = None,
    removed: Removed | None = None,
) -> Resending:
    """Measures what a pruned conversation sends again.

    Args:
        conversation: The whole history, untrimmed.
        plan: What is trimmed of it.
        fixed_tokens: What ships beside the messages, and is part of the plan's sizes (tokens).
        chars: The characters that came before each message and before the end; None to count them.
        removed: What the edits take away; None to count it.
    """
    messages = conversation.messages
    if chars is None:
        chars = list(accumulate(map(text_chars, messages), initial=0))
    preamble = sum(map(len, conversation.preamble))
    away = removed or removed_by(plan.edits)

    def shipped_before(message: int) -> int:
        return preamble + chars[message] - away.before(message)

    per_char = (plan.stats.final_tokens - fixed_tokens) / max(shipped_before(len(messages)), 1)

    def tokens_before(message: int) -> int:
        return fixed_tokens + round(shipped_before(message) * per_char)

    answers = (
        index for index in range(len(messages) - 1, -1, -1) if messages[index].speaker is Speaker.MODEL
    )
    newest = next(answers, None)
    new = min((edit.message for edit in plan.edits if edit.is_new), default=None)
    return Resending(
        0 if newest is None else tokens_before(newest), None if new is None else tokens_before(new)
    )
