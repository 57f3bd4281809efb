"""What extraction did, summed up from its metrics."""

from pinch_server.core.extraction.slugs import NOT_SENT
from pinch_server.observe.extraction_summary import extraction_summary
from pinch_server.observe.metrics import Metrics

NO_TOKENS = (0, 0, 0, 0)


def test_nothing_yet_is_zero() -> None:
    """Before the first call counts are zero, reasons none, money 0.000000, and there is no median."""
    found = extraction_summary(Metrics(version="0").collect())
    assert (found.calls, found.considered, found.sent_fresh, found.saved_tokens) == (0, 0, 0, 0)
    assert (found.call_faults, found.suppressed, found.filters) == ({}, {}, {})
    assert (found.cost_usd, found.value_usd, found.net_usd) == ("0.000000",) * 3
    assert found.median_call_seconds is None


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
        metrics.extraction.extraction_considered(gate)
    found = extraction_summary(metrics.collect())
    assert found.considered == 7
    assert found.suppressed == {"economic_gate": 2, "cached_prefix": 1}


def test_the_net_value_is_that_of_the_figures_shown() -> None:
    """Net is the rounded gross value less the rounded cost, below zero where the calls cost more."""
    metrics = Metrics(version="0")
    metrics.extraction.model_called("answered", cost_usd=0.0020014, latency_ms=900.0, tokens=NO_TOKENS)
    metrics.extraction.extraction_sent(is_fresh=True, saved_tokens=300, value_usd=0.0010006)
    metrics.extraction.extraction_sent(is_fresh=False, saved_tokens=300, value_usd=0.0)
    found = extraction_summary(metrics.collect())
    assert (found.sent_fresh, found.sent_replayed, found.saved_tokens) == (1, 1, 600)
    assert (found.value_usd, found.cost_usd, found.net_usd) == ("0.001001", "0.002001", "-0.001000")
