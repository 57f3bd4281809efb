"""C6, C8, C9: every vector and every reported case, through both clients and a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from pinch import Format, Limits, Pruned, Stability, TrimStyle
from tests.cases.cases import Case, expectation_violations, load_cases
from tests.vectors.vectors import load_vector, vector_files

FORMATS = {
    "openai-chat": Format.FORMAT_OPENAI_CHAT,
    "anthropic": Format.FORMAT_ANTHROPIC_MESSAGES,
    "openai-responses": Format.FORMAT_OPENAI_RESPONSES,
    "gemini": Format.FORMAT_GEMINI,
    "bedrock": Format.FORMAT_BEDROCK_CONVERSE,
}
VECTORS = [load_vector(place) for place in vector_files()]
CASES = load_cases()
SECONDS = 60

Run = Callable[..., Any]


def limits_of(case: Case) -> Limits:
    """The limits as the contract says that they are read."""
    limits = Limits()
    for name, value in case.limits.items():
        match name:
            case "protected_tools":
                limits.protected_tools.globs.extend(value)
                limits.protected_tools.SetInParent()
            case "stability":
                limits.stability = Stability.Value(f"STABILITY_{value.upper()}")
            case "trim_style":
                limits.trim_style = TrimStyle.Value(f"TRIM_STYLE_{value.upper()}")
            case _:
                setattr(limits, name, value)
    return limits


def by_index(case: Case, result: Pruned[Any]) -> list[str]:
    """What of an expectation does not hold, told from the edits' indices as the contract says."""

    def has_edit(message: int, block: int | None) -> bool:
        return any(
            edit.message_index == message and (block is None or edit.block_index == block)
            for edit in result.edits
        )

    expect = case.expect
    found = [f"{place} is as it was" for place in expect.get("must_change", ()) if not has_edit(*place)]
    found += [f"{place} has an edit" for place in expect.get("must_keep", ()) if has_edit(*place)]
    changed = {(edit.message_index, edit.block_index) for edit in result.edits}
    if len(changed) < expect.get("min_changed", 0):
        found.append(f"{len(changed)} results changed")
    return found


def check(case: Case, result: Pruned[bytes], given: bytes) -> None:
    assert result.error is None
    assert given == case.body
    assert (result.body is given) is not result.pruned
    assert result.stats is not None
    stats = MessageToDict(
        result.stats, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    assert expectation_violations(case, given, result.body, stats) == []
    assert by_index(case, result) == []


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case.id)
def test_vector(case: Case, address: str, run: Run) -> None:
    """A vector's body comes out as it says, byte for byte where it says so."""
    given = bytes(bytearray(case.body))
    result = run(
        address,
        lambda client: client.prune_body(given, FORMATS[case.format], limits=limits_of(case)),
        timeout=SECONDS,
    )
    check(case, result, given)


@pytest.mark.skipif(not CASES, reason="the folder shared/cases does not lie beside the project")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case, address: str, run: Run) -> None:
    """A reported case's body meets its expectation, and as a dict comes back as the same JSON."""
    given = bytes(bytearray(case.body))
    limits = limits_of(case)

    def prune(body: Any) -> Any:
        return run(
            address,
            lambda client: client.prune_body(body, FORMATS[case.format], limits=limits),
            timeout=SECONDS,
        )

    result = prune(given)
    check(case, result, given)
    body = json.loads(case.body)
    again = prune(body)
    if "Infinity" in json.dumps(body):  # a number beyond what Python's can hold, so no JSON any more
        assert (again.body is body, again.reason) == (True, "invalid_request")
        return
    assert again.error is None
    assert body == json.loads(case.body)
    assert (again.body is body) is not again.pruned
    assert again.body == json.loads(result.body)
