"""Small bodies in the five dialects, and one call that reads, plans and writes as the service does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pinch_server.core.counting import Chars3
from pinch_server.core.limits import ORIGINAL, Limits
from pinch_server.core.plan import Plan
from pinch_server.core.planning import plan_pruning
from pinch_server.formats.body import byte_edits, read_body
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import ByteEdit, splice

TIGHT = replace(ORIGINAL, budget_tokens=1, keep_last_turns=1)
"""Limits under which every result before the last user turn is trimmed."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of a body: the bytes, the byte ranges that made them, and the plan."""

    body: bytes
    edits: tuple[ByteEdit, ...]
    plan: Plan


def prune(body: bytes, format: Format | str | None, limits: Limits = TIGHT) -> Pruned:
    """Prunes a body under the plain style, without a server around it.

    Raises:
        BodyError: The body is not a request of its dialect.
        NotUnderstoodError: It cannot be worked on.
    """
    reading = read_body(body, Format(format) if format is not None else None)
    plan = plan_pruning(reading.conversation, limits, Chars3())
    edits = tuple(edit for _, edit in byte_edits(reading, plan.edits))
    return Pruned(splice(body, edits), edits, plan)


def chat(result: str, *, more: str = "") -> bytes:
    """A chat body, written by hand: `result` is the JSON of one old tool result's content."""
    return (
        '{"model":"m",' + more + '"messages":['
        '{"role":"user","content":"start"},'
        '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",'
        '"function":{"name":"grep","arguments":"{}"}}]},'
        '{"role":"tool","tool_call_id":"a","content":' + result + "},"
        '{"role":"assistant","content":"done"},'
        '{"role":"user","content":"next"}]}'
    ).encode("utf-8", "surrogatepass")
