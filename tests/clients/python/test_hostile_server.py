"""C1, C3, C4, C6: the fail-open table of the contract, against a real server that errs as it is asked to."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from pinch import MESSAGE_LIMIT_BYTES, ChatMessage, ContentPart, Limits, Outcome, PinchError, ToolCall
from pinch_server.rpc.spoiled import SPOILERS
from tests.rpc.conversations import body

BODY = body()
SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)
SECONDS = 60

Run = Callable[..., Any]


def messages() -> list[ChatMessage]:
    """The same conversation as typed messages."""
    made = []
    for said in json.loads(BODY)["messages"]:
        message = ChatMessage(role=said["role"], tool_call_id=said.get("tool_call_id", ""))
        if said.get("content"):
            message.content.append(ContentPart(text=said["content"]))
        for call in said.get("tool_calls", ()):
            function = call["function"]
            message.tool_calls.append(
                ToolCall(id=call["id"], name=function["name"], arguments=function["arguments"])
            )
        made.append(message)
    return made


def prune(
    run: Run, address: str, given: Any, *, dry_run: bool = False, strict: bool = False, **faults: str
) -> Any:
    """Prunes through a client whose calls ask for faults."""
    metadata = {f"pinch-test-{name.replace('_', '-')}": value for name, value in faults.items()}
    method = "prune_chat" if isinstance(given, list) else "prune_openai"
    return run(
        address,
        lambda client: getattr(client, method)(given, limits=SMALL, dry_run=dry_run),
        metadata=metadata,
        strict=strict,
        timeout=SECONDS,
    )


FORMS = {"bytes": BODY, "dict": json.loads(BODY), "typed": messages()}
each_form = pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)


@each_form
def test_without_a_fault_it_prunes(given: Any, address: str, run: Run) -> None:
    """C8: the conversation of these tests has edits to spoil, and is itself never changed."""
    before = copy.deepcopy(given)
    result = prune(run, address, given)
    assert result.error is None
    assert len(result.edits) >= 2
    assert result.body is not given
    assert result.measured.tokens < result.stats.original_tokens
    assert result.turn_frame.message
    assert given == before


@each_form
@pytest.mark.parametrize("kind", SPOILERS)
def test_spoiled_edits_are_refused_whole(kind: str, given: Any, address: str, run: Run) -> None:
    """C6: edits that break one check give back the caller's own conversation, unchanged."""
    before = copy.deepcopy(given)
    result = prune(run, address, given, dry_run=kind == "made-up", edits=kind)
    assert result.body is given
    assert given == before
    assert (result.pruned, result.reason) == (False, "invalid_reply")
    with pytest.raises(PinchError):
        prune(run, address, given, dry_run=kind == "made-up", strict=True, edits=kind)


@pytest.mark.parametrize("how", ["truncated", "noise"])
def test_a_reply_that_cannot_be_decoded(how: str, address: str, run: Run) -> None:
    """C1: a damaged reply is an invalid one."""
    result = prune(run, address, BODY, reply=how)
    assert (result.body is BODY, result.reason) == (True, "invalid_reply")


def test_a_reply_over_the_limit(address: str, run: Run) -> None:
    """C4: a reply of more than 64 MiB is not taken."""
    result = prune(run, address, BODY, reply="oversized")
    assert (result.body is BODY, result.reason) == (True, "resource_exhausted")


def test_a_body_over_the_limit(address: str, run: Run) -> None:
    """C4: a body of more than 64 MiB comes back as it is."""
    given = b" " * (MESSAGE_LIMIT_BYTES + 1)
    result = prune(run, address, given)
    assert (result.body is given, result.reason) == (True, "resource_exhausted")


def test_a_hung_server(address: str, run: Run) -> None:
    """C2: a server that does not answer costs the deadline and no more."""
    result = run(
        address,
        lambda client: client.prune_openai(BODY, limits=SMALL),
        metadata={"pinch-test-delay-ms": "3600000"},
        timeout=0.2,
    )
    assert (result.body is BODY, result.reason) == (True, "deadline_exceeded")


def test_a_body_that_is_no_json(address: str, run: Run) -> None:
    """C1: INVALID_ARGUMENT fails open like any other status."""
    given = b"no json at all"
    result = prune(run, address, given)
    assert (result.body is given, result.reason) == (True, "invalid_argument")


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status(code: grpc.StatusCode, address: str, run: Run) -> None:
    """C1: every status code but OK has its slug, and is an error for a strict client."""
    result = prune(run, address, BODY, status=code.name)
    assert (result.body is BODY, result.reason) == (True, code.name.lower())
    with pytest.raises(PinchError):
        prune(run, address, BODY, strict=True, status=code.name)


def test_one_retry_for_unavailable_alone(address: str, run: Run, request: pytest.FixtureRequest) -> None:
    """C3: one UNAVAILABLE is got over, two are not, and one of anything else is not either."""
    for code, times, reason in (
        ("UNAVAILABLE", "1", None),
        ("UNAVAILABLE", "2", "unavailable"),
        ("INTERNAL", "1", "internal"),
    ):
        key = f"{request.node.name}-{code}-{times}"
        assert prune(run, address, BODY, status=code, times=times, key=key).reason == reason


def test_an_outcome_is_held(address: str, run: Run) -> None:
    """C9: the decision's outcome can be reported, and a server that errs makes it False."""
    decision_id = prune(run, address, BODY).decision_id

    def report(**settings: Any) -> Any:
        return run(
            address,
            lambda client: client.report_outcome(decision_id, Outcome.OUTCOME_DISPATCHED, cost_usd="0.01"),
            timeout=SECONDS,
            **settings,
        )

    assert report() is True
    assert report(metadata={"pinch-test-status": "INTERNAL"}) is False
