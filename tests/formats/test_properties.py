"""What holds of every body of every dialect, valid or nearly so."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinch_server.core.limits import Limits
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from tests.checker.check import apply, check, check_edits
from tests.checker.recount import recount
from tests.formats.bodies import Pruned, prune
from tests.formats.grammar import FORMATS, bodies, limits

each_format = pytest.mark.parametrize("format", FORMATS)
many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def limits_said(limits: Limits) -> dict[str, Any]:
    """The limits as the checker takes them."""
    return {name: getattr(limits, name) for name in Limits.__dataclass_fields__}


def prune_or_refuse(body: bytes, format: str | None, limits: Limits) -> Pruned | None:
    """The outcome, or None for a body that is refused in words; any other exception is a fault."""
    try:
        return prune(body, format, limits)
    except (BodyError, NotUnderstoodError):
        return None


@each_format
@many
@given(st.data())
def test_any_body(format: str, data: st.DataObject) -> None:
    """The checker finds no fault, the edits are sound, the sizes true, and a second pass changes nothing."""
    body, chosen = data.draw(bodies(format)), data.draw(limits())
    outcome = prune_or_refuse(body, format, chosen)
    if outcome is None:
        return
    assert check(format, body, outcome.body, limits=limits_said(chosen)) == []
    edits = [
        {"offset": e.offset, "length": e.length, "replacement": e.replacement, "sha256": e.sha256}
        for e in outcome.edits
    ]
    assert check_edits(body, edits) == []
    assert apply(body, edits) == outcome.body
    for edit in outcome.edits:
        assert hashlib.sha256(body[edit.offset : edit.offset + edit.length]).digest() == edit.sha256
    stats = outcome.plan.stats
    assert stats.original_tokens == recount(format, body).total
    assert stats.final_tokens == recount(format, outcome.body).total
    assert stats.tokens_saved == stats.original_tokens - stats.final_tokens >= 0
    assert stats.pruned == (outcome.body != body)
    assert prune(outcome.body, format, chosen).body == outcome.body


@each_format
@many
@given(st.data())
def test_any_body_in_any_dialect(format: str, data: st.DataObject) -> None:
    """A body that is read in another dialect, or in whichever fits, is pruned without fault or refused."""
    body, chosen = data.draw(bodies(format)), data.draw(limits())
    other = data.draw(st.sampled_from([None, *FORMATS]))
    outcome = prune_or_refuse(body, other, chosen)
    if outcome is not None and other is not None:
        assert check(other, body, outcome.body, limits=limits_said(chosen)) == []


@each_format
@many
@given(st.data())
def test_any_bytes_near_a_body(format: str, data: st.DataObject) -> None:
    """A body with bytes cut out, doubled or overwritten is pruned without fault or refused, never worse."""
    body = data.draw(bodies(format))
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 40)))
    put = data.draw(st.one_of(st.binary(max_size=8), st.just(body[start:end] * 2)))
    broken = body[:start] + put + body[end:]
    outcome = prune_or_refuse(broken, format, Limits(budget_tokens=1, keep_last_turns=1))
    if outcome is not None:
        assert check(format, broken, outcome.body) == []
