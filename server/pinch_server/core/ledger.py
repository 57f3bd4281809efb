"""What the calls of a session cost so far at a provider with a prompt cache: as they ship, and as they came.

The model is the plain one: what a call shares with the call before is read from the cache, the rest is
written to it, nothing expires. Sums are whole tokens, so that a ledger is the same on every machine.
"""

from dataclasses import dataclass
from typing import Final

from pinch_server.core.limits import Limits


@dataclass(frozen=True, slots=True)
class Ledger:
    """Sums over the calls so far.

    Attributes:
        read: Tokens read from the cache, as the calls ship.
        written: Tokens written to it, as they ship.
        whole_read: Tokens that would be read if nothing were trimmed.
        whole_written: Tokens that would be written if nothing were trimmed.
        sent: What the newest call ships (tokens).
        whole_sent: What it would ship untrimmed (tokens).
        end: The number of messages that stood before it.
    """

    read: int = 0
    written: int = 0
    whole_read: int = 0
    whole_written: int = 0
    sent: int = 0
    whole_sent: int = 0
    end: int = 0

    def after(self, end: int, total: int, whole_total: int, shared: int) -> "Ledger":
        """The ledger with one more call in it.

        Args:
            end: The number of messages before that call.
            total: What it ships (tokens).
            whole_total: What it would ship untrimmed (tokens).
            shared: How much of what it ships stood at the start of the call before (tokens).
        """
        return Ledger(
            read=self.read + shared,
            written=self.written + total - shared,
            whole_read=self.whole_read + self.whole_sent,
            whole_written=self.whole_written + whole_total - self.whole_sent,
            sent=total,
            whole_sent=whole_total,
            end=end,
        )

    def excess(self, limits: Limits) -> float:
        """How much dearer the session is for having been trimmed, as a share; below 0 when it is cheaper."""
        whole = self._whole_cost(limits)
        return self._cost(limits) / whole - 1 if whole else 0.0

    def shortfall(self, limits: Limits) -> float:
        """What the session costs above the untrimmed one and the share of it that may be lost (tokens)."""
        return self._cost(limits) - (1 + (limits.ledger_share or 0)) * self._whole_cost(limits)

    def _cost(self, limits: Limits) -> float:
        return limits.cache_write_multiplier * self.written + limits.cache_read_multiplier * self.read

    def _whole_cost(self, limits: Limits) -> float:
        written, read = self.whole_written, self.whole_read
        return limits.cache_write_multiplier * written + limits.cache_read_multiplier * read


OPENED: Final = Ledger()
"""The ledger before the first call."""


def pays_back(limits: Limits, removed: int, rewritten: int) -> bool:
    """Whether an event earns more than it costs over the calls expected to follow.

    Args:
        limits: The cache's multipliers and the number of calls expected.
        removed: What the event takes away (tokens).
        rewritten: What had been sent behind the first change (tokens), the removed included.
    """
    write, read = limits.cache_write_multiplier, limits.cache_read_multiplier
    earned = removed * (write + limits.cache_expected_calls * read)
    return earned > (write - read) * rewritten
