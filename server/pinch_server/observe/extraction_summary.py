"""What extraction did and what it was worth, in the few figures that a person looks at."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from prometheus_client.metrics_core import Metric

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.considered import Found
from pinch_server.core.extraction.slugs import MODEL_FAULTS, NOT_SENT
from pinch_server.core.quantiles import quantile
from pinch_server.observe.labels import OTHER

_LET_THROUGH: Final = frozenset({Gate.ALLOWED, Gate.ADVISORY, Gate.REPLAYED_SESSION, Gate.REPLAYED_OTHERS})
_BY_LABEL: Final = {
    "considered": "gate",
    "weighed": "reason",
    "lookups": "found",
    "notes": "note",
    "fallbacks": "fallback",
    "calls": "call",
    "tokens": "kind",
    "filters": "filter",
    "repairs": "repair",
    "sent": "sent",
}
"""The label by which each counter is told."""
_PREFIX: Final = "pinch_extraction_"
_MICRO: Final = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class ExtractionSummary:
    """What extraction has counted since the service started.

    Attributes:
        calls: Calls that were sent to the model.
        truncated: Those whose reply was cut at the cap.
        call_faults: Calls without a reply, also those never sent, by what was wrong; only what did happen.
        mean_call_seconds: What a call took on average; None without any.
        median_call_seconds: Half of the calls took at most this; None without any.
        tokens: What the calls were billed for, by kind; only what did happen (tokens).
        considered: Results that a filter was thought of for, again in each call.
        suppressed: Those that no filter was written for, by the gate that decided; only what did happen.
        reasons: What the economic gate said, again in each call; only what did happen.
        top_reason: The most frequent of them; empty while there is none.
        notes: What there was to know beside the gates; only what did happen.
        lookups: Results of which something frozen was looked for, again in each call.
        hit_share: The share of them that was found (0 to 1); None while nothing was looked for.
        calls_avoided: Results that needed no call: something was frozen or under way; again in each call.
        fallbacks: Results sent as an excerpt that may have been sent extracted; only what did happen.
        repairs: Programs that were repaired or not; only what did happen.
        filters: Filters that were run, by what came of them; only what did happen.
        sent_fresh: Results sent extracted for the first time.
        sent_replayed: Results sent extracted again.
        saved_tokens: By how much those were shorter than they came (tokens).
        cost_usd: What the calls cost (USD, six decimals).
        value_usd: What the saved tokens were worth (USD, six decimals).
        net_usd: The value less the cost (USD, six decimals).
        beyond_excerpt_usd: What being shorter than the excerpts sent otherwise was worth (USD, six decimals).
        net_beyond_excerpt_usd: That less the cost: what the bill changed by (USD, six decimals).
    """

    calls: int
    truncated: int
    call_faults: dict[str, int]
    mean_call_seconds: float | None
    median_call_seconds: float | None
    tokens: dict[str, int]
    considered: int
    suppressed: dict[str, int]
    reasons: dict[str, int]
    top_reason: str
    notes: dict[str, int]
    lookups: int
    hit_share: float | None
    calls_avoided: int
    fallbacks: dict[str, int]
    repairs: dict[str, int]
    filters: dict[str, int]
    sent_fresh: int
    sent_replayed: int
    saved_tokens: int
    cost_usd: str
    value_usd: str
    net_usd: str
    beyond_excerpt_usd: str
    net_beyond_excerpt_usd: str


def extraction_summary(metrics: Iterable[Metric]) -> ExtractionSummary:
    """Sums the metrics of extraction up, as `Metrics.collect` gives them."""
    totals: dict[str, float] = {}
    counted: dict[str, dict[str, int]] = {name: {} for name in _BY_LABEL}
    buckets: list[tuple[float, float]] = []
    for metric in metrics:
        for sample in metric.samples:
            name = sample.name.removeprefix(_PREFIX).removesuffix("_total")
            if name == "call_seconds_bucket":
                buckets.append((float(sample.labels["le"]), sample.value))
            elif name in counted and sample.value:
                label = sample.labels[_BY_LABEL[name]]
                counted[name][label] = counted[name].get(label, 0) + int(sample.value)
            elif sample.name.startswith(_PREFIX):
                totals[name] = sample.value
    calls, gates, sent = counted["calls"], counted["considered"], counted["sent"]
    found, reasons = counted["lookups"], counted["weighed"]
    timed = totals["call_seconds_count"]
    lookups = sum(found.values())
    hits = found.get(Found.TEXT, 0) + found.get(Found.REFUSAL, 0)
    cost, value, beyond = (_usd(totals[name]) for name in ("cost_usd", "value_usd", "beyond_excerpt_usd"))
    return ExtractionSummary(
        calls=sum(count for call, count in calls.items() if call not in NOT_SENT),
        truncated=calls.get("truncated", 0),
        call_faults={call: count for call, count in calls.items() if call in (*MODEL_FAULTS, OTHER)},
        mean_call_seconds=totals["call_seconds_sum"] / timed if timed else None,
        median_call_seconds=quantile(0.5, buckets),
        tokens=counted["tokens"],
        considered=sum(gates.values()),
        suppressed={gate: count for gate, count in gates.items() if gate not in _LET_THROUGH},
        reasons=reasons,
        top_reason=max(reasons, key=lambda reason: reasons[reason], default=""),
        notes=counted["notes"],
        lookups=lookups,
        hit_share=hits / lookups if lookups else None,
        calls_avoided=lookups - found.get(Found.NOTHING, 0),
        fallbacks=counted["fallbacks"],
        repairs=counted["repairs"],
        filters=counted["filters"],
        sent_fresh=sent.get("fresh", 0),
        sent_replayed=sent.get("replayed", 0),
        saved_tokens=int(totals["saved_tokens"]),
        cost_usd=str(cost),
        value_usd=str(value),
        # Of the rounded ones, so that the three figures agree to the last digit.
        net_usd=str(value - cost),
        beyond_excerpt_usd=str(beyond),
        net_beyond_excerpt_usd=str(beyond - cost),
    )


def _usd(amount: float) -> Decimal:
    return Decimal(amount).quantize(_MICRO)
