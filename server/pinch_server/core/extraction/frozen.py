"""What was made of a content once, and is sent again as it was."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ACCEPTED: Final = "accepted"
"""The reason of a text that passed every check."""
_SCHEMA: Final = "p1"


@dataclass(frozen=True, slots=True)
class FrozenText:
    """What a filter left of one content.

    Attributes:
        text: What may be sent in its place; None where it was refused.
        reason: `accepted`, or why it was refused, as a slug.
    """

    text: str | None
    reason: str = ACCEPTED


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write a text, for a while.

    Attributes:
        row: Names it where it is kept.
        since: When it was made, or the other's that is in its way (microseconds since the Unix epoch).
        holds: Whether it holds: else another is in its way.
    """

    row: bytes
    since: int
    holds: bool


@dataclass(frozen=True, slots=True)
class Settled:
    """In which forms results are sent.

    Attributes:
        forms: For each key a text, or None for the elision.
        new: The keys that nobody had settled before.
    """

    forms: Mapping[bytes, str | None]
    new: frozenset[bytes] = frozenset()


def content_id(text: str) -> str:
    """A name of a content, 64 hexadecimal digits: of its very characters, since what is sent quotes them."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_key(
    tenant: str, prompt_version: str, model: str, content: str, fingerprint: str, *, origin: str = ""
) -> bytes:
    """The key of a frozen text, 32 bytes.

    Args:
        tenant: Whose it is: tenants share nothing.
        prompt_version: Names the prompts and the meaning of the checks.
        model: The model that wrote the filter.
        content: The content, by `content_id`.
        fingerprint: Every setting that shapes a result.
        origin: The session that it is for alone; empty for any of the tenant's.
    """
    return _key("text", tenant, prompt_version, model, content, fingerprint, origin)


def form_key(tenant: str, history: bytes, place: int) -> bytes:
    """The key of the form in which a result of a history is sent, 32 bytes.

    Args:
        tenant: Whose it is.
        history: The digest of the history up to and with the result's message.
        place: The result's number among those of the message.
    """
    return _key("form", tenant, history.hex(), str(place))


def _key(*parts: str) -> bytes:
    digest = hashlib.sha256()
    for part in (_SCHEMA, *parts):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.digest()
