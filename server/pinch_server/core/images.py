"""What an image costs, by the rule of the provider that will read it, from the size its header gives."""

import base64
import binascii
import io
import math
import re
from enum import Enum
from typing import Final

import imagesize

UNKNOWN_IMAGE_TOKENS: Final = 1_600
"""What an image of unreadable size is taken to cost: near every provider's cap for one image (tokens)."""
HEADER_BYTES: Final = 96_000
"""As much of an image as is read for its size: enough for a 60 kB EXIF block, and a bound on hostile
input."""

_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+/-]{1,60}")
_NOTE: Final = re.compile(r"\[image omitted: ([0-9]+x[0-9]+ )?[A-Za-z0-9.+/-]{1,60}\]")
LONGEST_EDGE: Final = 65_535
"""The longest edge a size is believed of (pixels): what most formats can hold."""


class ImageRule(Enum):
    """Whose price an image is counted at."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height (pixels) of a base64-encoded image or a `data:` URL; None when unreadable."""
    start = 0
    if data.startswith("data:"):
        start = data.find(",") + 1
        if not data.endswith(";base64,", 0, start):
            return None
    head = data[start : start + HEADER_BYTES * 4 // 3]
    try:
        content = base64.b64decode(head[: len(head) // 4 * 4], validate=False)
        width, height = imagesize.get(io.BytesIO(content))
    except (binascii.Error, ValueError, OverflowError, IndexError, TypeError):
        return None
    is_plausible = 0 < width <= LONGEST_EDGE and 0 < height <= LONGEST_EDGE
    return (int(width), int(height)) if is_plausible else None


def image_tokens(size: tuple[int, int] | None, rule: ImageRule, *, low_detail: bool = False) -> int:
    """What one image costs.

    Formulas: OpenAI's tiles for gpt-4o, 4.1 and 5 (85 for low detail; else fit into 2,048 squared, short
    side to 768, 85 + 170 for each tile of 512); Anthropic's patches of 28 pixels after fitting the long edge
    into 1,568, at most 1,568; Gemini's 258 up to 384 pixels a side, else 258 for each tile of 768.

    Args:
        size: Width and height (pixels), or None when unknown.
        rule: Whose price applies.
        low_detail: Whether the request asks for OpenAI's low detail.

    Returns:
        Tokens.
    """
    if rule is ImageRule.OPENAI and low_detail:
        return 85
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    width, height = size
    if rule is ImageRule.OPENAI:
        fit = min(1.0, 2048 / max(width, height))
        fit *= min(1.0, 768 / (min(width, height) * fit))
        return 85 + 170 * math.ceil(width * fit / 512) * math.ceil(height * fit / 512)
    if rule is ImageRule.ANTHROPIC:
        fit = min(1.0, 1568 / max(width, height))
        return min(1568, math.ceil(width * fit / 28) * math.ceil(height * fit / 28))
    if max(width, height) <= 384:
        return 258
    return 258 * math.ceil(width / 768) * math.ceil(height / 768)


def image_description(size: tuple[int, int] | None, media_type: str) -> str:
    """The text that stands for an image that was left out."""
    kind = media_type if _MEDIA_TYPE.fullmatch(media_type) else "image"
    return f"[image omitted: {size[0]}x{size[1]} {kind}]" if size else f"[image omitted: {kind}]"


def is_image_note(text: str) -> bool:
    """Whether a text has exactly the shape of the note that stands for an image."""
    return text.startswith("[image omitted: ") and len(text) <= 120 and _NOTE.fullmatch(text) is not None
