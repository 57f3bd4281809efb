"""How far a replay had come: what makes the next call of a session cost only what is new in it.

A checkpoint is a cache and nothing else. It is found by a digest of everything the plan up to its point
depends on, so a plan with it is the plan without it; losing one costs time.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pinch_server.core.conversation import ImagePart, Message
from pinch_server.core.ledger import OPENED, Ledger
from pinch_server.core.plan import Action, Reason
from pinch_server.core.trimming import Step


@dataclass(frozen=True, slots=True)
class TrimmedResult:
    """What had become of one result.

    Attributes:
        index: Its index among the results of the conversation.
        texts: Its texts as they stood.
        units: What those texts count (units).
        step: How far it had been trimmed.
        action: What was done last.
        reason: Why.
        event_message: Where that was decided.
        is_without_images: Whether its images had become notes.
    """

    index: int
    texts: tuple[str, ...]
    units: int
    step: Step
    action: Action
    reason: Reason
    event_message: int
    is_without_images: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a replay stood when it had passed one call point.

    Attributes:
        trimmed: Every result that had been trimmed.
        ledger: What the calls so far cost.
    """

    trimmed: tuple[TrimmedResult, ...]
    ledger: Ledger = OPENED

    @property
    def chars(self) -> int:
        """The characters it holds, for whoever bounds a store of them."""
        return sum(len(text) for result in self.trimmed for text in result.texts)


class Checkpoints(Protocol):
    """A bounded store of checkpoints, safe to share between threads."""

    def get(self, key: bytes) -> Checkpoint | None:
        """The checkpoint of this key, or None."""
        ...

    def put(self, key: bytes, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint for as long as there is room."""
        ...


def checkpoint_keys(messages: Sequence[Message], points: Iterable[int], rules: str) -> list[bytes]:
    """The key of each call point: a digest of the rules and of all that stands before the point.

    Args:
        messages: The whole history.
        points: Call points, ascending.
        rules: Everything else a plan depends on, in one text.

    Returns:
        32 bytes for each point.
    """
    digest = hashlib.sha256(rules.encode())
    keys: list[bytes] = []
    done = 0
    for point in points:
        for message in messages[done:point]:
            digest.update(_outline(message).encode("utf-8", "surrogatepass"))
            for text in _texts(message):
                digest.update(text.encode("utf-8", "surrogatepass"))
        done = point
        keys.append(digest.digest())
    return keys


def _texts(message: Message) -> Iterable[str]:
    yield from message.fixed
    for result in message.results:
        for part in result.parts:
            yield part.description if isinstance(part, ImagePart) else part.text


def _outline(message: Message) -> str:
    """All of a message that is not text, and the length of each text, so that no two messages read alike."""
    results = [
        (
            result.call_id,
            result.tool,
            result.is_error,
            [
                (type(part).__name__, part.tokens, part.address is None)
                if isinstance(part, ImagePart)
                else (type(part).__name__, len(part.text))
                for part in result.parts
            ],
        )
        for result in message.results
    ]
    calls = [(call.id, call.name) for call in message.calls]
    return repr(
        (
            message.speaker.value,
            message.is_turn,
            message.image_tokens,
            list(map(len, message.fixed)),
            calls,
            results,
        )
    )
