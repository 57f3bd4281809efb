"""Which paths carry conversations, and in which dialect."""

from collections.abc import Mapping
from typing import Final

from pinch_server.formats.format import Format

_ENDS: Final[Mapping[str, Format]] = {
    "/chat/completions": Format.OPENAI_CHAT,
    "/messages": Format.ANTHROPIC,
    "/responses": Format.OPENAI_RESPONSES,
    "/converse": Format.BEDROCK,
    "/converse-stream": Format.BEDROCK,
}
_GEMINI: Final = (":generateContent", ":streamGenerateContent")


def dialect_of(path: str) -> Format | None:
    """The dialect of what is posted to a path; None where no conversation is.

    By the path's end, since gateways put prefixes of their own before it.

    Args:
        path: The path as it was sent, its query included.
    """
    bare = path.partition("?")[0].rstrip("/")
    if bare.endswith(_GEMINI):
        return Format.GEMINI
    return next((dialect for end, dialect in _ENDS.items() if bare.endswith(end)), None)
