"""The yardstick of growth: it sends what it says, and tells linear growth from any that is not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import pytest

from bench.growth.bodies import growing, of_messages, of_tokens, request
from bench.growth.charts import charts
from bench.growth.steps import Step, exponent, faults


def _step(against: str, value: int, first: float, per_second: float = 0.0) -> Step:
    tokens = value if against == "tokens" else 500_000
    return Step(against, value, tokens, first, 1 + first / 10, 1.0, per_second)


LINEAR = [
    *(_step("tokens", value, 1.0 + value / 50_000) for value in (2_000, 8_000, 48_000)),
    *(_step("tokens", value, 1.0 + value / 5_000) for value in (64_000, 500_000, 4_000_000)),
    *(_step("messages", value, 40.0 + value / 50) for value in (11, 1_001, 5_001, 20_001, 50_001)),
    *(_step("callers", value, 1.0, rate) for value, rate in ((1, 900.0), (2, 1_400.0), (64, 1_100.0))),
]
"""Linear on both sides of the budget, with the step between them that pruning costs."""


def test_growth_is_told_by_its_exponent() -> None:
    """A cost that doubles with its cause has exponent 1, one that quadruples 2."""
    steps = [_step("tokens", 10, 5), _step("tokens", 20, 10), _step("tokens", 40, 40)]
    assert [exponent(*two) for two in pairwise(steps)] == [pytest.approx(1.0), pytest.approx(2.0)]


def test_linear_growth_passes() -> None:
    """What is linear within the budget and above it has no fault, though pruning begins between them."""
    assert faults(LINEAR) == []


@pytest.mark.parametrize(
    ("against", "value", "change", "word"),
    [
        ("tokens", 48_000, {"first_ms": 15.0}, "from 8,000 to 48,000 tokens the first call"),
        ("tokens", 64_000, {"again_ms": 2.1}, "the again call goes from 1 to 2.1 ms"),
        ("tokens", 64_000, {"next_ms": 3.0}, "the next call goes from 1.2 to 3 ms"),
        ("tokens", 64_000, {"first_ms": 25.0}, "where pruning begins (64,000 tokens) the first call"),
        ("tokens", 4_000_000, {"first_ms": 1_500.0}, "to 4,000,000 tokens the first call"),
        ("tokens", 4_000_000, {"again_ms": 900.0}, "to 4,000,000 tokens the again call"),
        ("messages", 20_001, {"first_ms": 900.0}, "from 5,001 to 20,001 messages the first call"),
        ("messages", 20_001, {"next_ms": 99.0}, "from 5,001 to 20,001 messages the next call"),
        ("messages", 50_001, {"first_ms": 3_500.0}, "from 20,001 to 50,001 messages the first call"),
        ("messages", 50_001, {"next_ms": 9_000.0}, "to 50,001 messages the next call"),
        ("callers", 64, {"per_second": 900.0}, "64 callers get 900 calls a second of 1400 at best"),
    ],
)
def test_growth_beyond_linear_is_named(against: str, value: int, change: dict[str, float], word: str) -> None:
    """Each kind of call is held on each side of the budget, at the step between them, and for callers."""
    steps = [
        replace(step, **change) if (step.against, step.value) == (against, value) else step  # type: ignore[arg-type] # they are fields
        for step in LINEAR
    ]
    assert [word in fault for fault in faults(steps)] == [True]


def test_each_row_is_plotted() -> None:
    """There is a plot of each cause, and of sizes around the budget, with a legend that names its curves."""
    made = charts(LINEAR)
    assert list(made) == ["", "-budget", "-messages", "-callers"]
    kinds = ["a session&#x27;s first call", "a call with one round more", "the same call again"]
    for chart, cause, curves, points in zip(
        made.values(),
        ("tokens", "tokens", "messages", "calls under way"),
        (kinds, kinds, kinds, ["answered"]),
        (6, 4, 5, 3),
        strict=True,
    ):
        assert f">{cause}<" in chart
        assert all(f">{curve}<" in chart for curve in curves)
        assert chart.count("<circle") == points * len(curves)


def test_bodies_have_the_size_that_was_asked_for() -> None:
    """Messages vary while tokens stand still, and the other way round."""
    for count in (11, 101, 1_001):
        said = of_messages(count, 50_000)
        assert len(said) == count
        assert math.isclose(len(request(said, "x").body.json), 160_000, rel_tol=0.6)
    small, large = (len(request(of_tokens(tokens), "x").body.json) for tokens in (11_000, 32_000))
    assert math.isclose(large, 3 * small, rel_tol=0.3)


def test_a_session_grows_by_rounds() -> None:
    """Each of the last calls begins as the one before, and ends before an answer or at the end."""
    said = of_messages(101, 50_000)
    calls = growing(said)
    assert [len(call) for call in calls] == [91, 93, 95, 97, 99, 101]
    bodies = [json.loads(request(call, "x").body.json)["messages"] for call in calls]
    assert all(after[: len(before)] == before for before, after in pairwise(bodies))
    assert bodies[0][0] != json.loads(request(calls[0], "y").body.json)["messages"][0]
