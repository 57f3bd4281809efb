"""Sessions to measure on: request bodies of real agents where there are some, generated ones elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.conversations import Format, generate
from bench.recall.shapes import Dialect, dialect_of, message_tokens
from pinch_server.core.chat import json_text, tool_definitions

DEFAULT_CORPUS: Final = Path(__file__).parents[3] / "shared" / "corpus"
"""Where the real conversations stand beside a checkout; they are read in place."""

_GENERATED: Final = tuple((seed, (32_000, 60_000, 110_000, 160_000)[seed % 4]) for seed in range(1, 17))


class CorpusError(Exception):
    """The sessions cannot be read; the text says why in one line."""


@dataclass(frozen=True, slots=True)
class Session:
    """One whole conversation.

    Attributes:
        name: What reports call it.
        messages: Its messages as the body has them, oldest first.
        fixed_tokens: What ships beside them in every call: tool definitions and a system field (tokens).
        sizes: The size of each message (tokens, characters / 3).
        dialect: Whose shape its messages have.
    """

    name: str
    messages: tuple[dict[str, Any], ...]
    fixed_tokens: int
    sizes: tuple[int, ...]
    dialect: Dialect

    @property
    def tokens(self) -> int:
        """Its size, fixed part included (tokens)."""
        return self.fixed_tokens + sum(self.sizes)


def session_of(name: str, body: dict[str, Any]) -> Session:
    """Takes a decoded chat-completions or Anthropic body for a session."""
    messages = tuple(message for message in body["messages"] if isinstance(message, dict))
    dialect = dialect_of(messages)
    fixed = sum(len(text) // 3 for text in tool_definitions(body.get("tools"), body.get("functions")))
    system = body.get("system")
    if system is not None:
        fixed += len(system if isinstance(system, str) else json_text(system)) // 3
    sizes = tuple(message_tokens(message, dialect) for message in messages)
    return Session(name, messages, fixed, sizes, dialect)


def load_sessions(corpus: Path | None = None) -> list[Session]:
    """All sessions of a folder, by name.

    Args:
        corpus: A folder of request bodies, one JSON file each; None: the real conversations beside the
            checkout, or generated ones where there are none.

    Raises:
        CorpusError: The folder is not there, a file in it is no JSON, or none of them is a conversation.
    """
    if corpus is None:
        if not DEFAULT_CORPUS.is_dir():
            return list(_generated())
        corpus = DEFAULT_CORPUS
    if not corpus.is_dir():
        raise CorpusError(f"{corpus} is no folder")
    sessions = []
    for path in sorted(corpus.glob("*.json")):
        try:
            body = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise CorpusError(f"cannot read {path}: {error}") from error
        if isinstance(body, dict) and isinstance(body.get("messages"), list):
            sessions.append(session_of(path.stem, body))
    if not sessions:
        raise CorpusError(f"{corpus} holds no request body with messages (*.json)")
    return sessions


def _generated() -> Iterator[Session]:
    for seed, tokens in _GENERATED:
        form: Format = "anthropic" if seed % 3 == 0 else "openai-chat"
        body = generate(seed, tokens=tokens, format=form, images=False)
        yield session_of(f"seed-{seed}-{tokens // 1000}k", body)
