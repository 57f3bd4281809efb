"""What is judged: bodies before and after pruning, from the cases, vectors, sessions and the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.conversations import DIALECTS, generate_bytes
from bench.corpus import conversations
from pinch_server.core.limits import Limits
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from tests.cases.cases import load_cases
from tests.formats.bodies import TIGHT, prune
from tests.vectors.vectors import load_vector, vector_files

Json = Any


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One body as sent and as pruned, both decoded."""

    name: str
    format: str
    before: Json
    after: Json


@cache
def exhibits(format: str) -> tuple[Exhibit, ...]:
    """Every pruned body of a dialect; bodies that nothing is trimmed of are left out."""
    return tuple(exhibit for exhibit in _all(format) if exhibit.before != exhibit.after)


def _all(format: str) -> Iterator[Exhibit]:
    for case in (*load_cases(), *map(load_vector, vector_files())):
        if case.format == format:
            yield from _exhibit(case.id, format, case.body, TIGHT)
    if format in DIALECTS:
        for seed in range(2):
            for budget in (1, 20_000):
                body = generate_bytes(seed, tokens=40_000, format=format)  # type: ignore[arg-type]
                yield from _exhibit(f"session-{seed}-{budget}", format, body, Limits(budget_tokens=budget))
    for conversation in conversations():
        if conversation.format == format:
            limits = Limits(budget_tokens=10_000)
            yield from _exhibit(conversation.name, format, conversation.body, limits)


def _exhibit(name: str, format: str, body: bytes, limits: Limits) -> Iterator[Exhibit]:
    try:
        after = prune(body, format, limits).body
        yield Exhibit(name, format, json.loads(body), json.loads(after))
    except (BodyError, NotUnderstoodError, ValueError):
        return
