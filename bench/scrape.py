"""Two looks at a page of metrics, and what moved between them."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass

_PREFIXES = ("pinch_", "grpc_")
_LEFT_OUT = ("_created", "_bucket")


@dataclass(frozen=True, slots=True)
class Moved:
    """One series whose value changed; `before` is 0 where the series was not there."""

    series: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """What was added, negative when the value fell."""
        return self.after - self.before


def scrape(address: str) -> str:
    """The text of `/metrics` at `host:port`.

    Raises:
        OSError: Nobody answered, or not with status 200.
    """
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as reply:
        page: bytes = reply.read()
    return page.decode("utf-8")


def series(page: str) -> dict[str, float]:
    """Value by series (name with labels), of Pinch's own and of gRPC's metrics.

    Histogram buckets and creation times are left out: sums and counts say what moved.
    """
    found: dict[str, float] = {}
    for line in page.splitlines():
        name, _, value = line.rpartition(" ")
        metric = name.partition("{")[0]
        if metric.startswith(_PREFIXES) and not metric.endswith(_LEFT_OUT):
            found[name] = float(value)
    return found


def moved(before: str, after: str) -> list[Moved]:
    """The series that differ between two pages, in the order of the later one."""
    old, new = series(before), series(after)
    return [
        Moved(name, old.get(name, 0.0), value) for name, value in new.items() if old.get(name, 0.0) != value
    ]
