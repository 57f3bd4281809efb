"""What is done with a plan once it is made: extractions for elisions, and originals for who asks for them."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pinch_server.core.conversation import TextPart
from pinch_server.core.extraction.considered import Considered, ExtractionCall
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Edit, Plan
from pinch_server.core.rates import read_rates
from pinch_server.core.tally import Tally
from pinch_server.decide.call import PruneCall
from pinch_server.faults import told
from pinch_server.ports import Extractor, Originals

_LOG: Final = logging.getLogger(__name__)


class Extracting:
    """Shared by the threads of a worker. Whatever fails in it, the plan stays as it was.

    Args:
        extractor: Finds extractions; None where nothing is extracted.
        originals: Keeps originals; None where nobody does.
    """

    def __init__(self, extractor: Extractor | None = None, originals: Originals | None = None) -> None:
        self._extractor = extractor
        self._originals = originals

    @property
    def is_on(self) -> bool:
        """Whether there is anything to do."""
        return self._extractor is not None or self._originals is not None

    def consider(
        self,
        call: PruneCall,
        tally: Tally,
        limits: Limits,
        plan: Plan,
        session: str | None,
        owner: str | None,
        now_micros: int,
        seconds: float | None,
    ) -> Considered:
        """A plan with its extractions and references.

        Args:
            call: The call as it came.
            tally: The tally of its conversation.
            limits: What may ship.
            plan: What was decided.
            session: The hash of its session; None without one.
            owner: The hash of its tenant; None where callers are not told apart.
            now_micros: The time (microseconds since the Unix epoch).
            seconds: What is left of the caller's time; None where it waits for ever (seconds).
        """
        context = call.context
        considered = Considered(plan)
        try:
            if self._extractor is not None:
                considered = self._extractor.consider(
                    ExtractionCall(
                        plan,
                        tally,
                        limits,
                        context.tenant,
                        session,
                        owner,
                        read_rates(context.prompt_rate, context.cached_rate, context.cache_write_rate),
                        context.cache,
                        now_micros,
                        seconds,
                        call.dry_run,
                    )
                )
            if self._originals is not None:
                considered = replace(considered, plan=self._referred(considered.plan, context.tenant))
        except Exception as error:  # noqa: BLE001 a failing helper never breaks a call
            _LOG.error("extraction failed inside: %s", told(error))
            return Considered(plan)
        return considered

    def follow_up(self, considered: Considered, tenant: str, edits: Sequence[Edit]) -> None:
        """Does what was put off until the answer was out.

        Args:
            considered: What was made of the plan.
            tenant: Whose call it was.
            edits: What ships changed.
        """
        try:
            if self._originals is not None and edits:
                originals = [edit.old.text for edit in edits if isinstance(edit.old, TextPart)]
                self._originals.keep(tenant, originals)
            if self._extractor is not None:
                self._extractor.follow_up(considered)
        except Exception as error:  # noqa: BLE001 the answer stands
            _LOG.error("extraction failed behind an answer: %s", told(error))

    def _referred(self, plan: Plan, tenant: str) -> Plan:
        """The plan with a reference in each edit whose original is kept."""
        originals = self._originals
        if originals is None or not plan.edits:
            return plan
        edits = (
            replace(edit, reference=originals.reference(tenant, edit.old.text))
            if isinstance(edit.old, TextPart)
            else edit
            for edit in plan.edits
        )
        return replace(plan, edits=tuple(edits))
