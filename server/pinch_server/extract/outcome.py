"""What filtering one result is asked for, and what comes of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pinch_server.core.extraction.record import Repair
from pinch_server.extract.model import DEADLINE, Usage

FILTER_SECONDS: Final = 90.0
"""Time for one result, all calls to the model included (seconds)."""


class Strategy(StrEnum):
    """How a result is shortened; every one falls back to `deterministic` where that is allowed."""

    CODE = "code"
    SINGLE = "single"
    RLM = "rlm"
    AUTO = "auto"
    DETERMINISTIC = "deterministic"


class Aggressiveness(StrEnum):
    """How much of a result the model is asked to leave out; never what is accepted."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How one result is to be filtered.

    Attributes:
        strategy: How it is shortened.
        aggressiveness: How much the model is asked to leave out.
        rewrite: Whether a program may rewrite lines that it keeps; else the result must be a subsequence.
        allow_deterministic: Whether a strategy that fails falls back to the projection without a model.
        max_chars: Longest window of raw text without a model (characters); 0 withholds it.
        min_keep_ratio: Least share of the tokens that an accepted result keeps (0 to 1).
        floor_tokens: The size from which results are filtered; `auto` chooses by it (tokens).
        seconds: Time for the result, all calls included (seconds).
    """

    strategy: Strategy = Strategy.CODE
    aggressiveness: Aggressiveness = Aggressiveness.MEDIUM
    rewrite: bool = True
    allow_deterministic: bool = True
    max_chars: int = 4_000
    min_keep_ratio: float = 0.05
    floor_tokens: int = 300
    seconds: float = FILTER_SECONDS


@dataclass(frozen=True, slots=True)
class Call:
    """One call to the model.

    Attributes:
        strategy: What it was for.
        purpose: `filter`, `repair`, `extract` (`single`) or `chunk` (`rlm`).
        fault: Why there was no reply, as a slug; empty when there was one.
        is_truncated: Whether the reply ended at its cap.
        usage: What was billed.
        cost_usd: What it cost (USD).
        latency_ms: How long it took (milliseconds).
    """

    strategy: Strategy
    purpose: str
    fault: str
    is_truncated: bool
    usage: Usage
    cost_usd: float
    latency_ms: float

    @property
    def is_telling(self) -> bool:
        """Whether it says what calls cost and how long they last: one that was turned away says neither."""
        return not self.fault or self.fault == DEADLINE or self.cost_usd > 0


@dataclass(frozen=True, slots=True)
class Written:
    """A result that passed every check.

    Attributes:
        text: What is sent: the projection, and what stands under it.
        projected: What is left of the result, elision notes included.
        summary: One line of the program's own on what was left out, or nothing.
        strategy: Which strategy made it.
        is_deletion_only: Whether it holds nothing but parts of the original, in order, and elision notes.
        before_tokens: Size of the original (tokens).
        after_tokens: Size of `text` (tokens).
        calls: What was asked of the model.
        refusals: Why the strategies before it failed.
        repair: What came of a repair of a program.
    """

    text: str
    projected: str
    summary: str
    strategy: Strategy
    is_deletion_only: bool
    before_tokens: int
    after_tokens: int
    calls: tuple[Call, ...] = ()
    refusals: tuple[str, ...] = ()
    repair: Repair = Repair.NONE


@dataclass(frozen=True, slots=True)
class Refused:
    """A result that stays as it is.

    Attributes:
        reasons: Why, one for each strategy that was tried; they may quote the program or the conversation.
        kinds: The same without what they quote, fit for labels and rows.
        calls: What was asked of the model.
        repair: What came of a repair of a program.
    """

    reasons: tuple[str, ...]
    kinds: tuple[str, ...]
    calls: tuple[Call, ...] = ()
    repair: Repair = Repair.NONE

    @property
    def reason(self) -> str:
        """All reasons in one line."""
        return "; ".join(self.reasons)

    @property
    def kind(self) -> str:
        """All kinds in one line."""
        return "; ".join(self.kinds)
