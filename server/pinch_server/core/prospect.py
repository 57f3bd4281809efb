"""Whether an event under way can still be worth its price, told before all of it is made.

An event that does not pay is taken back, and a session that stands below its budget for long would make one
in vain at each of its calls. The bound takes all for gone that may go before the target is reached, so that
what it gives up would be taken back: it saves time and decides nothing.
"""

from dataclasses import dataclass
from typing import Final

from pinch_server.core.draft import Draft
from pinch_server.core.draft_result import DraftResult
from pinch_server.core.trimming import Step

_SLACK_TOKENS: Final = 1.0
_SLACK_SHARE: Final = 1e-9
"""Allowed for the rounding of the sums that decide in the end."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What an event has to reach: so much for each token removed, less so much for each that is sent anew.

    Attributes:
        removed: What a removed token earns.
        rewritten: What a token costs that is written again where it would have been read.
        least: What has to be left.
    """

    removed: float
    rewritten: float
    least: float = 0.0

    def is_out_of_reach(self, removed: int, rewritten: int) -> bool:
        """Whether even so much removed for so little written again does not do."""
        earned, paid = self.removed * removed, self.rewritten * rewritten
        slack = _SLACK_TOKENS + _SLACK_SHARE * (abs(earned) + abs(paid) + abs(self.least))
        return earned - paid < self.least - slack


@dataclass(slots=True)
class Prospect:
    """The best that one event may still come to.

    Attributes:
        draft: What is trimmed.
        bars: All that it has to reach.
        open_tokens: No less than what could be removed when it began (tokens).
        to_target: No less than what an event that ends at its target removes (tokens).
        sent_messages: The messages that the call before sent.
        sent_tokens: What they shipped (tokens).
    """

    draft: Draft
    bars: tuple[Bar, ...]
    open_tokens: int
    to_target: int
    sent_messages: int
    sent_tokens: int
    _first: int | None = None
    _before: int = 0

    def is_in_vain(self, result: DraftResult, ends_at_target: bool) -> bool:
        """Whether it can be given up, now that this result was trimmed too."""
        message = result.message
        if message < self.sent_messages and (self._first is None or message < self._first):
            self._first, self._before = message, self.draft.tokens_before(message)
        if result.step is Step.OMITTED and not result.is_without_images:
            # It is at its deepest, and what is left of it stays.
            self.open_tokens -= self.draft.counter.tokens(result.units)
        if self._first is None:
            return False
        rewritten = self.sent_tokens - self._before
        removed = min(self.open_tokens, self.to_target) if ends_at_target else self.open_tokens
        # A first change further ahead only ever has more written again, which costs unless reads cost more.
        return any(bar.rewritten >= 0 and bar.is_out_of_reach(removed, rewritten) for bar in self.bars)
