"""The vectors of all five dialects through the formats and the plan: exact bytes where they are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pinch_server.core.limits import ORIGINAL, Limits, Stability, TrimStyle
from tests.cases.cases import Case, expectation_violations
from tests.checker.check import apply, check, check_edits
from tests.checker.recount import recount
from tests.formats.bodies import Pruned, prune
from tests.vectors.vectors import load_vector, vector_files

VECTORS = [load_vector(place) for place in vector_files()]
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)


def limits_of(vector: Case) -> Limits:
    """The vector's limits as the core takes them."""
    said: dict[str, Any] = dict(vector.limits)
    said["stability"] = Stability(said["stability"])
    said["trim_style"] = TrimStyle(said["trim_style"])
    said["protected_tools"] = tuple(said.get("protected_tools", ()))
    return replace(ORIGINAL, **{"keep_last_rounds": 4, **said})


def pruned(vector: Case) -> Pruned:
    return prune(vector.body, vector.format, limits_of(vector))


@each_vector
def test_vector_comes_out_as_written(vector: Case) -> None:
    """What a vector expects holds: its exact output, and its stats."""
    outcome = pruned(vector)
    stats = {"pruned": outcome.plan.stats.pruned, "budget_met": outcome.plan.stats.budget_met}
    assert expectation_violations(vector, vector.body, outcome.body, stats) == []


@each_vector
def test_vector_satisfies_the_checker(vector: Case) -> None:
    """The independent checker finds nothing wrong, neither with the body nor with its byte ranges."""
    outcome = pruned(vector)
    edits = [
        {"offset": e.offset, "length": e.length, "replacement": e.replacement, "sha256": e.sha256}
        for e in outcome.edits
    ]
    assert check(vector.format, vector.body, outcome.body, limits=vector.limits) == []
    assert check_edits(vector.body, edits) == []
    assert apply(vector.body, edits) == outcome.body


@each_vector
def test_vector_is_counted_right(vector: Case) -> None:
    """The sizes in the stats are those of an independent recount, before and after."""
    outcome = pruned(vector)
    stats = outcome.plan.stats
    assert stats.original_tokens == recount(vector.format, vector.body).total
    assert stats.final_tokens == recount(vector.format, outcome.body).total


@each_vector
def test_vector_is_pruned_once(vector: Case) -> None:
    """A pruned body pruned again is the same bytes."""
    once = pruned(vector).body
    assert prune(once, vector.format, limits_of(vector)).body == once


@each_vector
def test_vector_is_recognised(vector: Case) -> None:
    """Without a format the body is read in its own dialect, or has nothing to edit in any."""
    outcome = prune(vector.body, None, limits_of(vector))
    assert outcome.body == pruned(vector).body


def test_every_dialect_has_its_vectors() -> None:
    """There are at least forty vectors, and some for each dialect."""
    assert len(VECTORS) >= 40
    formats = {vector.format for vector in VECTORS}
    assert formats == {"openai-chat", "anthropic", "openai-responses", "gemini", "bedrock"}
