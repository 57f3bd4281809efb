"""The model that writes filters, as the extractor sees it."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from pinch_server.extract.prompts.prompt import Prompt

REPLY_TOKENS: Final = 4_096
"""Most tokens a reply may have; one that reaches it counts as truncated."""
DEADLINE: Final = "deadline"
"""The slug of a call that brought no whole reply in its time."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or more calls were billed for (tokens).

    Attributes:
        prompt: Input that was neither read from nor written to a cache.
        completion: Output.
        cache_read: Input read from the provider's prompt cache.
        cache_write: Input written to it.
    """

    prompt: int = 0
    completion: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: The answer, which may be anything.
        is_truncated: Whether it ended at the cap of the reply.
        usage: What it was billed for.
        cost_usd: What it cost (USD).
        latency_ms: From asking to the last byte (milliseconds).
    """

    text: str
    is_truncated: bool = False
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelFault:
    """Why there is no answer.

    Attributes:
        slug: A status or a word fit for labels, such as `429`, `refused` or `deadline`.
        usage: What was billed all the same.
        cost_usd: What it cost all the same (USD).
        latency_ms: From asking to giving up (milliseconds).
    """

    slug: str
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    latency_ms: float = 0.0


class Model(Protocol):
    """Answers prompts; shared by threads, and never raises."""

    def ask(self, prompt: Prompt, *, seconds: float, max_tokens: int = REPLY_TOKENS) -> Reply | ModelFault:
        """Asks once.

        Args:
            prompt: What to ask.
            seconds: Time for all of it, a total over connecting and every byte (seconds).
            max_tokens: Most tokens of the reply.
        """
        ...
