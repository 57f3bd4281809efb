"""What the files of deploy/ and docs/operating.md name, and what there is."""

import re
from functools import cache
from pathlib import Path

from pinch_server.observe.metrics import Metrics
from pinch_server.settings.describe import knobs

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OPERATING = ROOT / "docs" / "operating.md"
_METRIC = re.compile(r"\b(?:pinch_[a-z_]+|grpc_server_[a-z_]+)\b")
_VARIABLE = re.compile(r"\bPINCH_[A-Z0-9_]+\b")
_NO_SETTING = {"PINCH_CONFIG"}
"""Variables that the command line itself reads."""


@cache
def series_names() -> frozenset[str]:
    """The name of every series on the page of metrics."""
    names: set[str] = set()
    for metric in Metrics(version="").descriptions():
        suffixes = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        names |= {metric.name + suffix for suffix in suffixes}
    return frozenset(names)


@cache
def metric_names() -> frozenset[str]:
    """The name of every metric, as docs/metrics.md has it."""
    return frozenset(metric.name for metric in Metrics(version="").descriptions())


@cache
def variable_names() -> frozenset[str]:
    """Every variable that a start accepts."""
    return frozenset({knob.variable for knob in knobs()} | _NO_SETTING)


def metrics_in(text: str) -> set[str]:
    """What looks like the name of one of our series in a text."""
    return set(_METRIC.findall(text))


def variables_in(text: str) -> set[str]:
    """What looks like a variable of ours in a text."""
    return set(_VARIABLE.findall(text))


def default(key: str) -> str:
    """The default of a setting, as docs/configuration.md has it."""
    return next(knob.default for knob in knobs() if knob.key == key)


def anchors(markdown: str) -> set[str]:
    """The anchors that a page's headings have."""
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
