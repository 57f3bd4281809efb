"""Transcripts that people keep: request bodies, lists or lines of messages, and logs of requests."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pinch_server.core.conversation import Conversation
from pinch_server.formats.body import read_body
from pinch_server.formats.errors import BodyError, NotUnderstoodError

_ENDINGS: Final = (".json", ".jsonl", ".ndjson")
_ITEM_ENDINGS: Final = ("_call", "_call_output")
_HISTORIES: Final = ("messages", "input", "contents")


class TranscriptError(Exception):
    """A file that is no transcript; the text says why, without the file's name."""


def transcript_files(names: Sequence[str]) -> Iterator[Path]:
    """The files that are meant: those named, and those of each folder that look like transcripts."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from sorted(one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS)
        else:
            yield path


def read_transcript(path: Path) -> list[Conversation]:
    """The sessions of one file.

    A JSON file holds a request body or a list of messages. Lines of JSON hold either one message or item of
    the Responses API each, bare or as an agent's log wraps them (`{"message": {…}}`, `{"payload": {…}}`), or
    one body each: of bodies that continue each other only the last counts, for it holds the whole session.

    Raises:
        TranscriptError: It cannot be read, or holds no conversation.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TranscriptError("is not UTF-8") from None
    bodies = _bodies(text, is_lines=path.suffix.lower() != ".json")
    found = [conversation for body in bodies if (conversation := _conversation(body)) is not None]
    if not any(conversation.messages for conversation in found):
        raise TranscriptError("holds no conversation; give request bodies or messages, as JSON or JSON lines")
    return found


def _bodies(text: str, *, is_lines: bool) -> list[Any]:
    values = list(_lines(text)) if is_lines else [_value(text, "is no JSON")]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    items = [item for value in values if (item := _item(value)) is not None]
    if any("role" not in item for item in items):
        return [{"input": items}]
    messages = [message for value in values if (message := _message(value)) is not None]
    if messages:
        return [{"messages": messages}]
    return _longest([value for value in values if isinstance(value, dict)])


def _lines(text: str) -> Iterator[Any]:
    """The value of each line that is not blank; only a line feed ends one, for JSON may hold the others."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _value(line, f"line {number} is no JSON")


def _value(text: str, problem: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise TranscriptError(f"{problem}: {error.msg} ({where})") from None
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"{problem}: {error}") from None


def _message(value: Any) -> dict[str, Any] | None:
    """A message, bare or wrapped; None for anything else."""
    if not isinstance(value, dict):
        return None
    inner = value.get("message")
    if isinstance(inner, dict) and "role" in inner:
        return inner
    return value if "role" in value and "messages" not in value else None


def _item(value: Any) -> dict[str, Any] | None:
    """An item of the Responses API, bare or wrapped, which may be a message; None for anything else."""
    if not isinstance(value, dict):
        return None
    inner = value.get("payload")
    one = inner if isinstance(inner, dict) and value.get("type") == "response_item" else value
    kind = one.get("type")
    is_item = isinstance(kind, str) and (kind == "reasoning" or kind.endswith(_ITEM_ENDINGS))
    if is_item and "role" not in one and not isinstance(one.get("message"), dict):
        return one
    return _message(one)


def _longest(bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bodies without those that the next one continues."""
    kept: list[dict[str, Any]] = []
    for body in bodies:
        if kept and _continues(_history(kept[-1]), _history(body)):
            kept[-1] = body
        else:
            kept.append(body)
    return kept


def _history(body: dict[str, Any]) -> Any:
    return next((body[key] for key in _HISTORIES if isinstance(body.get(key), list)), None)


def _continues(earlier: Any, later: Any) -> bool:
    if not isinstance(earlier, list) or not isinstance(later, list):
        return False
    return later[: len(earlier)] == earlier


def _conversation(body: Any) -> Conversation | None:
    try:
        return read_body(json.dumps(body).encode(), None).conversation
    except (BodyError, NotUnderstoodError):
        return None
