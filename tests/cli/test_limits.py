"""`--limit NAME=VALUE`."""

from dataclasses import fields
from typing import Any

import pytest

from pinch_server.cli.limits import NAMES, describe, explained, read_limits
from pinch_server.core.limits import Limits, Stability, TrimStyle


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("budget_tokens=5000", 5000),
        ("budget_tokens=5_000", 5000),
        ("keep_last_turns = 2", 2),
        ("min_gain=0.25", 0.25),
        ("extra_fixed_tokens=0", 0),
        ("target_tokens=40000", 40_000),
        ("protected_tools=memory_*, plan", ("memory_*", "plan")),
        ("protected_tools=", ()),
        ("relevance=off", False),
        ("relevance=true", True),
        ("omit_images=No", False),
        ("stability=per_call", Stability.PER_CALL),
        ("trim_style=plain", TrimStyle.PLAIN),
    ],
)
def test_a_value_has_its_limits_type(pair: str, value: Any) -> None:
    """A value is read by the type of its limit."""
    limits, violations = read_limits([pair])
    assert violations == ()
    assert list(limits.values()) == [value]
    assert [type(one) for one in limits.values()] == [type(value)]


def test_every_limit_can_be_given() -> None:
    """Each limit of the core has a name on the command line and words for its values."""
    assert [field.name for field in fields(Limits)] == list(NAMES)
    assert all(describe(name) for name in NAMES)


def test_all_problems_come_at_once() -> None:
    """Each pair that cannot be read is named, with what to give instead."""
    pairs = ["budget_tokens=x", "min_gain=much", "relevance=maybe", "stability=never", "keep_last_turns"]
    limits, violations = read_limits([*pairs, "min_tokens_saved=1", "min_tokens_saved=2"])
    assert limits == {"min_tokens_saved": 1}
    assert [violation.field for violation in violations] == [
        "limits.budget_tokens",
        "limits.min_gain",
        "limits.relevance",
        "limits.stability",
        "--limit",
        "limits.min_tokens_saved",
    ]
    assert all("give" in violation.problem for violation in violations)


def test_an_unknown_limit_names_the_legal_ones() -> None:
    """A name that is no limit is answered with the nearest and with all of them."""
    _, (violation,) = read_limits(["bugdet_tokens=1"])
    assert violation.field == "limits.bugdet_tokens"
    assert "did you mean budget_tokens?" in violation.problem
    assert all(name in violation.problem for name in NAMES)


def test_every_limit_is_explained() -> None:
    """The help has a meaning for each limit, and not only the values that it may have."""
    lines = dict(zip(NAMES, explained(), strict=True))
    assert [name for name, line in lines.items() if line.endswith(describe(name))] == []
