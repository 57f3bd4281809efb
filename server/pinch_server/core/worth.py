"""What identifiers are worth: whole numbers, which add up the same in any order and on any machine."""

from dataclasses import dataclass
from typing import Final

from pinch_server.core.codes import Ints
from pinch_server.core.sightings import Sightings

UNIT: Final = 1 << 20
"""The worth of an identifier that one result holds and nobody has said."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The identifiers of a text and what each is worth.

    Attributes:
        sightings: Where they stand.
        worth: The worth of each row; 0 for one that the conversation does not need.
    """

    sightings: Sightings
    worth: Ints

    @property
    def sign(self) -> bytes:
        """All of it that the text alone does not give: of the same text and sign a form makes the same."""
        return self.worth.tobytes()
