"""What a wire dialect is: how its bodies are read, and how an image gives way to a text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pinch_server.core.conversation import Conversation
from pinch_server.formats.format import Format


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's request JSON.

    Attributes:
        format: Its name.
        history_key: The member of the body that holds the conversation.
        read: Reads a decoded body, whose history is there, into the core's view.
        image_note: Given an image part and a text, the text part that takes its place; unknown members such
            as `cache_control` stay.
        has_results: Whether a decoded body holds tool results in this dialect's form; quick, since it is
            asked of every dialect that a body of unknown format may be.
        marks: Members of the body that only this dialect has, for bodies without tool results.
        plain_history: Whether the history may be one bare string.
    """

    format: Format
    history_key: str
    read: Callable[[Mapping[str, Any]], Conversation]
    image_note: Callable[[Mapping[str, Any], str], dict[str, Any]]
    has_results: Callable[[Mapping[str, Any]], bool]
    marks: frozenset[str] = frozenset()
    plain_history: bool = False


def entries(history: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, or of a list-valued member; nothing for any other value."""
    if isinstance(history, list):
        yield from (entry for entry in history if isinstance(entry, Mapping))


def typed_note(part: Mapping[str, Any], text: str, *, kind: str, source: str) -> dict[str, Any]:
    """A text part of type `kind` in place of an image part whose picture is under the member `source`."""
    kept = {key: value for key, value in part.items() if key not in ("type", source, "detail", "file_id")}
    return {"type": kind, "text": text, **kept}
