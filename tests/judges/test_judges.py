"""No provider's own software objects to a pruned body that it took before."""

from __future__ import annotations

import pytest

from tests.judges.exhibits import exhibits
from tests.judges.sdks import JUDGES

LEAST_ACCEPTED = 5
"""Bodies that a judge must have accepted as sent, so that its verdict on the pruned ones says something."""


@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_accepts_what_it_accepted_before(judge: str) -> None:
    """Every body that a provider's types accept as sent is accepted as pruned; objections never grow."""
    dialect, objections = JUDGES[judge]
    accepted = 0
    for exhibit in exhibits(dialect):
        before = objections(exhibit.before)
        after = objections(exhibit.after)
        assert len(after) <= len(before), (exhibit.name, after)
        accepted += not before
    assert accepted >= LEAST_ACCEPTED


@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_does_object(judge: str) -> None:
    """Each judge refuses a body whose tool results were broken, so its silence means something."""
    dialect, objections = JUDGES[judge]
    exhibit = next(exhibit for exhibit in exhibits(dialect) if not objections(exhibit.before))
    assert objections(broken(exhibit.after))


def broken(body: object) -> object:
    """The body with its tool results' contents put as a number, or gone where that is judged."""
    if isinstance(body, list):
        return [broken(below) for below in body]
    if not isinstance(body, dict):
        return body
    changed = {key: broken(below) for key, below in body.items()}
    if body.get("role") == "tool" or body.get("type") == "tool_result":
        changed["content"] = 5
    elif str(body.get("type")).endswith("_call_output"):
        changed["output"] = 5
    elif "functionResponse" in body:
        changed["functionResponse"] = {**body["functionResponse"], "response": "text"}
    elif "toolResult" in body:
        changed["toolResult"] = {**body["toolResult"], "content": "text"}
    return changed
