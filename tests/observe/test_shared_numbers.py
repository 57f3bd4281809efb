"""One page over the numbers of several processes."""

from array import array

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pinch_server.observe.metrics import Metrics

PRUNE = "/pinch.v1.PruneService/Prune"


def made() -> Metrics:
    return Metrics(version="1", methods=[PRUNE])


def row(metrics: Metrics) -> "memoryview[float]":
    return memoryview(array("d", bytes(metrics.size * 8)))


def total(metrics: Metrics, name: str) -> float:
    families = text_string_to_metric_families(metrics.page().decode())
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def test_counters_and_histograms_are_added_up_and_gauges_by_their_meaning() -> None:
    """The page has the sum of what all count and hold, and one build however many run it."""
    parent, workers = made(), (made(), made())
    rows = [row(parent) for _ in workers]
    parent.show_also(rows)
    for worker, own in zip(workers, rows, strict=True):
        worker.count_in(own)
        worker.rpc_handled(PRUNE, "OK", 0.02)
        worker.journal_pending(3)
    parent.store_failed()
    assert total(parent, "grpc_server_handled_total") == 2
    assert total(parent, "grpc_server_handling_seconds_count") == 2
    assert total(parent, "grpc_server_handling_seconds_sum") == pytest.approx(0.04)
    assert total(parent, "pinch_journal_pending") == 6
    assert total(parent, "pinch_store_errors_total") == 1
    assert total(parent, "pinch_build_info") == 1


def test_what_a_worker_counted_outlives_it() -> None:
    """A worker that is gone leaves its counts and takes what it held; its successor counts on from there."""
    parent, own = made(), row(made())
    parent.show_also([own])
    first = made()
    first.count_in(own)
    first.rpc_started(PRUNE)
    first.journal_pending(5)
    parent.worker_gone(own)
    assert total(parent, "grpc_server_started_total") == 1
    assert total(parent, "pinch_journal_pending") == 0
    second = made()
    second.count_in(own)
    second.rpc_started(PRUNE)
    assert total(parent, "grpc_server_started_total") == 2


def test_only_what_is_laid_out_alike_can_be_shared() -> None:
    """Another method or version gives another layout, and a row of another size is refused."""
    assert made().layout == made().layout
    assert made().layout != Metrics(version="2", methods=[PRUNE]).layout
    assert made().layout != Metrics(version="1", methods=[PRUNE[:-1]]).layout
    with pytest.raises(ValueError, match="room for 1"):
        made().count_in(memoryview(array("d", [0.0])))
