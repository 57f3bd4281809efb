"""Whether the provider is asked to cache a prompt's system blocks.

A cache write costs a quarter more than plain input, so it is asked for only where the prefix is long enough
to be cached at all, and not by two calls at once: the second would pay for writing what the first is writing.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from pinch_server.core.counting import COUNTERS
from pinch_server.extract.prompts.prompt import Prompt

FRESH_SECONDS: Final = 240.0
"""How long a written prefix is counted on (seconds); providers keep it five minutes."""
_PROVIDER_PER_TOKEN: Final = 1.20
_LEAST_OF_LARGE: Final = int(1_024 / _PROVIDER_PER_TOKEN)
_LEAST: Final = int(4_096 / _PROVIDER_PER_TOKEN)
_LARGE: Final = ("sonnet", "opus")
_MOST_KEPT: Final = 256


def least_prefix(model: str) -> int:
    """The shortest prefix that the provider caches for a model (o200k tokens)."""
    return _LEAST_OF_LARGE if any(name in model for name in _LARGE) else _LEAST


class PrefixMarks:
    """Remembers which prefixes were written, and which are being written. Shared by threads.

    Args:
        model: The model's name.
        monotonic: A clock that never goes back (seconds).
    """

    def __init__(self, model: str, monotonic: Callable[[], float]) -> None:
        self._least = least_prefix(model)
        self._monotonic = monotonic
        self._lock = Lock()
        self._written: OrderedDict[bytes, float] = OrderedDict()
        self._writing: set[bytes] = set()

    def begin(self, prompt: Prompt) -> bytes | None:
        """The prefix to mark, to be given back to `end`; None where it is not to be marked."""
        texts = [block.text for block in prompt.system]
        counter = COUNTERS["o200k"]
        if counter.tokens(sum(counter.units(texts))) < self._least:
            return None
        key = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).digest()
        with self._lock:
            since = self._written.get(key)
            is_written = since is not None and self._monotonic() - since < FRESH_SECONDS
            if not is_written:
                if key in self._writing:
                    return None
                self._writing.add(key)
        return key

    def end(self, key: bytes, *, is_written: bool) -> None:
        """Notes how the call with that prefix ended."""
        with self._lock:
            self._writing.discard(key)
            if is_written:
                self._written[key] = self._monotonic()
                self._written.move_to_end(key)
                while len(self._written) > _MOST_KEPT:
                    self._written.popitem(last=False)
