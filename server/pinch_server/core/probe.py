"""How much of a session's previous payload a payload repeats, told by hashes alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Final, TypeAlias

from pinch_server.core.conversation import Conversation, ImagePart, Message, ToolResult
from pinch_server.core.counting import CHARS_PER_TOKEN
from pinch_server.core.plan import Edit

_DIGEST_BYTES: Final = 8
_MASK: Final = 2 ** (8 * _DIGEST_BYTES) - 1


@dataclass(frozen=True, slots=True)
class Payload:
    """What one call ships, as far as the next one needs to know it.

    Attributes:
        head: Digest of what ships before the messages.
        digests: One digest for each message, end to end.
        weight: About the characters of all messages.
    """

    head: bytes
    digests: bytes
    weight: int

    @property
    def messages(self) -> int:
        """The number of its messages."""
        return len(self.digests) // _DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class PrefixMatch:
    """A payload against the one before it in its session.

    Attributes:
        previous_messages: Messages in the previous payload; 0 when there was none.
        matching_messages: Messages from the start that are the same in both.
        matching_tokens: The size before the first difference (tokens).
        share: How much of the previous payload stands unchanged at the start of this one (0 to 1); None
            when there was none.
    """

    previous_messages: int = 0
    matching_messages: int = 0
    matching_tokens: int = 0
    share: float | None = None


Row: TypeAlias = tuple[bytes, int]
"""A message as it ships: the digest of its texts, and about their characters."""


def row_of(message: Message, new_texts: Mapping[int, str] = MappingProxyType({})) -> Row:
    """A message as it ships.

    Args:
        message: The message, untrimmed.
        new_texts: The text that ships in the place of a part, by the `id` of the part.
    """
    texts = list(_shipped(message, new_texts))
    weight = sum(map(len, texts)) + CHARS_PER_TOKEN * _image_tokens(message, new_texts)
    return _digest([message.speaker.value, *map(_answered, message.results), *texts]), weight


def trimmed_rows(messages: Sequence[Message], edits: Sequence[Edit]) -> dict[int, Row]:
    """The messages that are changed, by their index, as they ship."""
    new_texts = {id(edit.old): edit.new for edit in edits}
    return {index: row_of(messages[index], new_texts) for index in {edit.message for edit in edits}}


def head_of(conversation: Conversation) -> bytes:
    """The digest of what ships before the messages."""
    return _digest((*conversation.tools, "", *conversation.preamble))


def compare(
    conversation: Conversation,
    edits: Sequence[Edit],
    previous: Payload | None,
    *,
    final_tokens: int,
    fixed_tokens: int,
) -> tuple[Payload, PrefixMatch]:
    """Compares what ships with the payload before it: `compare_rows`, of messages as they are.

    Args:
        conversation: The whole history, untrimmed.
        edits: What is changed in it.
        previous: The previous payload of the session; None when it is not known.
        final_tokens: The size that ships, fixed tokens included (tokens).
        fixed_tokens: What of it stands beside the messages (tokens).
    """
    return compare_rows(
        head_of(conversation),
        list(map(row_of, conversation.messages)),
        trimmed_rows(conversation.messages, edits),
        previous,
        final_tokens=final_tokens,
        fixed_tokens=fixed_tokens,
    )


def compare_rows(
    head: bytes,
    rows: Sequence[Row],
    trimmed: Mapping[int, Row],
    previous: Payload | None,
    *,
    final_tokens: int,
    fixed_tokens: int,
) -> tuple[Payload, PrefixMatch]:
    """Compares what ships with the payload before it.

    Args:
        head: The digest of what ships before the messages.
        rows: Every message as it came.
        trimmed: Those that are changed, as they ship.
        previous: The previous payload of the session; None when it is not known.
        final_tokens: The size that ships, fixed tokens included (tokens).
        fixed_tokens: What of it stands beside the messages (tokens).

    Returns:
        This payload, to be kept for the next call, and how it matches.
    """
    shipped = list(rows)
    for index, row in trimmed.items():
        shipped[index] = row
    weights = [weight for _, weight in shipped]
    payload = Payload(head, b"".join([digest for digest, _ in shipped]), sum(weights))
    if previous is None:
        return payload, PrefixMatch()
    matching = _common(payload, previous) if head == previous.head else 0
    before = list(accumulate(weights, initial=0))[matching]
    same_head = fixed_tokens if head == previous.head else 0
    tokens = same_head + round(before * (final_tokens - fixed_tokens) / max(payload.weight, 1))
    share = before / previous.weight if previous.weight else float(head == previous.head)
    return payload, PrefixMatch(previous.messages, matching, tokens, share)


def _common(one: Payload, other: Payload) -> int:
    most = min(one.messages, other.messages)
    if one.digests[: most * _DIGEST_BYTES] == other.digests[: most * _DIGEST_BYTES]:
        return most
    for index in range(most):
        place = slice(index * _DIGEST_BYTES, (index + 1) * _DIGEST_BYTES)
        if one.digests[place] != other.digests[place]:
            return index
    return most


def _digest(texts: Sequence[str]) -> bytes:
    """A digest that holds within this process, which is as long as payloads are remembered.

    The interpreter's own hash of strings is keyed anew in every process, and faster than any that is not.
    """
    return (hash(tuple(texts)) & _MASK).to_bytes(_DIGEST_BYTES)


def _shipped(message: Message, new_texts: Mapping[int, str]) -> Iterator[str]:
    """Every text of a message as it ships."""
    yield from message.fixed
    for result in message.results:
        for part in result.parts:
            # No text ships as an image does, not even the one that takes its place.
            known = f"\0{part.description}" if isinstance(part, ImagePart) else part.text
            yield new_texts.get(id(part), known)


def _answered(result: ToolResult) -> str:
    """The id of the call that a result answers, which ships with it."""
    return result.call_id or ""


def _image_tokens(message: Message, new_texts: Mapping[int, str]) -> int:
    parts = (part for result in message.results for part in result.parts)
    return message.image_tokens + sum(
        part.tokens for part in parts if isinstance(part, ImagePart) and id(part) not in new_texts
    )
