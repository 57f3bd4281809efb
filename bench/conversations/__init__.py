"""Long agent sessions made from a seed: realistic in shape and size, original in every word.

``generate(7, tokens=50_000)`` is a body for OpenAI's chat completions with about 50,000 estimated tokens
(characters / 3). The same arguments give the same bytes on every platform, so a measurement names its input
by a seed. Sizes of results, the share of text in them, the number of turns and how far back the next call
reaches for its identifiers follow the statistics of some 330 real sessions.
"""

from __future__ import annotations

import json

from bench.conversations.dialects import DIALECTS, Format, Json
from bench.conversations.session import Session
from bench.conversations.story import SMALLEST_TOKENS, Ending, tell

__all__ = [
    "DIALECTS",
    "SMALLEST_TOKENS",
    "Ending",
    "Format",
    "Json",
    "Session",
    "encode",
    "generate",
    "generate_bytes",
    "tell",
]


def generate(
    seed: int,
    *,
    tokens: int,
    format: Format = "openai-chat",
    turns: int | None = None,
    ending: Ending | None = None,
    images: bool = True,
) -> Json:
    """A request body of about ``tokens`` estimated tokens in the given provider's form.

    Args:
        seed: names the session; a pure function of it and the other arguments.
        tokens: wanted size, characters / 3 over all texts, definitions of tools included; met within 5%.
        format: whose form; the texts are the same in all five.
        turns: number of user messages; None = chosen by the seed, 1 to 15.
        ending: whether a user message or unread tool results stand last; None = chosen by the seed.
        images: whether small pictures may occur.

    Raises:
        ValueError: ``tokens`` is too small, ``turns`` do not fit into it, or the format is not known.
    """
    if format not in DIALECTS:
        raise ValueError(f"format must be one of {', '.join(DIALECTS)}, not {format!r}")
    return DIALECTS[format](tell(seed, tokens=tokens, turns=turns, ending=ending, images=images))


def generate_bytes(
    seed: int,
    *,
    tokens: int,
    format: Format = "openai-chat",
    turns: int | None = None,
    ending: Ending | None = None,
    images: bool = True,
) -> bytes:
    """The body of :func:`generate` as the bytes that an SDK would send."""
    return encode(generate(seed, tokens=tokens, format=format, turns=turns, ending=ending, images=images))


def encode(body: Json) -> bytes:
    """``body`` as compact UTF-8 JSON, keys in their order."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
