"""What a wire dialect is: how its bodies are read, and how an image gives way to a text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pinch_server.core.conversation import Address, Conversation, Message
from pinch_server.formats.format import Format

UNSUPPORTED_STATE: Final = "unsupported_state"
"""Why a request that only points at its history cannot be measured or trimmed."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's request JSON.

    Attributes:
        format: Its name.
        history_key: The member of the body that holds the conversation.
        read_entry: Reads one entry of the history, given its address; what it gives follows from the entry
            alone.
        read_beside: Reads the rest of a body, whatever its history is: a conversation without messages.
        image_note: Given an image part and a text, the text part that takes its place; unknown members such
            as `cache_control` stay.
        holds_results: Whether an entry holds tool results in this dialect's form; quick, since it is asked
            of every dialect that a body of unknown format may be.
        is_reference: Whether an entry only points at messages that are elsewhere.
        marks: Members of the body that only this dialect has, for bodies without tool results.
        plain_history: Whether the history may be one bare string.
    """

    format: Format
    history_key: str
    read_entry: Callable[[Any, Address], Message]
    read_beside: Callable[[Mapping[str, Any]], Conversation]
    image_note: Callable[[Mapping[str, Any], str], dict[str, Any]]
    holds_results: Callable[[Mapping[str, Any]], bool]
    is_reference: Callable[[Any], bool] | None = None
    marks: frozenset[str] = frozenset()
    plain_history: bool = False

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Reads a decoded body, whose history is there, into the core's view."""
        history = body[self.history_key]
        items = [{"role": "user", "content": history}] if isinstance(history, str) else history
        read, key = self.read_entry, self.history_key
        messages = tuple(read(item, (key, index)) for index, item in enumerate(items))
        is_reference = self.is_reference
        refers = is_reference is not None and any(map(is_reference, items))
        return self.conversation(self.read_beside(body), messages, refers=refers)

    def conversation(
        self, beside: Conversation, messages: tuple[Message, ...], *, refers: bool
    ) -> Conversation:
        """The conversation of these messages.

        Args:
            beside: What `read_beside` gives.
            messages: What `read_entry` gives for each entry.
            refers: Whether any of the entries is a reference.
        """
        unsupported = UNSUPPORTED_STATE if refers else beside.unsupported
        return Conversation(messages, beside.tools, beside.preamble, unsupported)

    def has_results(self, body: Mapping[str, Any]) -> bool:
        """Whether a decoded body holds tool results in this dialect's form."""
        return any(map(self.holds_results, entries(body[self.history_key])))


def entries(history: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, or of a list-valued member; nothing for any other value."""
    if isinstance(history, list):
        yield from (entry for entry in history if isinstance(entry, Mapping))


def typed_note(part: Mapping[str, Any], text: str, *, kind: str, source: str) -> dict[str, Any]:
    """A text part of type `kind` in place of an image part whose picture is under the member `source`."""
    kept = {key: value for key, value in part.items() if key not in ("type", source, "detail", "file_id")}
    return {"type": kind, "text": text, **kept}
