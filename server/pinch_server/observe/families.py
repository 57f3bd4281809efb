"""Metrics by name, and what they hold over all processes, in the terms of the Prometheus client."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from pinch_server.observe.slots import Counter, Gauge, Histogram, Row, Slots

Rows = Sequence[Row]
"""The rows of several processes, laid out alike."""
Merge = Literal["sum", "max"]
"""What a gauge is over several processes: what they have together, or the greatest."""


@dataclass(frozen=True, slots=True)
class MetricDescription:
    """What an operator reads about one metric.

    Attributes:
        name: The name on the page.
        kind: `counter`, `gauge` or `histogram`.
        labels: Its label names.
        meaning: Its help text.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


class CounterFamily:
    """A counter by its label values."""

    def __init__(self, slots: Slots, name: str, meaning: str, labels: tuple[str, ...]) -> None:
        self.name: Final = name
        self._slots = slots
        self._meaning = meaning
        self._labels = labels
        self._series: dict[tuple[str, ...], int] = {}

    def labels(self, *values: str) -> Counter:
        """The series of these label values, declared by this."""
        at = self._series[values] = self._slots.take(self.name, values)
        return Counter(self._slots, at)

    def collect(self, rows: Rows) -> Metric:
        """What it holds over all rows."""
        family = CounterMetricFamily(self.name, self._meaning, labels=self._labels)
        for values, at in self._series.items():
            family.add_metric(values, sum(row[at] for row in rows))
        return family


class GaugeFamily:
    """A gauge by its label values."""

    def __init__(self, slots: Slots, name: str, meaning: str, labels: tuple[str, ...], merge: Merge) -> None:
        self.name: Final = name
        self._slots = slots
        self._meaning = meaning
        self._labels = labels
        self._merge = merge
        self._series: dict[tuple[str, ...], int] = {}

    def labels(self, *values: str) -> Gauge:
        """The series of these label values, declared by this."""
        at = self._series[values] = self._slots.take(self.name, values)
        return Gauge(self._slots, at)

    def collect(self, rows: Rows) -> Metric:
        """What it is over all rows."""
        family = GaugeMetricFamily(self.name, self._meaning, labels=self._labels)
        for values, at in self._series.items():
            held = [row[at] for row in rows]
            family.add_metric(values, sum(held) if self._merge == "sum" else max(held))
        return family

    def copy(self, row: Row, to: Row) -> None:
        """Takes what it is over from one row into another."""
        for at in self._series.values():
            to[at] = row[at]

    def clear(self, row: Row) -> None:
        """Takes out of a row what its process held and, being gone, holds no more."""
        for at in self._series.values():
            row[at] = 0.0


class HistogramFamily:
    """A histogram by its label values."""

    def __init__(
        self, slots: Slots, name: str, meaning: str, labels: tuple[str, ...], bounds: tuple[float, ...]
    ) -> None:
        self.name: Final = name
        self._slots = slots
        self._meaning = meaning
        self._labels = labels
        self._bounds = bounds
        self._names = [*map(repr, bounds), "+Inf"]
        self._series: dict[tuple[str, ...], int] = {}

    def labels(self, *values: str) -> Histogram:
        """The series of these label values, declared by this."""
        count = len(self._bounds) + 2
        at = self._series[values] = self._slots.take(self.name, (*values, *self._names), count)
        return Histogram(self._slots, at, self._bounds)

    def collect(self, rows: Rows) -> Metric:
        """What it holds over all rows."""
        family = HistogramMetricFamily(self.name, self._meaning, labels=self._labels)
        for values, start in self._series.items():
            places = range(start, start + len(self._names))
            counts = accumulate(sum(row[at] for row in rows) for at in places)
            total = sum(row[places.stop] for row in rows)
            family.add_metric(values, list(zip(self._names, counts, strict=True)), total)
        return family


Family = CounterFamily | GaugeFamily | HistogramFamily


class Families:
    """All metrics over some rows; the Prometheus client's text writer takes it for a registry's collector."""

    def __init__(self, families: Sequence[Family], rows: Rows) -> None:
        self._families = families
        self._rows = rows

    def collect(self) -> Iterator[Metric]:
        """Each metric, in the order of declaration."""
        for family in self._families:
            yield family.collect(self._rows)
