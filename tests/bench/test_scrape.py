"""What moved between two pages of metrics."""

from __future__ import annotations

from bench.scrape import moved, series

BEFORE = """\
# HELP pinch_decisions_total Decisions, by route and by how they came out.
# TYPE pinch_decisions_total counter
pinch_decisions_total{result="pruned",route="routed"} 2.0
pinch_decisions_total{result="disabled",route="routed"} 0.0
pinch_stage_seconds_bucket{le="0.1",stage="plan"} 2.0
pinch_stage_seconds_sum{stage="plan"} 0.25
pinch_decisions_created 1.7e+09
python_info{version="3.11"} 1.0
pinch_journal_pending 3.0
"""
AFTER = """\
pinch_decisions_total{result="pruned",route="routed"} 3.0
pinch_decisions_total{result="disabled",route="routed"} 0.0
pinch_stage_seconds_bucket{le="0.1",stage="plan"} 3.0
pinch_stage_seconds_sum{stage="plan"} 0.5
pinch_decisions_created 1.8e+09
python_info{version="3.12"} 2.0
pinch_journal_pending 1.0
grpc_server_handled_total{grpc_code="OK",grpc_method="Prune"} 1.0
"""


def test_only_changed_series_of_pinch_and_grpc() -> None:
    """Unchanged series, foreign ones, buckets and creation times are left out; new series start from 0."""
    found = moved(BEFORE, AFTER)
    assert [(line.series, line.before, line.after) for line in found] == [
        ('pinch_decisions_total{result="pruned",route="routed"}', 2.0, 3.0),
        ('pinch_stage_seconds_sum{stage="plan"}', 0.25, 0.5),
        ("pinch_journal_pending", 3.0, 1.0),
        ('grpc_server_handled_total{grpc_code="OK",grpc_method="Prune"}', 0.0, 1.0),
    ]
    assert found[2].change == -2.0


def test_equal_pages_show_nothing() -> None:
    """A page that did not change has no moved lines."""
    assert moved(AFTER, AFTER) == []


def test_labels_may_hold_spaces() -> None:
    """The value is what follows the last space, whatever the labels hold."""
    assert series('pinch_build_info{version="0.1 dev"} 1.0\n') == {'pinch_build_info{version="0.1 dev"}': 1.0}
