"""What the store tells whoever counts, so that no metrics library is needed here."""

from typing import Protocol


class StoreObserver(Protocol):
    """Receives the store's counts. Called from many threads; must neither block nor raise."""

    def journal_pending(self, records: int) -> None:
        """Set the number of acknowledged lines that are not in the database yet (this worker's)."""

    def journal_dropped(self) -> None:
        """Count one decision or outcome that could not be journalled and was answered as not persisted."""

    def decisions_stored(self, count: int) -> None:
        """Count decisions that are now in the database and were not before."""

    def store_failed(self) -> None:
        """Count one failed attempt to write to the database, or one line or file that had to be set aside."""

    def outcomes_unmatched(self, count: int) -> None:
        """Count outcomes given up because no decision of that id came within the grace period."""

    def outcomes_replaced(self, count: int) -> None:
        """Count reports that replaced an earlier, different one for the same decision."""
