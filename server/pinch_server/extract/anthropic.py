"""The Anthropic Messages API, as far as one question and its answer need it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pinch_server.extract.api import Read, Tokens, UnreadableError
from pinch_server.extract.model import Usage
from pinch_server.extract.prompts.prompt import Prompt

_VERSION: Final = "2023-06-01"


class _Block(msgspec.Struct):
    type: str
    text: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None


class _Reply(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


_DECODER: Final = msgspec.json.Decoder(_Reply)


class Anthropic:
    """`POST /v1/messages`."""

    path = "/v1/messages"

    def headers(self, api_key: str) -> Mapping[str, str]:
        """The key as `x-api-key`."""
        return {"anthropic-version": _VERSION, **({"x-api-key": api_key} if api_key else {})}

    def body(self, model: str, prompt: Prompt, max_tokens: int, *, marks_prefix: bool) -> bytes:
        """The request, as JSON; the cache mark stands on the last system block."""
        system: list[dict[str, Any]] = [{"type": "text", "text": block.text} for block in prompt.system]
        if marks_prefix and system:
            system[-1]["cache_control"] = {"type": "ephemeral"}
        return msgspec.json.encode(
            {
                "model": model,
                "max_tokens": max_tokens,
                "temperature": 0,
                "system": system,
                "messages": [{"role": "user", "content": prompt.user}],
            }
        )

    def read(self, body: bytes) -> Read:
        """Reads an answer.

        Raises:
            UnreadableError: It is none.
        """
        try:
            reply = _DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableError from error
        usage = reply.usage or _Usage()
        return Read(
            "".join(block.text or "" for block in reply.content if block.type == "text"),
            reply.stop_reason == "max_tokens",
            Usage(
                usage.input_tokens or 0,
                usage.output_tokens or 0,
                usage.cache_read_input_tokens or 0,
                usage.cache_creation_input_tokens or 0,
            ),
        )
