"""The names of the wire dialects."""

from enum import StrEnum


class Format(StrEnum):
    """A provider's request JSON, by the name the command line and the records use."""

    OPENAI_CHAT = "openai-chat"
    ANTHROPIC = "anthropic"
    OPENAI_RESPONSES = "openai-responses"
    GEMINI = "gemini"
    BEDROCK = "bedrock"
