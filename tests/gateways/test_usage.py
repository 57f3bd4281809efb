"""What providers say was used, read from their answers as they pass."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from pinch_server.formats.format import Format
from pinch_server.gateways.envoy.paths import dialect_of, tells_nothing
from pinch_server.gateways.envoy.usage import Usage, UsageReader, reader_for

JSON = {"content-type": "application/json; charset=utf-8"}
EVENTS = {"content-type": "text/event-stream"}


def read(dialect: Format, headers: dict[str, str], answer: bytes, step: int = 7) -> Usage:
    """What is read from an answer that comes in pieces of so many bytes."""
    reader = reader_for(dialect, headers)
    assert reader is not None
    for start in range(0, len(answer), step):
        reader.feed(answer[start : start + step])
    return reader.usage()


def events(*said: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + json.dumps(one).encode() + b"\n\n" for one in said)


GEMINI = {
    "modelVersion": "gemini-2.5-pro",
    "usageMetadata": {
        "promptTokenCount": 900,
        "cachedContentTokenCount": 700,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
    },
}
BEDROCK = {
    "usage": {
        "inputTokens": 100,
        "cacheReadInputTokens": 700,
        "cacheWriteInputTokens": 100,
        "outputTokens": 7,
    }
}


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize(
    ("dialect", "headers", "answer", "expected"),
    [
        (Format.GEMINI, JSON, json.dumps(GEMINI).encode(), Usage("gemini-2.5-pro", 900, 700, None, 7)),
        (Format.GEMINI, JSON, json.dumps([{}, GEMINI]).encode(), Usage("gemini-2.5-pro", 900, 700, None, 7)),
        (
            Format.GEMINI,
            EVENTS,
            events({}, GEMINI),
            Usage("gemini-2.5-pro", 900, 700, None, 7),
        ),
        (Format.BEDROCK, JSON, json.dumps(BEDROCK).encode(), Usage(None, 900, 700, 100, 7)),
        (
            Format.ANTHROPIC,
            EVENTS,
            events(
                {"message": {"model": "c", "usage": {"input_tokens": 900, "output_tokens": 1}}},
                {"usage": {"output_tokens": 7}},
            ),
            Usage("c", 900, None, None, 7),
        ),
        (Format.OPENAI_CHAT, EVENTS, events({"usage": None, "model": "m"}, {"choices": []}), Usage("m")),
        # A stream that broke off in its last line.
        (
            Format.OPENAI_CHAT,
            EVENTS,
            events({"usage": {"prompt_tokens": 9}})[:-2],
            Usage(None, 9, None, None, None),
        ),
    ],
)
def test_counts_are_read_in_pieces_of_any_size(
    dialect: Format, headers: dict[str, str], answer: bytes, expected: Usage, step: int
) -> None:
    """Wherever an answer is cut, the same counts come out, cached tokens included in the prompt's."""
    assert read(dialect, headers, answer, step) == expected


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_compression_is_taken_off(pack: Any) -> None:
    """An answer in gzip or deflate is read as a plain one."""
    kind = "gzip" if pack is gzip.compress else "deflate"
    packed = pack(json.dumps(BEDROCK).encode())
    assert read(Format.BEDROCK, JSON | {"content-encoding": kind}, packed).prompt_tokens == 900


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        (JSON, b"nope"),
        (JSON, b"[" * 100_000),
        (JSON, b'{"usage": {"prompt_tokens": "9", "completion_tokens": true}}'),
        (JSON, b'{"usage": {"prompt_tokens": -9, "completion_tokens": 1.5}, "model": 3}'),
        (JSON, b'{"usage": [], "message": 3, "response": []}'),
        (JSON | {"content-encoding": "gzip"}, b"not gzip"),
        (EVENTS, b'data: {"usage": \n\ndata: nope "usage"\n\n'),
        (EVENTS, b"\xff\xfe\n" * 9),
    ],
)
def test_what_cannot_be_read_says_nothing(headers: dict[str, str], answer: bytes) -> None:
    """No answer of any kind is an error, and none gives a count that is none."""
    assert read(Format.OPENAI_CHAT, headers, answer) == Usage()


def test_a_bomb_is_given_up() -> None:
    """Of an answer that grows beyond the bound nothing is held, however small it was packed."""
    reader = reader_for(Format.OPENAI_CHAT, JSON | {"content-encoding": "gzip"})
    assert reader is not None
    reader.feed(gzip.compress(b" " * 40_000_000))
    assert len(reader._held) == 0
    assert reader.usage() == Usage()


@dataclass
class Inflates:
    """Takes compression off, and counts what it is given."""

    inner: Any = field(default_factory=lambda: zlib.decompressobj(47))
    taken: int = 0

    @property
    def eof(self) -> bool:
        return bool(self.inner.eof)

    @property
    def unconsumed_tail(self) -> bytes:
        return bytes(self.inner.unconsumed_tail)

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        self.taken += len(data)
        return bytes(self.inner.decompress(data, max_length))


def test_what_comes_behind_a_packed_answer_is_not_kept() -> None:
    """Whatever a provider sends behind the end of what it packed is neither held nor looked at."""
    inflate = Inflates()
    reader = UsageReader(Format.OPENAI_CHAT, is_stream=True, inflate=inflate)
    packed = gzip.compress(events({"usage": {"prompt_tokens": 9}}))
    reader.feed(packed)
    for _ in range(100):
        reader.feed(b"x" * 10_000)
    assert (inflate.taken, inflate.inner.unused_data) == (len(packed), b"")
    assert reader.usage().prompt_tokens == 9


class Searched(bytearray):
    """Counts the bytes that are looked through."""

    bytes_seen = 0

    def rfind(self, *args: Any) -> int:
        self.bytes_seen += len(self)
        return super().rfind(*args)


def test_a_line_without_end_is_not_searched_again() -> None:
    """What is held of a line is looked through once it ends, not again for each small piece of it."""
    held = Searched()
    reader = UsageReader(Format.OPENAI_CHAT, is_stream=True, _held=held)
    for _ in range(1_000):
        reader.feed(b"x" * 10)
    assert held.bytes_seen == 0
    reader.feed(b"\n" + events({"usage": {"prompt_tokens": 9}}))
    assert (reader.usage().prompt_tokens, len(held)) == (9, 0)


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-type": "image/png"}, JSON | {"content-encoding": "br"}],
)
def test_other_answers_are_not_read(headers: dict[str, str]) -> None:
    """An answer of another kind, or packed in a way that is not known, is not looked at."""
    assert reader_for(Format.OPENAI_CHAT, headers) is None


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/chat/completions", Format.OPENAI_CHAT),
        ("/openai/deployments/x/chat/completions?api-version=1", Format.OPENAI_CHAT),
        ("/v1/messages", Format.ANTHROPIC),
        ("/anthropic/v1/messages?beta=true", Format.ANTHROPIC),
        ("/v1/responses/", Format.OPENAI_RESPONSES),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", Format.GEMINI),
        ("/model/anthropic.claude/converse", Format.BEDROCK),
        ("/model/anthropic.claude/converse-stream", Format.BEDROCK),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/responses/resp_1/cancel", None),
        ("/v1/embeddings", None),
        ("", None),
    ],
)
def test_the_path_says_the_dialect(path: str, dialect: Format | None) -> None:
    """A path that ends like one that carries conversations carries one, whatever stands before."""
    assert dialect_of(path) == dialect
    assert not (dialect and tells_nothing(path))


@pytest.mark.parametrize(
    ("path", "is_silent"),
    [
        ("/llm/invoke?key=1", True),
        ("/v1/projects/p/models/claude:rawPredict", True),
        ("/model/anthropic.claude/invoke-with-response-stream", True),
        ("/", True),
        ("/v1/messages/count_tokens?beta=true", False),
        ("/v1/responses/input_tokens", False),
        ("/v1/responses/compact", False),
        ("/v1beta/models/gemini-2.5-pro:countTokens", False),
        ("/v1/projects/p/models/count-tokens:rawPredict", False),
        ("/v1/embeddings/", False),
    ],
)
def test_a_path_that_is_not_known_leaves_it_to_the_body(path: str, is_silent: bool) -> None:
    """The body tells where the path does not, unless the path is of what no model answers."""
    assert dialect_of(path) is None
    assert tells_nothing(path) == is_silent
