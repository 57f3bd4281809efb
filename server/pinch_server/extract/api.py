"""How one provider's API is asked, and how its answer is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

import msgspec

from pinch_server.extract.model import Usage
from pinch_server.extract.prompts.prompt import Prompt

Tokens = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
"""What an endpoint may say that it billed: by less than nothing it would add to the day's money."""


class UnreadableError(Exception):
    """The answer is not what the API says it is."""


@dataclass(frozen=True, slots=True)
class Read:
    """An answer, read.

    Attributes:
        text: What the model said.
        is_truncated: Whether it ended at the cap of the reply.
        usage: What was billed.
    """

    text: str
    is_truncated: bool
    usage: Usage


class Api(Protocol):
    """One provider's API."""

    @property
    def path(self) -> str:
        """What follows the base URL."""
        ...

    def headers(self, api_key: str) -> Mapping[str, str]:
        """What goes with every request."""
        ...

    def body(self, model: str, prompt: Prompt, max_tokens: int, *, marks_prefix: bool) -> bytes:
        """The request, as JSON.

        Args:
            model: The model's name.
            prompt: What to ask.
            max_tokens: Most tokens of the reply.
            marks_prefix: Whether the provider is asked to cache the system blocks.
        """
        ...

    def read(self, body: bytes) -> Read:
        """Reads an answer.

        Raises:
            UnreadableError: It is none.
        """
        ...
