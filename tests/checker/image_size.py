"""Width and height from an image's first bytes, and what providers charge for them.

Only headers are read: PNG, GIF, JPEG, WebP and BMP. Whatever else is unreadable.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

from tests.checker.json_tokens import Node

UNREADABLE_TOKENS = 1600
"""What an image costs whose size nobody can read."""
_HEADER_BYTES = 96_000
_DATA_URL = re.compile(r"data:[^,]*;base64,")
Size = tuple[int, int]


def read_size(data: bytes) -> Size | None:
    """Pixels as (width, height), or None when the header is not understood."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24:
        size = (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    elif data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        size = (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    elif data[:2] == b"BM" and len(data) >= 26:
        height = int.from_bytes(data[22:26], "little", signed=True)
        size = (int.from_bytes(data[18:22], "little"), abs(height))
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        size = _webp(data)
    elif data[:2] == b"\xff\xd8":
        size = _jpeg(data)
    else:
        return None
    return size if size[0] > 0 and size[1] > 0 else None


def _webp(data: bytes) -> Size:
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = int.from_bytes(data[26:28], "little"), int.from_bytes(data[28:30], "little")
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(data: bytes) -> Size:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF:
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


def block_size(block: Node) -> Size | None:
    """The size of an image block of any dialect; None for a link, a broken base64 or an unknown header."""
    encoded = _encoded(block)
    if encoded is None:
        return None
    try:
        head = re.sub(r"\s", "", encoded[: _HEADER_BYTES // 3 * 4])
        return read_size(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None


def _encoded(block: Node) -> str | None:
    """The base64 text that an image block carries, wherever its dialect keeps it."""
    url = block.get("image_url")
    address = url.text if url is not None and url.kind == "string" else url.string("url") if url else None
    if address is not None:
        found = _DATA_URL.match(address)
        return address[found.end() :] if found else None
    for key in ("inlineData", "inline_data"):
        inline = block.get(key)
        if inline is not None:
            return inline.string("data")
    image = block.get("image") or block
    source = image.get("source")
    if source is None:
        return None
    return source.string("data") or source.string("bytes")


def is_low_detail(block: Node) -> bool:
    """Whether the request asks for OpenAI's cheap reading of this image."""
    url = block.get("image_url")
    return "low" in (block.string("detail"), url.string("detail") if url is not None else None)


def tokens(size: Size | None, format: str, *, low_detail: bool = False) -> int:
    """What the provider of a dialect charges: OpenAI's 512 tiles, Anthropic's patches, Gemini's 768 tiles."""
    is_openai = format in ("openai-chat", "openai-responses")
    if is_openai and low_detail:
        return 85
    if size is None:
        return UNREADABLE_TOKENS
    width, height = map(float, size)
    if is_openai:
        fit = min(1.0, 2048 / max(width, height))
        width, height = width * fit, height * fit
        fit = min(1.0, 768 / min(width, height))
        return 85 + 170 * math.ceil(width * fit / 512) * math.ceil(height * fit / 512)
    if format == "gemini":
        if width <= 384 and height <= 384:
            return 258
        return 258 * math.ceil(width / 768) * math.ceil(height / 768)
    fit = min(1.0, 1568 / max(width, height))
    return min(1568, math.ceil(width * fit / 28) * math.ceil(height * fit / 28))
