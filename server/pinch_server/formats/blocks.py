"""What the block-shaped dialects have in common: JSON leaves, base64 images, names."""

from typing import Any, Final

from pinch_server.core.chat import json_text
from pinch_server.core.conversation import Address, OpaquePart, Part, TextPart
from pinch_server.core.images import ImageRule, image_description, image_size, image_tokens

_SPLIT: Final = (str, dict, list)
MOST_STEPS: Final = 1_000_000
"""Strings of one JSON result times their depth, as far as they are read one by one."""
MOST_DEPTH: Final = 400
"""Levels of one JSON result that are read; fewer than the interpreter's own stack allows."""


def text_or_none(value: Any) -> str | None:
    """A string that says something, or None."""
    return value if isinstance(value, str) and value else None


def base64_image(data: Any, media_type: Any, rule: ImageRule) -> tuple[int, str]:
    """Tokens and description of an image given as base64; of unknown size when it is not."""
    size = image_size(data) if isinstance(data, str) else None
    kind = media_type if isinstance(media_type, str) else "image"
    return image_tokens(size, rule), image_description(size, kind)


def leaf_parts(value: Any, address: Address) -> tuple[Part, ...]:
    """The string leaves of a JSON value as texts that may be trimmed, and the rest of it as one opaque part.

    Keys, numbers and the structure stay as they are; they count as the JSON with its strings left empty. A
    value of very many strings, or nested very deep, is one opaque part: it is not worth what reading it
    costs.
    """
    texts: list[Part] = []
    try:
        rest = _split(value, address, texts, len(address) + MOST_DEPTH)
    except _TooMuchError:
        return (OpaquePart(json_text(value)),)
    return (*texts, OpaquePart(json_text(rest)))


class _TooMuchError(Exception):
    """A JSON value has more strings or levels than are read one by one."""


def _split(value: Any, address: Address, texts: list[Part], deepest: int) -> Any:
    """Adds the string leaves to `texts`; gives the value with its strings left empty."""
    if len(address) > deepest or len(texts) * len(address) > MOST_STEPS:
        raise _TooMuchError
    if isinstance(value, str):
        texts.append(TextPart(value, address, len(texts)))
        return ""
    if isinstance(value, dict):
        members = value.items()
        return {
            k: _split(v, (*address, k), texts, deepest) if isinstance(v, _SPLIT) else v for k, v in members
        }
    if isinstance(value, list):
        items = enumerate(value)
        return [_split(v, (*address, k), texts, deepest) if isinstance(v, _SPLIT) else v for k, v in items]
    return value
