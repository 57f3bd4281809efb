"""The metrics of extraction: what was thought of, what was asked and paid, and what came of it."""

from collections.abc import Callable
from typing import Final

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.classes import CLASS_NAMES
from pinch_server.core.extraction.considered import Considering, Fallback, Found, Note
from pinch_server.core.extraction.economics import Reason
from pinch_server.core.extraction.frozen import ACCEPTED
from pinch_server.core.extraction.record import FilterRecord, Repair
from pinch_server.core.extraction.slugs import MODEL_FAULTS, NOT_KEPT, NOT_SENT, REFUSALS
from pinch_server.observe.families import CounterFamily, HistogramFamily
from pinch_server.observe.labels import OTHER

GATES: Final = tuple(Gate)
"""What became of a result that a filter was thought of for."""
REASONS: Final = tuple(Reason)
"""What the economic gate said."""
FOUND: Final = tuple(Found)
"""What was found of a result among what is frozen."""
NOTES: Final = tuple(Note)
"""What there was to know beside the gate."""
FALLBACKS: Final = tuple(Fallback)
"""Why a result is sent as an excerpt that may have been sent extracted."""
REPAIRS: Final = (Repair.FIXED, Repair.FAILED)
CALL_RESULTS: Final = ("answered", "truncated", *MODEL_FAULTS)
"""How a call to the model ended."""
FILTER_RESULTS: Final = (ACCEPTED, *REFUSALS, NOT_KEPT)
"""What came of a filter."""
SENT: Final = ("fresh", "replayed")
"""Whether a result is sent extracted for the first time."""
TOKEN_KINDS: Final = ("prompt", "completion", "cache_read", "cache_write")
_BUCKETS: Final = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 90.0)

Counters = Callable[[str, str, tuple[str, ...]], CounterFamily]
Histograms = Callable[[str, str, tuple[str, ...], tuple[float, ...]], HistogramFamily]


class ExtractionMetrics:
    """Counts extraction, for the extractor and for its model.

    Args:
        counter: Declares a counter.
        histogram: Declares a histogram.
    """

    def __init__(self, counter: Counters, histogram: Histograms) -> None:
        considered = counter(
            "pinch_extraction_considered_total",
            "Results that a filter was thought of for, by the gate that decided.",
            ("gate",),
        )
        self._considered = {str(gate): considered.labels(gate) for gate in (*GATES, OTHER)}
        weighed = counter(
            "pinch_extraction_weighed_total",
            "Results that the economic gate weighed, by its reason and by what kind of text they are.",
            ("reason", "content_class"),
        )
        self._weighed = {
            (str(reason), kind): weighed.labels(reason, kind) for reason in REASONS for kind in CLASS_NAMES
        }
        found = counter(
            "pinch_extraction_lookups_total",
            "Results at the floor or above, and hits, by what was found frozen; only `nothing` needs a call.",
            ("found",),
        )
        self._found = {what: found.labels(what) for what in FOUND}
        notes = counter(
            "pinch_extraction_notes_total",
            "Results of which there was more to know than the gate that decided.",
            ("note",),
        )
        self._notes = {note: notes.labels(note) for note in NOTES}
        fallbacks = counter(
            "pinch_extraction_fallbacks_total",
            "Results sent as an excerpt that may have been sent extracted, by why.",
            ("fallback",),
        )
        self._fallbacks = {why: fallbacks.labels(why) for why in FALLBACKS}
        calls = counter(
            "pinch_extraction_calls_total", "Calls to the extraction model, by how they ended.", ("call",)
        )
        self._calls = {result: calls.labels(result) for result in (*CALL_RESULTS, OTHER)}
        self._seconds = histogram(
            "pinch_extraction_call_seconds",
            "Time that a call to the extraction model took, in seconds.",
            (),
            _BUCKETS,
        ).labels()
        tokens = counter(
            "pinch_extraction_tokens_total",
            "Tokens that the extraction model billed, by their kind.",
            ("kind",),
        )
        self._tokens = {kind: tokens.labels(kind) for kind in TOKEN_KINDS}
        self._cost = counter(
            "pinch_extraction_cost_usd_total", "What calls to the extraction model cost, in USD.", ()
        ).labels()
        filters = counter(
            "pinch_extraction_filters_total",
            "Filters that were run, by what came of them; `not_kept`: the database did not take it.",
            ("filter",),
        )
        self._filters = {result: filters.labels(result) for result in (*FILTER_RESULTS, OTHER)}
        repairs = counter(
            "pinch_extraction_repairs_total",
            "Programs that the model was asked to repair, by whether the interpreter took them then.",
            ("repair",),
        )
        self._repairs = {repair: repairs.labels(repair) for repair in REPAIRS}
        sent = counter(
            "pinch_extraction_sent_total",
            "Results sent extracted, for the first time (fresh) or again (replayed).",
            ("sent",),
        )
        self._sent = {kind: sent.labels(kind) for kind in SENT}
        self._saved = counter(
            "pinch_extraction_saved_tokens_total",
            "Tokens by which results sent extracted were shorter than they came, again in each call.",
            (),
        ).labels()
        self._value = counter(
            "pinch_extraction_value_usd_total",
            "What those tokens were worth, fresh ones at the call's rate and replayed ones at a read, in USD;"
            " less the cost it is the net value.",
            (),
        ).labels()
        self._beyond = counter(
            "pinch_extraction_beyond_excerpt_usd_total",
            "What they were shorter than the excerpts that would have been sent instead was worth, in USD, at"
            " the same rates; less the cost it is what extraction changed the bill by.",
            (),
        ).labels()
        self._full = counter(
            "pinch_extraction_queue_full_total",
            "Results that no filter was written for because too many waited for one.",
            (),
        ).labels()

    def extraction_considered(self, considering: Considering) -> None:
        """Counts a result that was looked at: its gate, what the economic one said, what was found of it."""
        (self._considered.get(considering.gate) or self._considered[OTHER]).inc()
        weighed = self._weighed.get((considering.reason, considering.content_class))
        if weighed is not None:
            weighed.inc()
        if considering.found is not None:
            self._found[considering.found].inc()
        for note in considering.notes:
            self._notes[note].inc()

    def extraction_fell_back(self, why: Fallback) -> None:
        """Counts a result that is sent as an excerpt and may have been sent extracted."""
        self._fallbacks[why].inc()

    def extraction_sent(
        self, *, is_fresh: bool, saved_tokens: int, value_usd: float, beyond_excerpt_usd: float
    ) -> None:
        """Counts a result that is sent extracted.

        Args:
            is_fresh: Whether for the first time.
            saved_tokens: By how much it is shorter than it came (tokens).
            value_usd: What that is worth in this call (USD).
            beyond_excerpt_usd: What it is worth by how much it is shorter than its excerpt (USD).
        """
        self._sent[SENT[0] if is_fresh else SENT[1]].inc()
        self._saved.inc(max(0, saved_tokens))
        self._value.inc(max(0.0, value_usd))
        self._beyond.inc(max(0.0, beyond_excerpt_usd))

    def filter_written(self, record: FilterRecord) -> None:
        """Counts a filter that was run, or could not be had."""
        (self._filters.get(record.result) or self._filters[OTHER]).inc()
        if record.repair is not Repair.NONE:
            self._repairs[record.repair].inc()

    def extraction_queue_full(self) -> None:
        """Counts a result that no filter is written for because too many wait."""
        self._full.inc()

    def model_called(
        self, result: str, *, cost_usd: float, latency_ms: float, tokens: tuple[int, int, int, int]
    ) -> None:
        """Counts a call to the model.

        Args:
            result: How it ended (one of `CALL_RESULTS`).
            cost_usd: What it cost (USD).
            latency_ms: How long it took (milliseconds).
            tokens: What was billed, in the order of `TOKEN_KINDS` (tokens).
        """
        (self._calls.get(result) or self._calls[OTHER]).inc()
        if result not in NOT_SENT:
            self._seconds.observe(latency_ms / 1_000)
        self._cost.inc(cost_usd)
        for kind, count in zip(TOKEN_KINDS, tokens, strict=True):
            self._tokens[kind].inc(count)
