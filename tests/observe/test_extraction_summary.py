"""What extraction did, summed up from its metrics."""

from typing import Any

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.core.extraction.considered import Considering, Fallback, Found, Note
from pinch_server.core.extraction.economics import Reason
from pinch_server.core.extraction.record import FilterRecord, Repair
from pinch_server.core.extraction.slugs import NOT_SENT
from pinch_server.core.pricing import CacheState
from pinch_server.observe.extraction_summary import extraction_summary
from pinch_server.observe.metrics import Metrics

NO_TOKENS = (0, 0, 0, 0)


def considering(gate: Gate, **more: Any) -> Considering:
    return Considering(0, None, gate, 3_000, CacheState.NONE, **more)


def a_record(repair: Repair) -> FilterRecord:
    return FilterRecord("accepted", "m", "code", "high", CacheState.NONE, "", "", 3_000, 900, repair, ())


def test_nothing_yet_is_zero() -> None:
    """Before the first call counts are zero, reasons none, money 0.000000, and there is no median."""
    found = extraction_summary(Metrics(version="0").collect())
    assert (found.calls, found.considered, found.sent_fresh, found.saved_tokens) == (0, 0, 0, 0)
    assert (found.call_faults, found.suppressed, found.filters) == ({}, {}, {})
    assert (found.cost_usd, found.value_usd, found.net_usd) == ("0.000000",) * 3
    assert (found.beyond_excerpt_usd, found.net_beyond_excerpt_usd) == ("0.000000",) * 2
    assert (found.reasons, found.notes, found.fallbacks, found.repairs) == ({}, {}, {}, {})
    assert (found.lookups, found.calls_avoided, found.top_reason) == (0, 0, "")
    assert found.hit_share is found.mean_call_seconds is found.median_call_seconds is None


def test_calls_that_were_never_sent_are_faults_and_no_calls() -> None:
    """A call that money or the breaker forbids is a fault with its reason, no call, and in no median."""
    metrics = Metrics(version="0")
    for fault in NOT_SENT:
        metrics.extraction.model_called(fault, cost_usd=0.0, latency_ms=0.0, tokens=NO_TOKENS)
    metrics.extraction.model_called("429", cost_usd=0.0, latency_ms=1_500.0, tokens=NO_TOKENS)
    found = extraction_summary(metrics.collect())
    assert found.calls == 1
    assert found.call_faults == {**dict.fromkeys(NOT_SENT, 1), "429": 1}
    assert found.median_call_seconds is not None
    assert 1.0 < found.median_call_seconds <= 2.0


def test_replies_are_calls_and_no_faults() -> None:
    """Replies count as calls, those cut at the cap as truncated too; what is in no list is a fault."""
    metrics = Metrics(version="0")
    for result in ("answered", "answered", "truncated", "a fault of no list"):
        metrics.extraction.model_called(result, cost_usd=0.1, latency_ms=800.0, tokens=NO_TOKENS)
    found = extraction_summary(metrics.collect())
    assert (found.calls, found.truncated, found.call_faults) == (4, 1, {"other": 1})
    assert found.cost_usd == "0.400000"


def test_only_what_a_gate_kept_back_is_suppressed() -> None:
    """Results that were let through, on advice or frozen before count as considered, not as suppressed."""
    metrics = Metrics(version="0")
    passed = ("allowed", "economic_gate_advisory", "reapplied_same_session", "reapplied_cross_session")
    for gate in (*passed, "economic_gate", "economic_gate", "cached_prefix"):
        metrics.extraction.extraction_considered(considering(Gate(gate)))
    found = extraction_summary(metrics.collect())
    assert found.considered == 7
    assert found.suppressed == {"economic_gate": 2, "cached_prefix": 1}


def test_the_net_value_is_that_of_the_figures_shown() -> None:
    """Net is the rounded gross value less the rounded cost, below zero where the calls cost more."""
    metrics = Metrics(version="0")
    metrics.extraction.model_called("answered", cost_usd=0.0020014, latency_ms=900.0, tokens=NO_TOKENS)
    metrics.extraction.extraction_sent(
        is_fresh=True, saved_tokens=300, value_usd=0.0010006, beyond_excerpt_usd=0.0002
    )
    metrics.extraction.extraction_sent(
        is_fresh=False, saved_tokens=300, value_usd=0.0, beyond_excerpt_usd=0.0003
    )
    found = extraction_summary(metrics.collect())
    assert (found.sent_fresh, found.sent_replayed, found.saved_tokens) == (1, 1, 600)
    assert (found.value_usd, found.cost_usd, found.net_usd) == ("0.001001", "0.002001", "-0.001000")
    assert (found.beyond_excerpt_usd, found.net_beyond_excerpt_usd) == ("0.000500", "-0.001501")


def test_what_was_found_spares_calls() -> None:
    """Texts, refusals and filters under way spare a call; texts and refusals are hits."""
    metrics = Metrics(version="0")
    for found, times in ((Found.TEXT, 3), (Found.REFUSAL, 1), (Found.UNDER_WAY, 2), (Found.NOTHING, 2)):
        for _ in range(times):
            metrics.extraction.extraction_considered(considering(Gate.REPLAYED_SESSION, found=found))
    metrics.extraction.extraction_considered(considering(Gate.BELOW_FLOOR))
    summed = extraction_summary(metrics.collect())
    assert (summed.lookups, summed.hit_share, summed.calls_avoided) == (8, 0.5, 6)


def test_the_economic_gate_s_words_are_counted_over_all_classes() -> None:
    """Reasons are summed over classes, the most frequent is named; other reasons are none of the gate's."""
    metrics = Metrics(version="0")
    told = [
        considering(Gate.ECONOMIC, reason=Reason.NOT_PAID, content_class=kind, notes=(Note.LOW_YIELD,))
        for kind in ("json_blob", "grep_output")
    ]
    told.append(considering(Gate.ALLOWED, reason=Reason.EXPLORING, content_class="ls_listing"))
    told.append(considering(Gate.REFUSED_BEFORE, reason="syntax error"))
    for one in told:
        metrics.extraction.extraction_considered(one)
    summed = extraction_summary(metrics.collect())
    assert summed.reasons == {"saving below call cost": 2, "exploring": 1}
    assert summed.top_reason == "saving below call cost"
    assert summed.notes == {"low_yield_content_class": 2}
    series = 'weighed_total{content_class="json_blob",reason="saving below call cost"} 1.0'
    assert f"pinch_extraction_{series}" in metrics.page().decode()


def test_repairs_fallbacks_and_times_are_told() -> None:
    """Repairs that worked and those that did not, why excerpts were sent, and what a call took on average."""
    metrics = Metrics(version="0")
    for repair in (Repair.NONE, Repair.FIXED, Repair.FAILED, Repair.FIXED):
        metrics.extraction.filter_written(a_record(repair))
    metrics.extraction.extraction_fell_back(Fallback.LOST)
    for latency_ms in (500.0, 1_500.0):
        metrics.extraction.model_called("answered", cost_usd=0.0, latency_ms=latency_ms, tokens=(9, 1, 0, 70))
    found = extraction_summary(metrics.collect())
    assert found.tokens == {"prompt": 18, "completion": 2, "cache_write": 140}
    assert (found.repairs, found.fallbacks) == ({"fixed": 2, "failed": 1}, {"lost": 1})
    assert found.mean_call_seconds == 1.0
    assert found.filters == {"accepted": 4}
