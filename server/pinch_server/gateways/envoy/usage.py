"""What a provider's answer says was used, read while it passes: one JSON object, or a stream of events."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from pinch_server.formats.format import Format

_MOST_BYTES: Final = 16 * 1024 * 1024
"""Most of an answer that is held at once (bytes): all of one object, or one line of a stream."""
_EVENTS: Final = "text/event-stream"
_MARK: Final = b'"usage'
"""What stands in every event that says what was used, and in few others."""
_ZLIB_OR_GZIP: Final = 47


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider counted.

    Attributes:
        model: The model that answered; None where it is not named.
        prompt_tokens: Prompt tokens, cached ones included.
        cached_tokens: Prompt tokens read from the cache.
        cache_write_tokens: Prompt tokens written to it.
        completion_tokens: Tokens of the answer.
    """

    model: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Names:
    """Where a dialect keeps its counts; a dot leads into an object."""

    prompt: str
    completion: str
    read: str
    write: str = ""
    prompt_is_uncached: bool = False
    """Whether cached tokens come on top of the prompt's."""
    also_completion: str = ""


_OPENAI: Final = _Names("prompt_tokens", "completion_tokens", "prompt_tokens_details.cached_tokens")
_NAMES: Final[Mapping[Format, _Names]] = {
    Format.OPENAI_CHAT: _OPENAI,
    Format.OPENAI_RESPONSES: _Names("input_tokens", "output_tokens", "input_tokens_details.cached_tokens"),
    Format.ANTHROPIC: _Names(
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        prompt_is_uncached=True,
    ),
    Format.GEMINI: _Names(
        "promptTokenCount",
        "candidatesTokenCount",
        "cachedContentTokenCount",
        also_completion="thoughtsTokenCount",
    ),
    Format.BEDROCK: _Names(
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
        prompt_is_uncached=True,
    ),
}


@dataclass(slots=True)
class UsageReader:
    """Reads an answer as it passes, piece by piece, and keeps the counts alone.

    Args:
        dialect: The dialect of the request, and so of the answer.
        is_stream: Whether the answer is a stream of events.
        inflate: Takes the compression off; None where there is none.
    """

    dialect: Format
    is_stream: bool
    inflate: "Inflate | None" = None
    _counts: dict[str, int] = field(default_factory=dict)
    _model: str | None = None
    _held: bytearray = field(default_factory=bytearray)
    _is_lost: bool = False

    def feed(self, piece: bytes) -> None:
        """Takes the next piece of the answer; one that cannot be read ends the reading."""
        # Behind the end of what was packed nothing is read: zlib would keep all that comes.
        if self._is_lost or (self.inflate is not None and self.inflate.eof):
            return
        try:
            plain = piece if self.inflate is None else self.inflate.decompress(piece, _MOST_BYTES)
        except zlib.error:
            self._is_lost = True
            return
        self._held += plain
        # What was held before has no end of a line, and is not looked through again for each piece.
        if self.is_stream and b"\n" in plain:
            self._read_lines()
        if len(self._held) > _MOST_BYTES or (self.inflate is not None and self.inflate.unconsumed_tail):
            self._is_lost = True
            self._held.clear()

    def usage(self) -> Usage:
        """What was found; after the last piece."""
        if self._held and not self._is_lost:
            held = bytes(self._held)
            self._held.clear()
            self._read(held.removeprefix(b"data:") if self.is_stream else held)
        names, counts = _NAMES[self.dialect], self._counts
        prompt, completion = counts.get(names.prompt), counts.get(names.completion)
        read, write = counts.get(names.read), counts.get(names.write)
        if prompt is not None and names.prompt_is_uncached:
            prompt += (read or 0) + (write or 0)
        if completion is not None:
            completion += counts.get(names.also_completion, 0)
        return Usage(self._model, prompt, read, write, completion)

    def _read_lines(self) -> None:
        end = self._held.rfind(b"\n")
        for line in bytes(self._held[:end]).split(b"\n"):
            if line.startswith(b"data:") and _MARK in line:
                self._read(line.removeprefix(b"data:"))
        del self._held[: end + 1]

    def _read(self, text: bytes) -> None:
        try:
            said = msgspec.json.decode(text.strip())
        except (msgspec.DecodeError, RecursionError):
            return
        # A stream of Gemini's may be one array.
        for one in said if isinstance(said, list) else (said,):
            if isinstance(one, dict):
                self._take(one)

    def _take(self, said: Mapping[str, Any]) -> None:
        names = _NAMES[self.dialect]
        for holder in (said, said.get("message"), said.get("response")):
            if not isinstance(holder, dict):
                continue
            model = holder.get("model", holder.get("modelVersion"))
            if isinstance(model, str):
                self._model = model
            found = holder.get("usage", holder.get("usageMetadata"))
            if not isinstance(found, dict):
                continue
            for name in (names.prompt, names.completion, names.read, names.write, names.also_completion):
                count = _at(found, name) if name else None
                if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                    self._counts[name] = count


class Inflate(Protocol):
    """Takes compression off, at most so much at once."""

    @property
    def eof(self) -> bool:
        """Whether what was packed has ended."""
        ...

    @property
    def unconsumed_tail(self) -> bytes:
        """What was not taken yet, for it would have become too much."""
        ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """The next bytes without compression."""
        ...


def reader_for(dialect: Format, headers: Mapping[str, str]) -> UsageReader | None:
    """What reads an answer with these headers; None where that is of no use.

    Args:
        dialect: The dialect of the request.
        headers: The answer's headers, by their names in lower case.
    """
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", _EVENTS):
        return None
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "deflate"):
        return None
    inflate = zlib.decompressobj(_ZLIB_OR_GZIP) if encoding in ("gzip", "deflate") else None
    return UsageReader(dialect, kind == _EVENTS, inflate)


def _at(found: Mapping[str, Any], name: str) -> Any:
    value: Any = found
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
