"""Extractions in the place of elisions: what was frozen before a result's first trim, and nothing else.

The form in which a result is first sent trimmed is settled in the database before it is sent, and holds for
good: so every later call of the history ships the same bytes, from whichever replica. Where nobody can settle
it, the elision is sent, as it would be without extraction.
"""

from pinch_server.core.extraction.considered import Considered, ExtractionCall
from pinch_server.core.extraction.seats import seats_ahead, trimmed_seats
from pinch_server.extract.consideration import (
    Consideration,
    ExtractionObserver,
    Originals,
    Parts,
    SettlesForms,
)
from pinch_server.extract.filtering import Filtering
from pinch_server.extract.policy import ExtractionPolicy
from pinch_server.extract.remembered import MOST_FROZEN, ContentNames, Recent
from pinch_server.extract.weighing import RemembersCalls, Weigher


class ModelExtractor:
    """Finds extractions for planned calls. Shared by threads; one per process, closed once.

    Args:
        policy: What the operator has set.
        filtering: Has filters written.
        store: Keeps texts and forms.
        observer: Counts.
        originals: Keeps originals; None where nobody does.
        past_calls: Knows the last calls of sessions; None where nobody does.
    """

    def __init__(
        self,
        policy: ExtractionPolicy,
        filtering: Filtering,
        store: SettlesForms,
        observer: ExtractionObserver,
        originals: Originals | None = None,
        past_calls: RemembersCalls | None = None,
    ) -> None:
        self._parts = Parts(
            policy, filtering, store, observer, originals, ContentNames(), Recent(4 * MOST_FROZEN)
        )
        self._weigher = Weigher(policy, past_calls)

    def consider(self, call: ExtractionCall) -> Considered:
        """Puts extractions in the place of elisions, and names the results that need a filter.

        Args:
            call: The call, planned.
        """
        trimmed = trimmed_seats(call.plan, call.tally)
        ahead = seats_ahead(call.plan, call.tally, call.limits)
        if not trimmed and not ahead:
            return Considered(call.plan)
        weighing = self._weigher.begin(call, self._parts.filtering.learned)
        return Consideration(self._parts, weighing, trimmed, ahead).held()

    def follow_up(self, considered: Considered) -> None:
        """Has the filters written that were put off until the answer was out."""
        self._parts.filtering.later(considered.later)

    def close(self) -> None:
        """Ends what is under way."""
        self._parts.filtering.close()
