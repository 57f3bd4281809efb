"""What running a model's program came to: its output, or which rule it broke."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_PROGRAM_BYTES: Final = 32_768
"""Longest program (UTF-8 bytes). A reply of 4,096 tokens has about 16,000; a very long expression overflows
the interpreter's stack."""
MOST_INPUT_BYTES: Final = 1_048_576
"""Longest input, and longest output (UTF-8 bytes)."""


class FaultKind(StrEnum):
    """Which rule a program broke. Fit for labels: no text of any conversation."""

    SYNTAX = "syntax error"
    RUNTIME = "runtime error"
    PANIC = "sandbox panic"
    UNAVAILABLE = "sandbox unavailable"
    INPUT_SIZE = "input above the sandbox limit"
    PROGRAM_SIZE = "program above the sandbox limit"
    NO_PAIR = "bad program result: no (OUTPUT, SUMMARY) pair"
    NOT_TEXT = "bad program result: OUTPUT was not a string"
    EMPTY = "program produced an empty OUTPUT"
    NOT_SMALLER = "result not smaller"


@dataclass(frozen=True, slots=True)
class Ran:
    """A program ran to its end.

    Attributes:
        output: What it left in OUTPUT; never empty.
        summary: What it left in SUMMARY, as it stands.
    """

    output: str
    summary: str


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """A program gave nothing that can be used.

    Attributes:
        kind: Which rule it broke.
        detail: The interpreter's own words, which may quote the program; empty where there are none.
    """

    kind: FaultKind
    detail: str = ""

    @property
    def slug(self) -> str:
        """Kind and the first line of the detail, for a receipt and never for a label or a log."""
        return (
            f"{self.kind}: {self.detail.splitlines()[0].strip()}" if self.detail.strip() else str(self.kind)
        )
