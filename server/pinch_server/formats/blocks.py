"""What the block-shaped dialects have in common: JSON leaves, base64 images, names."""

from collections.abc import Iterator, Mapping
from typing import Any

from pinch_server.core.chat import json_text
from pinch_server.core.conversation import Address, OpaquePart, Part, TextPart
from pinch_server.core.images import ImageRule, image_description, image_size, image_tokens


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

    Keys, numbers and the structure stay as they are; they count as the JSON with its strings left empty.
    """
    texts = tuple(
        TextPart(text, where, index) for index, (text, where) in enumerate(_string_leaves(value, address))
    )
    return (*texts, OpaquePart(json_text(_without_strings(value))))


def _without_strings(value: Any) -> Any:
    if isinstance(value, str):
        return ""
    if isinstance(value, Mapping):
        return {key: _without_strings(below) for key, below in value.items()}
    return [_without_strings(below) for below in value] if isinstance(value, list) else value


def _string_leaves(value: Any, address: Address) -> Iterator[tuple[str, Address]]:
    if isinstance(value, str):
        yield value, address
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _string_leaves(below, (*address, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _string_leaves(below, (*address, index))
