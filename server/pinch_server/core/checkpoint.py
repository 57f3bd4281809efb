"""How far a replay had come: what makes the next call of a session cost only what is new in it.

A checkpoint is a cache and nothing else. It is found by a digest of everything the plan up to its point
depends on, so a plan with it is the plan without it; losing one costs time.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
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
        action: What was done last; None where its own shape says that it came trimmed.
        reason: Why.
        event_message: Where that was decided.
        images_event: Where it was decided that its images become notes; None where they were images.
        images_reason: Why.
    """

    index: int
    texts: tuple[str, ...]
    units: int
    step: Step
    action: Action | None
    reason: Reason
    event_message: int
    images_event: int | None
    images_reason: Reason = Reason.OUTSIDE_WINDOW


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a replay stood when it had passed one call point.

    Attributes:
        trimmed: Every result that had been trimmed, or was found to be so by its shape.
        ledger: What the calls so far cost.
        chars: The characters it holds, for whoever bounds a store of them.
    """

    trimmed: tuple[TrimmedResult, ...]
    ledger: Ledger = OPENED
    chars: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chars", sum(len(text) for done in self.trimmed for text in done.texts))


class Checkpoints(Protocol):
    """A bounded store of checkpoints, safe to share between threads."""

    def get(self, key: bytes) -> Checkpoint | None:
        """The checkpoint of this key, or None."""
        ...

    def put(self, key: bytes, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint for as long as there is room."""
        ...


def history_digest(before: bytes, message: Message) -> bytes:
    """The digest of a history with one more message, 32 bytes.

    Args:
        before: The digest of the history before that message.
        message: The message.
    """
    digest = hashlib.sha256(before)
    digest.update(_outline(message).encode("utf-8", "surrogatepass"))
    for text in _texts(message):
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def checkpoint_key(history: bytes, rules: str) -> bytes:
    """The key of a call point, 32 bytes.

    Args:
        history: The digest of all that stands before the point.
        rules: Everything else a plan depends on, in one text.
    """
    return hashlib.sha256(history + rules.encode()).digest()


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
