"""How much of a session's previous payload a payload repeats, told by hashes alone."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Rows:
    """Many messages as they came, end to end.

    Attributes:
        digests: One digest for each message.
        upto: About the characters before each message and before the end.
    """

    digests: bytearray = field(default_factory=bytearray)
    upto: "array[int]" = field(default_factory=lambda: array("q", (0,)))

    def __len__(self) -> int:
        """The number of messages."""
        return len(self.upto) - 1

    def first(self, length: int) -> "Rows":
        """The rows of the first `length` messages, of which no more than these need be known."""
        return Rows(self.digests[: length * _DIGEST_BYTES], self.upto[: length + 1])

    def extend(self, messages: Iterable[Message]) -> None:
        """Takes in further messages."""
        for message in messages:
            digest, weight = row_of(message)
            self.digests += digest
            self.upto.append(self.upto[-1] + weight)


def row_of(message: Message, new_texts: Mapping[int, str] = MappingProxyType({})) -> Row:
    """A message as it ships.

    Args:
        message: The message, untrimmed.
        new_texts: The text that ships in the place of a part, by the `id` of the part.
    """
    texts = list(_shipped(message, new_texts))
    weight = sum(map(len, texts)) + CHARS_PER_TOKEN * _image_tokens(message, new_texts)
    return _digest([message.speaker.value, *map(_answered, message.results), *texts]), weight


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The messages that a plan changes, as they ship: worked out once for all calls that have the same plan.

    Attributes:
        indices: Their indices, rising.
        places: Where the digest of each stands among those of all messages, and what it is.
        upto: What the first so many add to the weight; less than nothing, as a rule.
    """

    indices: tuple[int, ...]
    places: tuple[tuple[slice, bytes], ...]
    upto: tuple[int, ...]


def trimmed_rows(messages: Sequence[Message], edits: Sequence[Edit], rows: Rows) -> Trimmed:
    """The messages that are changed, as they ship.

    Args:
        messages: The whole history, untrimmed.
        edits: What is changed in it.
        rows: The messages as they came.
    """
    new_texts = {id(edit.old): edit.new for edit in edits}
    indices = sorted({edit.message for edit in edits})
    shipped = [row_of(messages[index], new_texts) for index in indices]
    upto = rows.upto
    changes = (
        weight - (upto[index + 1] - upto[index]) for index, (_, weight) in zip(indices, shipped, strict=True)
    )
    places = (
        (slice(index * _DIGEST_BYTES, (index + 1) * _DIGEST_BYTES), digest)
        for index, (digest, _) in zip(indices, shipped, strict=True)
    )
    return Trimmed(tuple(indices), tuple(places), tuple(accumulate(changes, initial=0)))


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
    rows = Rows()
    rows.extend(conversation.messages)
    return compare_rows(
        head_of(conversation),
        rows,
        trimmed_rows(conversation.messages, edits, rows),
        previous,
        final_tokens=final_tokens,
        fixed_tokens=fixed_tokens,
    )


def compare_rows(
    head: bytes,
    rows: Rows,
    trimmed: Trimmed,
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
    digests = rows.digests[:]
    for place, digest in trimmed.places:
        digests[place] = digest
    payload = Payload(head, bytes(digests), rows.upto[-1] + trimmed.upto[-1])
    if previous is None:
        return payload, PrefixMatch()
    matching = _common(payload, previous) if head == previous.head else 0
    before = rows.upto[matching] + trimmed.upto[bisect_left(trimmed.indices, matching)]
    same_head = fixed_tokens if head == previous.head else 0
    tokens = same_head + round(before * (final_tokens - fixed_tokens) / max(payload.weight, 1))
    share = before / previous.weight if previous.weight else float(head == previous.head)
    return payload, PrefixMatch(previous.messages, matching, tokens, share)


def _common(one: Payload, other: Payload) -> int:
    """How many messages stand alike at the start of two payloads."""
    low, high = 0, min(one.messages, other.messages)
    end = high
    while low < high:
        if one.digests[: end * _DIGEST_BYTES] == other.digests[: end * _DIGEST_BYTES]:
            low = end
        else:
            high = end - 1
        end = (low + high + 1) // 2
    return low


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
