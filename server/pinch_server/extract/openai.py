"""The Chat Completions API, which many serve, as far as one question and its answer need it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pinch_server.extract.api import Read, Tokens, UnreadableError
from pinch_server.extract.model import Usage
from pinch_server.extract.prompts.prompt import Prompt

OWN_HOST: Final = "api.openai.com"
"""There the cap of a reply has another name: newer models refuse the old one."""


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        """What was said; some servers give it in parts, beside those of the model's reasoning."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _Details | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


_DECODER: Final = msgspec.json.Decoder(_Reply)


class OpenAI:
    """`POST /chat/completions`.

    Args:
        is_own: Whether the endpoint is OpenAI's own.
    """

    path = "/chat/completions"

    def __init__(self, *, is_own: bool = False) -> None:
        self._is_own = is_own

    def headers(self, api_key: str) -> Mapping[str, str]:
        """The key as a bearer token."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def body(self, model: str, prompt: Prompt, max_tokens: int, *, marks_prefix: bool) -> bytes:
        """The request, as JSON; prefixes are cached without a mark."""
        del marks_prefix
        request: dict[str, Any] = {
            "model": model,
            "messages": [
                *({"role": "system", "content": block.text} for block in prompt.system),
                {"role": "user", "content": prompt.user},
            ],
            "max_completion_tokens" if self._is_own else "max_tokens": max_tokens,
        }
        if not self._is_own:
            request["temperature"] = 0
        return msgspec.json.encode(request)

    def read(self, body: bytes) -> Read:
        """Reads an answer.

        Raises:
            UnreadableError: It is none.
        """
        try:
            reply = _DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableError from error
        if not reply.choices:
            raise UnreadableError
        (choice, *_), usage = reply.choices, reply.usage or _Usage()
        details = usage.prompt_tokens_details
        asked, answered = usage.prompt_tokens or 0, usage.completion_tokens or 0
        cached = min((details.cached_tokens if details else None) or 0, asked)
        return Read(
            choice.message.text,
            choice.finish_reason == "length",
            Usage(asked - cached, answered, cached),
        )
