"""One planned call, its results taken through the gates, and the forms of those that are sent trimmed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pinch_server.core.extraction.candidate_gate import Gate, Known
from pinch_server.core.extraction.considered import Considered, Considering, Fallback, Found, Job
from pinch_server.core.extraction.economics import PromptPrices
from pinch_server.core.extraction.form import Marking
from pinch_server.core.extraction.frozen import FrozenText, Settled, form_key, text_key
from pinch_server.core.extraction.seats import Seat, fits, with_extractions
from pinch_server.core.limits import PLAIN_KEPT_CHARS
from pinch_server.extract.filtering import Filtering, FilteringObserver, FreezesTexts
from pinch_server.extract.policy import ExtractionPolicy
from pinch_server.extract.remembered import ContentNames, Recent
from pinch_server.extract.weighing import Weighing

STORE_SILENT: Final = "store_unavailable"
"""Why an elision is sent where nobody could tell what was sent before."""
TOO_LONG: Final = "longer_than_the_elision"
"""Why an accepted text is not sent."""
UNDER_WAY: Final = "under_way"
"""Why the model is not asked about a content that it is being asked about, or failed at a moment ago."""
_CLOSING_CHARS: Final = 250
_RESERVE_SHARE: Final = 0.25
_LEAST_RESERVE_SECONDS: Final = 0.05
_MILLION: Final = 1_000_000


class SettlesForms(FreezesTexts, Protocol):
    """Keeps texts, and the forms in which results were first sent."""

    def settle(self, proposed: Mapping[bytes, str | None]) -> Settled | None:
        """Settles forms for good; gives what holds, None when nobody tells."""
        ...


class Originals(Protocol):
    """Keeps originals of trimmed results."""

    def reference(self, tenant: str, text: str) -> str:
        """The reference of a text; empty where it is not kept."""
        ...

    def expanded(self, tenant: str, texts: Sequence[str]) -> frozenset[str]:
        """Those of the texts whose originals were asked for."""
        ...


class ExtractionObserver(FilteringObserver, Protocol):
    """Counts what extraction does."""

    def extraction_considered(self, considering: Considering) -> None:
        """Counts a result that was looked at."""
        ...

    def extraction_fell_back(self, why: Fallback) -> None:
        """Counts a result that is sent as an excerpt since its form is lost, out of reach or does not fit."""
        ...

    def extraction_sent(
        self, *, is_fresh: bool, saved_tokens: int, value_usd: float, beyond_excerpt_usd: float
    ) -> None:
        """Counts a result that is sent extracted, for the first time or again."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What every consideration needs.

    Attributes:
        policy: What the operator has set.
        filtering: Has filters written.
        store: Keeps texts and forms.
        observer: Counts.
        originals: Keeps originals; None where nobody does.
        names: The names of contents.
        forms: The forms that this process knows to be settled.
    """

    policy: ExtractionPolicy
    filtering: Filtering
    store: SettlesForms
    observer: ExtractionObserver
    originals: Originals | None
    names: ContentNames
    forms: Recent[bytes, str | None]


class Consideration:
    """One call being considered.

    Args:
        parts: What every consideration needs.
        weighing: The call on its way through the gates.
        trimmed: Its results that are sent as an excerpt.
        ahead: Those sent whole that the next event would elide.
    """

    def __init__(
        self, parts: Parts, weighing: Weighing, trimmed: Sequence[Seat], ahead: Sequence[Seat]
    ) -> None:
        self._parts = parts
        self._weighing = weighing
        self._call = weighing.call
        self._trimmed = trimmed
        self._ahead = ahead
        self._origin = self._call.tally.digest(min(2, len(self._call.tally.messages))).hex()
        self._keys = {seat: self._form_key(seat) for seat in trimmed if seat.part is not None}
        self._unsettled = [seat for seat, key in self._keys.items() if key not in parts.forms]
        self._jobs: dict[Seat, Job] = {}
        self._texts: dict[bytes, FrozenText] = {}
        self._told: dict[tuple[int, int], Considering] = {}
        self._later: list[Job] = []
        self._first: frozenset[bytes] = frozenset()
        self._is_silent = False

    def held(self) -> Considered:
        """Considers every result."""
        fresh = [seat for seat in self._unsettled if seat.is_new]
        ahead = [seat for seat in self._ahead if seat.part is not None]
        self._jobs = {seat: self._job(seat) for seat in (*fresh, *ahead)}
        self._find(fresh)
        expanded = self._expanded(fresh)
        self._weigh(fresh, expanded, is_now=self._parts.policy.is_inline)
        self._settle()
        sent = self._sent()
        plan = with_extractions(self._call.plan, self._call.tally, self._call.limits, sent)
        self._tell(sent)
        # What is still whole stays so in this call: what is frozen of it waits for its first trim.
        self._weigh(ahead, expanded, is_now=False)
        told = tuple(self._told[place] for place in sorted(self._told))
        if self._call.is_dry:
            return Considered(self._call.plan, told)
        new = sum(seat.is_new for seat in self._trimmed)
        self._parts.filtering.note_sent(new, len(self._trimmed) - new)
        for considering in told:
            self._parts.observer.extraction_considered(considering)
        return Considered(plan, told, tuple(self._later))

    def _weigh(self, seats: Sequence[Seat], expanded: frozenset[str], *, is_now: bool) -> None:
        """Takes results through the gates; those let through are filtered now, or put off."""
        wanted: list[Job] = []
        for seat in seats:
            job = self._jobs[seat]
            known = self._texts.get(job.session_key) or self._parts.filtering.known.get(job.session_key)
            considering = self._weighing.weighed(
                seat,
                _known(known),
                self._parts.names.of(job.text),
                was_expanded=job.text in expanded,
                is_now=is_now,
            )
            if considering.gate in (Gate.ALLOWED, Gate.ADVISORY) and not self._call.is_dry:
                if self._parts.filtering.is_under_way(job) and not is_now:
                    considering = replace(
                        considering, gate=Gate.NO_MODEL, reason=UNDER_WAY, found=Found.UNDER_WAY
                    )
                else:
                    self._weighing.reserve(considering)
                    wanted.append(replace(job, considering=considering))
            if known is not None and known.text is None:
                considering = replace(considering, reason=known.reason)
            self._told[seat.message, seat.place] = considering
        if len(wanted) > 1:
            wanted = [replace(job, shares_context=True) for job in wanted]
        if not is_now:
            self._later.extend(wanted)
        elif wanted:
            for job, answer in zip(wanted, self._parts.filtering.now(wanted, self._seconds()), strict=True):
                if answer is not None:
                    self._texts[job.session_key] = answer

    def _seconds(self) -> float:
        """The time that the caller grants (seconds)."""
        most, left = self._parts.policy.seconds, self._call.seconds
        if left is None:
            return most
        return min(most, left - max(_LEAST_RESERVE_SECONDS, left * _RESERVE_SHARE))

    def _settle(self) -> None:
        """Settles in which form results are sent: a new trim's as it should be, an older one's as an elision.

        An older trim that nobody knows of was sent as an elision, or by somebody whose word is lost.
        """
        unsettled = self._unsettled
        if not unsettled or self._call.is_dry:
            return
        proposed = {self._keys[seat]: self._proposed(seat) if seat.is_new else None for seat in unsettled}
        settled = self._parts.store.settle(proposed)
        if settled is None:
            self._is_silent = True
            # A new trim is an elision now, and so for good. What an older one is can be asked again.
            settled = Settled({self._keys[seat]: None for seat in unsettled if seat.is_new})
        self._first = settled.new
        for key, form in settled.forms.items():
            self._parts.forms.put(key, form)
        for seat in unsettled:
            if not seat.is_new and self._keys[seat] in settled.new:
                self._fell_back(Fallback.LOST)

    def _proposed(self, seat: Seat) -> str | None:
        """The form that a new trim should have: a text that fits, or the elision."""
        frozen = self._texts.get(self._jobs[seat].session_key)
        told = self._told.get((seat.message, seat.place))
        if frozen is None or frozen.text is None or (told is not None and told.gate is Gate.EXPANDED):
            return None
        return frozen.text if self._fits(frozen.text, seat) else None

    def _sent(self) -> dict[int, str]:
        """The texts that are sent, by the index of the edit."""
        sent = {}
        for seat, key in self._keys.items():
            form = self._parts.forms.get(key)
            if form is None or seat.edit is None:
                continue
            if self._fits(form, seat):
                sent[seat.edit] = form
            else:
                self._fell_back(Fallback.UNFIT)
        return sent

    def _fell_back(self, why: Fallback) -> None:
        if not self._call.is_dry:
            self._parts.observer.extraction_fell_back(why)

    def _fits(self, text: str, seat: Seat) -> bool:
        if seat.elided is None or not fits(text, seat.elided, self._call.tally.counter):
            return False
        # Without its last line a text is told from a result to be elided by being too short for that.
        is_unmarked = self._parts.policy.marking is Marking.OFF
        return not is_unmarked or len(text) <= self._call.limits.max_summarize_chars

    def _tell(self, sent: Mapping[int, str]) -> None:
        """Says of every trimmed result how it is sent, and why."""
        for seat in self._trimmed:
            place = seat.message, seat.place
            plain = Considering(
                seat.message, seat.block, Gate.CACHED_PREFIX, seat.tokens, self._weighing.state
            )
            text = None if seat.edit is None else sent.get(seat.edit)
            if seat.part is None:
                self._told[place] = replace(plain, gate=Gate.NON_TEXT)
            elif text is not None:
                self._told[place] = self._replayed(self._told.get(place, plain), seat, text)
            elif self._is_silent and seat in self._unsettled:
                self._fell_back(Fallback.UNAVAILABLE)
                self._told[place] = replace(self._told.get(place, plain), reason=STORE_SILENT)
            elif place not in self._told:
                self._told[place] = plain
            elif self._told[place].gate is Gate.REPLAYED_OTHERS:
                self._told[place] = replace(self._told[place], reason=TOO_LONG)

    def _replayed(self, told: Considering, seat: Seat, text: str) -> Considering:
        counter = self._call.tally.counter
        after = counter.tokens(counter.units([text])[0])
        is_fresh = self._keys[seat] in self._first
        if not self._call.is_dry:
            now, later = PromptPrices.of(self._call.rates).values(self._weighing.state)
            saved = seat.tokens - after
            rate = (now if is_fresh else later) / _MILLION
            beyond = (seat.elided_tokens or after) - after
            self._parts.observer.extraction_sent(
                is_fresh=is_fresh,
                saved_tokens=saved,
                value_usd=saved * rate,
                beyond_excerpt_usd=beyond * rate,
            )
        if told.gate is Gate.CACHED_PREFIX:
            told = replace(told, gate=Gate.REPLAYED_SESSION, found=Found.TEXT)
        return replace(told, sent_tokens=after, is_fresh=is_fresh)

    def _find(self, seats: Sequence[Seat]) -> None:
        """Looks up what is frozen of the contents of new trims."""
        filtering, missing = self._parts.filtering, []
        for seat in seats:
            job = self._jobs[seat]
            known = filtering.known.get(job.session_key)
            if known is None:
                missing.append(job)
            else:
                self._texts[job.session_key] = known
        if not missing:
            return
        stored = self._parts.store.find([key for job in missing for key in (job.session_key, job.shared_key)])
        for job in missing if stored is not None else ():
            known = (stored or {}).get(job.session_key) or (stored or {}).get(job.shared_key)
            if known is not None:
                filtering.known.put(job.session_key, known)
                self._texts[job.session_key] = known

    def _expanded(self, fresh: Sequence[Seat]) -> frozenset[str]:
        """The texts whose originals were asked for, of those that a filter's text may take the place of."""
        originals = self._parts.originals
        seats = self._jobs if self._weighing.opened.may_call else fresh
        if originals is None or not seats:
            return frozenset()
        return originals.expanded(self._call.tenant, [self._jobs[seat].text for seat in seats])

    def _form_key(self, seat: Seat) -> bytes:
        return form_key(self._call.tenant, self._call.tally.digest(seat.message + 1), seat.place)

    def _job(self, seat: Seat) -> Job:
        call, policy = self._call, self._parts.policy
        text = seat.part.text if seat.part is not None else ""
        content, originals = self._parts.names.of(text), self._parts.originals
        is_named = policy.marking is Marking.FULL

        def key(origin: str) -> bytes:
            return text_key(
                call.tenant, policy.prompt_version, policy.model, content, policy.fingerprint, origin=origin
            )

        return Job(
            text=text,
            tokens=seat.tokens,
            label=seat.tool,
            messages=call.tally.messages,
            tenant=call.tenant,
            shared_key=key(""),
            session_key=key(self._origin),
            aim_chars=self._aim(seat),
            reference=originals.reference(call.tenant, text) if originals is not None and is_named else "",
        )

    def _aim(self, seat: Seat) -> int:
        """How long what a filter leaves may be to be of use (code points)."""
        most = len(seat.elided) if seat.elided else PLAIN_KEPT_CHARS
        if self._parts.policy.marking is Marking.OFF:
            return min(most, PLAIN_KEPT_CHARS)
        return most - _CLOSING_CHARS


def _known(frozen: FrozenText | None) -> Known:
    if frozen is None:
        return Known.NOTHING
    return Known.REFUSED if frozen.text is None else Known.OTHERS
