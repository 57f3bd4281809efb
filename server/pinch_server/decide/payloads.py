"""The payload each session shipped last, as hashes, for as long as a provider may still hold it."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from pinch_server.core.probe import Payload

TTL_SECONDS: Final = 86_400.0
"""How long a payload is remembered: the longest that providers keep a prefix (seconds)."""
MOST_MESSAGES: Final = 1_000_000
"""Messages remembered in all, eight bytes each."""
_ENTRY_MESSAGES: Final = 40
"""What an entry is counted at beside its messages."""


class RecentPayloads:
    """The last payload of the sessions heard of last. Shared by the threads of a worker."""

    def __init__(self, most_messages: int = MOST_MESSAGES, ttl_seconds: float = TTL_SECONDS) -> None:
        self._most = most_messages
        self._ttl = ttl_seconds
        self._held = 0
        self._kept: OrderedDict[str, tuple[float, Payload]] = OrderedDict()
        self._lock = Lock()

    def get(self, session: str, now: float) -> Payload | None:
        """The last payload of a session; None when it is not known, or too old.

        Args:
            session: The session's hash.
            now: A clock that never goes back (seconds).
        """
        with self._lock:
            found = self._kept.get(session)
        return None if found is None or now - found[0] > self._ttl else found[1]

    def put(self, session: str, payload: Payload, now: float) -> None:
        """Remembers a payload in the place of the one before, at the cost of sessions long unheard of."""
        with self._lock:
            self._drop(session)
            self._kept[session] = now, payload
            self._held += payload.messages + _ENTRY_MESSAGES
            while self._kept:
                oldest, (since, _) = next(iter(self._kept.items()))
                if self._held <= self._most and now - since <= self._ttl:
                    return
                self._drop(oldest)

    def _drop(self, session: str) -> None:
        found = self._kept.pop(session, None)
        if found is not None:
            self._held -= found[1].messages + _ENTRY_MESSAGES
