"""Images: counted by their pixels, replaced by a text where the dialect has one, never lost in silence."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace
from typing import Any

import pytest

from pinch_server.core.images import (
    HEADER_BYTES,
    UNKNOWN_IMAGE_TOKENS,
    ImageRule,
    image_description,
    image_size,
    image_tokens,
    is_image_note,
)
from tests.checker.check import check
from tests.checker.samples import BUILD, PNG, raw
from tests.formats.bodies import TIGHT, prune


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def jpeg(exif: int, width: int = 320, height: int = 240) -> bytes:
    """A JPEG header behind `exif` bytes of metadata, in segments of at most 65,533."""
    segments = b""
    while exif > 0:
        size = min(exif, 65_533)
        segments += b"\xff\xe1" + struct.pack(">H", size + 2) + bytes(size)
        exif -= size
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(20)
    return b"\xff\xd8" + segments + frame


@pytest.mark.parametrize("exif", [0, 100, 60_000, 90_000])
def test_a_size_behind_metadata_is_read(exif: int) -> None:
    """A JPEG's size is found behind as much EXIF as fits into the first 96 kB."""
    assert image_size(encoded(jpeg(exif))) == (320, 240)


def test_a_size_beyond_the_header_is_unknown() -> None:
    """What would have to be read further than 96 kB counts as unreadable, and costs the provider's most."""
    assert image_size(encoded(jpeg(HEADER_BYTES + 1))) is None
    assert image_tokens(None, ImageRule.OPENAI) == UNKNOWN_IMAGE_TOKENS


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\xff\xd8",
        b"\xff\xd8" + b"\xff\xe1\x00\x00" * 30_000,
        b"\xff\xd8" + b"\xff\xe1\x00\x02" * 30_000,
        b"\xff\xd8" + b"\xff" * 90_000,
        b"\xff\xd8" + b"\x00" * 90_000,
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n" + bytes(90_000),
        b"GIF89a",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"RIFF\xff\xff\xff\xffWEBPVP8X",
        b"II*\x00\xff\xff\xff\xff",
        b"MM\x00*\x00\x00\x00\x08\xff\xff" + b"\xff" * 60_000,
        b"\x00\x00\x00\x0cjP  \r\n\x87\n" + bytes(90_000),
        b"\x00\x00\x00\x18ftypavif" + b"\x00\x00\x00\x00meta" * 10_000,
        b"<svg " + b"<" * 90_000,
        b"<svg width='1e999' height='-1'>",
        b"BM" + bytes(40),
        b"8BPS" + bytes(40),
        b"P6 " + b"9" * 90_000,
        b"#?RADIANCE\n" + b"\n" * 90_000,
        b"qoif",
        bytes(90_000),
    ],
    ids=range(24),
)
def test_hostile_images_are_unreadable(data: bytes) -> None:
    """Cut off, endless and lying headers give no size or a positive one, and never an exception."""
    size = image_size(encoded(data))
    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    "text", ["", "not base64 at all", "data:", "data:image/png;base64,", "====", "\ud800" * 9]
)
def test_text_that_is_no_image_is_unreadable(text: str) -> None:
    """What is not base64, or is cut off, has no size."""
    assert image_size(text) is None


def test_a_data_url_is_read() -> None:
    """The picture stands behind the comma of a data URL."""
    assert image_size(f"data:image/png;base64,{PNG}") == (640, 480)


@pytest.mark.parametrize(
    ("size", "rule", "low", "tokens"),
    [
        ((640, 480), ImageRule.OPENAI, True, 85),
        (None, ImageRule.OPENAI, True, 85),
        ((512, 512), ImageRule.OPENAI, False, 255),
        ((1024, 1024), ImageRule.OPENAI, False, 765),
        ((2048, 4096), ImageRule.OPENAI, False, 1105),
        ((28, 28), ImageRule.ANTHROPIC, False, 1),
        ((1000, 1000), ImageRule.ANTHROPIC, False, 1296),
        ((100_000, 100_000), ImageRule.ANTHROPIC, False, 1568),
        ((384, 384), ImageRule.GEMINI, False, 258),
        ((385, 384), ImageRule.GEMINI, False, 258),
        ((1024, 1024), ImageRule.GEMINI, False, 1032),
        (None, ImageRule.GEMINI, False, UNKNOWN_IMAGE_TOKENS),
        ((2**31, 1), ImageRule.OPENAI, False, 765),
    ],
)
def test_images_cost_what_the_provider_charges(
    size: tuple[int, int] | None, rule: ImageRule, low: bool, tokens: int
) -> None:
    """Each provider's published formula, whatever the bytes of the picture."""
    assert image_tokens(size, rule, low_detail=low) == tokens


@pytest.mark.parametrize("kind", ["image/png", "image", "x" * 80, "a]b", "", "image/svg+xml", "\n"])
@pytest.mark.parametrize("size", [None, (1, 2)])
def test_a_note_is_one_short_line_that_is_known_again(kind: str, size: tuple[int, int] | None) -> None:
    """The text that stands for an image is recognised later, whatever the media type says."""
    note = image_description(size, kind)
    assert is_image_note(note)
    assert "\n" not in note


SOURCE = {"type": "base64", "media_type": "image/png", "data": PNG}
IMAGES: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "anthropic": {"type": "image", "source": SOURCE, "cache_control": {"type": "ephemeral"}},
    "openai-responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    "bedrock": {"image": {"format": "png", "source": {"bytes": PNG}}},
}
TEXTS: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "text", "text": "ok"},
    "anthropic": {"type": "text", "text": "ok"},
    "openai-responses": {"type": "input_text", "text": "ok"},
    "bedrock": {"text": "ok"},
}


@pytest.mark.parametrize("format", sorted(IMAGES))
def test_old_images_become_notes_part_by_part(format: str) -> None:
    """Each image of an old result gives way to its own note; the text between them stays in its place."""
    body = raw(BUILD[format]([IMAGES[format], TEXTS[format], IMAGES[format]]))
    outcome = prune(body, format)
    assert outcome.body.count(b"[image omitted: 640x480 image/png]") == 2
    assert PNG.encode() not in outcome.body
    assert check(format, body, outcome.body) == []
    assert outcome.plan.stats.omitted == 1
    assert prune(outcome.body, format).body == outcome.body


@pytest.mark.parametrize("format", sorted(IMAGES))
def test_images_stay_where_the_caller_says_so(format: str) -> None:
    """Without omit_images no image is ever replaced."""
    body = raw(BUILD[format]([IMAGES[format], TEXTS[format]]))
    assert prune(body, format, replace(TIGHT, omit_images=False)).body == body


@pytest.mark.parametrize("format", sorted(IMAGES))
def test_images_are_counted_by_pixels(format: str) -> None:
    """An image costs the same whatever the length of its base64."""
    small, large = (
        prune(raw(BUILD[format]([image])), format, replace(TIGHT, budget_tokens=10**6))
        for image in (IMAGES[format], _longer(IMAGES[format]))
    )
    assert len(small.body) + 100_000 < len(large.body)
    assert small.plan.stats.original_tokens == large.plan.stats.original_tokens


def _longer(value: Any) -> Any:
    """The same image with much more data behind its header."""
    if isinstance(value, dict):
        return {key: _longer(below) for key, below in value.items()}
    return value.replace(PNG, PNG + "A" * 120_000) if isinstance(value, str) else value


def test_gemini_images_stay_and_are_counted() -> None:
    """The parts beside a Gemini response take no text, so their images stay, at their price."""
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    value = BUILD["gemini"]("ok")
    alone = prune(raw(value), "gemini").plan.stats.original_tokens
    value["contents"][2]["parts"][0]["functionResponse"]["parts"] = [inline]
    outcome = prune(raw(value), "gemini")
    assert outcome.body == raw(value)
    assert outcome.plan.stats.original_tokens == alone + image_tokens((640, 480), ImageRule.GEMINI)


def test_base64_in_text_is_text() -> None:
    """A picture that hides in a text is as long as its characters, and is cut as text."""
    body = raw(BUILD["openai-chat"](f"data:image/png;base64,{PNG * 40}"))
    outcome = prune(body, "openai-chat")
    assert outcome.plan.stats.original_tokens > len(PNG) * 40 // 3
    assert outcome.plan.stats.elided == 1


def test_a_note_keeps_the_bytes_of_what_stays() -> None:
    """Members of an image part that stay are not written anew: spacing, numbers and escapes are theirs."""
    mark = '"cache_control" :{ "type":"\\u0065phemeral", "n":1.0}'
    part = f'{{{mark},"type":"image","source":{{"data":"{PNG}"}}}}'
    body = raw(BUILD["anthropic"](["@"])).replace(b'"@"', part.encode())
    assert part.encode() in body
    outcome = prune(body, "anthropic")
    assert b'"cache_control":{ "type":"\\u0065phemeral", "n":1.0}' in outcome.body
    assert check("anthropic", body, outcome.body) == []
