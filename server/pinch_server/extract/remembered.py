"""What a worker remembers between calls of extraction: bounded, and only time and money hang on it."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from pinch_server.core.extraction.frozen import content_id

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

MOST_SESSIONS: Final = 10_000
MOST_SEEN: Final = 50_000
MOST_FROZEN: Final = 4_096
MOST_NAMED_CHARS: Final = 32_000_000


class Recent(Generic[_Key, _Value]):
    """The entries used last. Shared by threads.

    Args:
        most: How many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._kept: OrderedDict[_Key, _Value] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        """The entry of a key, or None."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def __contains__(self, key: _Key) -> bool:
        with self._lock:
            return key in self._kept

    def put(self, key: _Key, value: _Value) -> None:
        """Keeps an entry, at the cost of the one used longest ago."""
        with self._lock:
            self._put(key, value)

    def exchange(self, key: _Key, change: Callable[[_Value | None], _Value]) -> _Value | None:
        """Keeps what becomes of an entry, and gives the one that was there before, or None."""
        with self._lock:
            before = self._kept.get(key)
            self._put(key, change(before))
        return before

    def _put(self, key: _Key, value: _Value) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


@dataclass(slots=True)
class SessionFacts:
    """What is remembered of one session.

    Attributes:
        previous_tokens: The size of its last request (tokens).
        longest_ttl: The longest time to live that it asked for (seconds).
        qualified: Requests that met the triggers.
        calls: Calls to the model, made or reserved.
        explored: Those of them that were made to learn from.
    """

    previous_tokens: int = 0
    longest_ttl: int = 0
    qualified: int = 0
    calls: int = 0
    explored: int = 0


class ContentNames:
    """The names of contents: a text that was named lately is not hashed again. Shared by threads."""

    def __init__(self, most_chars: int = MOST_NAMED_CHARS) -> None:
        self._most = most_chars
        self._chars = 0
        self._lock = Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()

    def of(self, text: str) -> str:
        """The name of a text."""
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
                return known
        named = content_id(text)
        with self._lock:
            if text not in self._kept:
                self._kept[text] = named
                self._chars += len(text)
            while self._chars > self._most:
                oldest, _ = self._kept.popitem(last=False)
                self._chars -= len(oldest)
        return named
