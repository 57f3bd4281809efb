"""Where recent calls left off, so that the next call of a session walks only what is new in it."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from pinch_server.core.checkpoint import Checkpoint

MOST_CHARS: Final = 32_000_000
"""Texts kept in all (characters): some hundred long sessions."""
_ENTRY_CHARS: Final = 500
"""What an entry is counted at beside its texts."""


class RecentCheckpoints:
    """The checkpoints used last, bounded by the characters they hold. Shared by the threads of a worker."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._most_chars = most_chars
        self._chars = 0
        self._kept: OrderedDict[bytes, Checkpoint] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> Checkpoint | None:
        """The checkpoint of this key, or None."""
        with self._lock:
            checkpoint = self._kept.get(key)
            if checkpoint is not None:
                self._kept.move_to_end(key)
            return checkpoint

    def put(self, key: bytes, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint, at the cost of those used longest ago."""
        size = checkpoint.chars + _ENTRY_CHARS
        if size > self._most_chars:
            return
        with self._lock:
            replaced = self._kept.pop(key, None)
            if replaced is not None:
                self._chars -= replaced.chars + _ENTRY_CHARS
            self._kept[key] = checkpoint
            self._chars += size
            while self._chars > self._most_chars:
                _, oldest = self._kept.popitem(last=False)
                self._chars -= oldest.chars + _ENTRY_CHARS
