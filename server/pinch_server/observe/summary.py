"""The metrics of a service in the few figures that a person looks at."""

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric

from pinch_server.core.quantiles import quantile
from pinch_server.observe.labels import STAGES


@dataclass(frozen=True, slots=True)
class StageTimes:
    """How long one stage of a decision took since the service started.

    Attributes:
        stage: One of `labels.STAGES`.
        count: Decisions that went through it.
        median_seconds: Half of them took at most this; None without any.
        p95_seconds: 95 % of them took at most this; None without any.
    """

    stage: str
    count: int
    median_seconds: float | None
    p95_seconds: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What the service has counted since it started.

    Attributes:
        decisions: Decisions made.
        stages: How long each stage took.
        journal_pending: Records that no database has yet.
        journal_dropped: Records that the journal could not take.
        store_errors: Failed attempts to move records into the database.
        embeddings_asked: Times that new embeddings were asked for.
        embedder_faults: Rankings that got none, by what was wrong; only what did happen.
    """

    decisions: int
    stages: tuple[StageTimes, ...]
    journal_pending: int
    journal_dropped: int
    store_errors: int
    embeddings_asked: int
    embedder_faults: dict[str, int]


def summary(metrics: Iterable[Metric]) -> Summary:
    """Sums metrics up, as `Metrics.collect` gives them."""
    totals: dict[str, float] = {}
    faults: dict[str, int] = {}
    buckets: dict[str, list[tuple[float, float]]] = {stage: [] for stage in STAGES}
    for metric in metrics:
        for sample in metric.samples:
            totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
            if sample.name == "pinch_relevance_unavailable_total" and sample.value:
                faults[sample.labels["fault"]] = int(sample.value)
            if sample.name == "pinch_stage_seconds_bucket" and sample.labels["stage"] in buckets:
                buckets[sample.labels["stage"]].append((float(sample.labels["le"]), sample.value))
    return Summary(
        decisions=int(totals["pinch_decisions_total"]),
        stages=tuple(_stage(stage, found) for stage, found in buckets.items()),
        journal_pending=int(totals["pinch_journal_pending"]),
        journal_dropped=int(totals["pinch_journal_dropped_total"]),
        store_errors=int(totals["pinch_store_errors_total"]),
        embeddings_asked=int(totals["pinch_embedding_seconds_count"]),
        embedder_faults=faults,
    )


def _stage(stage: str, buckets: list[tuple[float, float]]) -> StageTimes:
    count = int(buckets[-1][1]) if buckets else 0
    return StageTimes(stage, count, quantile(0.5, buckets), quantile(0.95, buckets))
