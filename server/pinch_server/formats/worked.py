"""What was worked out of a plan's edits, for the next call that has the very same ones."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from pinch_server.core.plan import Edit
from pinch_server.core.probe import Trimmed
from pinch_server.core.resending import Removed, removed_by
from pinch_server.formats.json_body import ByteEdit

_EDIT_BYTES: Final = 3_000
"""What an edit takes beside its new text, in the plan and in the standings of earlier calls (measured)."""


@dataclass(slots=True, eq=False)
class Worked:
    """The edits of one plan, and what follows from them alone.

    Attributes:
        edits: The edits, in the order of the plan.
        byte_edits: For a body, the byte range of each.
        rows: The messages they change, as those ship.
        removed: What they take away.
        encoded: All of them as part of a reply, in the words of the wire; None until there was one.
        told: The session (its hash) whose stored receipt has them; None until there is one.
    """

    edits: tuple[Edit, ...]
    byte_edits: tuple[ByteEdit, ...] = ()
    rows: Trimmed | None = None
    removed: Removed = field(init=False)
    encoded: bytes | None = None
    told: str | None = None
    _texts_weight: int = field(init=False)

    def __post_init__(self) -> None:
        self.removed = removed_by(self.edits)
        self._texts_weight = weight_of(self.edits)

    def of(self, edits: tuple[Edit, ...]) -> "Worked | None":
        """What follows from `edits` as far as it is known from these; None when they are others.

        Edits that only are no longer new change the same bytes in the same way; they are told differently.
        """
        if edits is self.edits:
            return self
        if len(edits) != len(self.edits) or not all(map(_are_alike, edits, self.edits)):
            return None
        return Worked(edits, self.byte_edits, self.rows, told=self.told)

    @property
    def weight(self) -> int:
        """About the memory that it takes (bytes)."""
        replacements = 0 if self.encoded is None else len(self.encoded)
        return self._texts_weight + 2 * replacements


def weight_of(edits: Iterable[Edit]) -> int:
    """About the memory that edits take (bytes)."""
    return sum(_EDIT_BYTES + 4 * len(edit.new) for edit in edits)


def _are_alike(one: Edit, other: Edit) -> bool:
    """Whether two edits put the same text in the place of the same part."""
    return one.old is other.old and one.new == other.new


NOTHING_WORKED: Final = Worked(())
"""What follows from no edits."""
