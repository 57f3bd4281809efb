"""How long the threads of this process keep the interpreter from each other."""

import sys
import threading
from typing import Final

_SHORT_SECONDS: Final = 0.0005
"""A turn while a large conversation is worked on (seconds). Shorter ones gain nothing: a turn also ends late
where a thread is deep in one call of a library."""


class Turns:
    """Short while a large conversation is worked on, else what they were. A process has one of these.

    Short turns alone would cost small calls of which there are many: each thread finds the caches cold.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usual = sys.getswitchinterval()
        self._large = 0

    def shorten(self) -> None:
        """One more large conversation is worked on."""
        with self._lock:
            self._large += 1
            if self._large == 1:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SHORT_SECONDS))

    def restore(self) -> None:
        """One fewer is."""
        with self._lock:
            self._large -= 1
            if not self._large:
                sys.setswitchinterval(self._usual)


TURNS: Final = Turns()
"""Those of this process: the interpreter has one setting for all its threads."""
