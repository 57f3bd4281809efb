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
_OTHER_ENDS: Final = (
    "/audio/speech",
    "/batches",
    "/cancel",
    "/compact",
    "/count-tokens",
    "/count_tokens",
    "/embed",
    "/embeddings",
    "/files",
    "/generations",
    "/input_tokens",
    "/moderations",
    "/rerank",
    "/tokenize",
    ":batchEmbedContents",
    ":batchGenerateContent",
    ":countTokens",
    ":embedContent",
    ":predict",
    "/count-tokens:rawPredict",
)
_GEMINI: Final = (":generateContent", ":streamGenerateContent")


def dialect_of(path: str) -> Format | None:
    """The dialect of what is posted to a path; None where the path does not say.

    By the path's end, since gateways put prefixes of their own before it.

    Args:
        path: The path as it was sent, its query included.
    """
    bare = _bare(path)
    if bare.endswith(_GEMINI):
        return Format.GEMINI
    return next((dialect for end, dialect in _ENDS.items() if bare.endswith(end)), None)


def tells_nothing(path: str) -> bool:
    """Whether a path may carry a conversation or not, so that what is posted has to tell.

    False for the providers' paths whose bodies look like a request that a model answers and are none, such as
    those that only count its tokens.
    """
    return dialect_of(path) is None and not _bare(path).endswith(_OTHER_ENDS)


def _bare(path: str) -> str:
    return path.partition("?")[0].rstrip("/")
