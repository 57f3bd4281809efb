"""The receipt that a decision is stored with."""

from typing import Any

import pytest

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import COUNTERS
from pinch_server.core.decision import Decision
from pinch_server.core.plan import Edit
from pinch_server.decide import Body, CallContext, Decider, Policy, PruneCall
from pinch_server.observe.metrics import Metrics
from tests.rpc.conversations import body, messages
from tests.rpc.service import SMALL, Kept


def decided(said: list[dict[str, Any]], *, keeps_receipts: bool = True) -> tuple[Decision, tuple[Edit, ...]]:
    """The row of one call, and the edits of its reply."""
    kept = Kept()
    policy = Policy(SMALL, True, "fingerprint", b"key", keeps_receipts=keeps_receipts)
    metrics = Metrics(version="0")
    answer = Decider(policy, COUNTERS["chars3"], kept, metrics, SystemClock(), Uuid7Ids()).decide(
        PruneCall(Body(body(said)))
    )
    (row,) = kept.decisions
    return row, answer.edits


def named(name: str) -> list[dict[str, Any]]:
    """A session all of whose results are of a tool of this name."""
    said = messages()
    for message in said:
        for call in message.get("tool_calls", ()):
            call["function"]["name"] = name
    return said


def test_every_edit_has_its_line() -> None:
    """A receipt has a line for each edit, in their order, with place and size, and counts the new ones."""
    row, edits = decided(messages())
    assert len(row.trims) == len(edits) > 0
    for trim, edit in zip(row.trims, edits, strict=True):
        assert (trim.message, trim.block, trim.part) == (edit.message, edit.block, edit.old.index)
        assert (trim.action, trim.reason, trim.is_new) == (edit.action, edit.reason, edit.is_new)
        assert (trim.tokens_before, trim.tokens_after) == (edit.tokens_before, edit.tokens_after)
        assert trim.is_extracted is edit.is_extracted is False
        assert trim.tool == "read_file"
    new = sum(edit.is_new for edit in edits)
    assert row.trimmed_tools == (f"read_file {new}" if new else None)


@pytest.mark.parametrize("name", ["my secret plan", "ünïcode", "a,b 3", "x" * 65, "line\nbreak"])
def test_a_name_that_is_no_word_is_not_kept(name: str) -> None:
    """What comes as a tool's name but is more than one word of letters and digits is kept nowhere."""
    row, edits = decided(named(name))
    assert {trim.tool for trim in row.trims} == {""}
    assert len(row.trims) == len(edits) > 0
    assert name not in (row.trimmed_tools or "")


def test_receipts_can_be_switched_off() -> None:
    """With store.receipts off a decision has its counts as before, and no line."""
    row, edits = decided(messages(), keeps_receipts=False)
    assert edits
    assert (row.trims, row.trimmed_tools) == ((), None)


@pytest.mark.parametrize(("session", "lines"), [("one", 0), ("", None)])
def test_a_call_that_repeats_the_trims_before_stores_none(session: str, lines: int | None) -> None:
    """Within a session the same trims are stored once; a call of no session always has its receipt."""
    kept = Kept()
    policy = Policy(SMALL, True, "fingerprint", b"key")
    decider = Decider(policy, COUNTERS["chars3"], kept, Metrics(version="0"), SystemClock(), Uuid7Ids())
    call = PruneCall(Body(body(messages())), context=CallContext(session_id=session))
    edits = [decider.decide(call).edits for _ in range(2)]
    first, again = (len(row.trims) for row in kept.decisions)
    assert first == len(edits[0]) == len(edits[1]) > 0
    assert again == (first if lines is None else lines)


def test_sessions_of_two_tenants_know_nothing_of_each_other() -> None:
    """Where two tenants give sessions one name, neither's receipt nor last payload stands for the other's."""
    kept = Kept()
    policy = Policy(SMALL, True, "fingerprint", b"key", probes_prefix=True)
    decider = Decider(policy, COUNTERS["chars3"], kept, Metrics(version="0"), SystemClock(), Uuid7Ids())
    answers = [
        decider.decide(PruneCall(Body(body(messages())), context=CallContext(session_id="s", tenant=tenant)))
        for tenant in ("blue", "red", "blue", "")
    ]
    assert [len(row.trims) > 0 for row in kept.decisions] == [True, True, True, True]
    prefixes = [answer.prefix for answer in answers if answer.prefix is not None]
    assert [prefix.share is not None for prefix in prefixes] == [False, False, True, False]
