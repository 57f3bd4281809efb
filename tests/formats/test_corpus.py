"""Every real conversation at three budgets: no fault, no exception, and numbers that are true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.corpus import BUDGETS, Conversation, conversations, prune, table
from pinch_server.core.limits import ORIGINAL, Limits
from tests.checker.check import apply, check, check_edits
from tests.checker.recount import recount

PLAIN = replace(ORIGINAL, keep_last_rounds=4)
CORPUS = list(conversations())
pytestmark = pytest.mark.skipif(not CORPUS, reason="the folder shared/corpus does not lie beside the project")


@pytest.mark.parametrize("limits", [Limits(), PLAIN], ids=["shipped", "plain"])
@pytest.mark.parametrize("conversation", CORPUS, ids=lambda conversation: conversation.name.split(".")[0])
def test_conversation(conversation: Conversation, limits: Limits) -> None:
    """At each budget the checker finds nothing, the edits give the body, and the recount agrees."""
    dialect = str(conversation.format)
    before = recount(dialect, conversation.body).total
    for budget in BUDGETS:
        outcome = prune(conversation, budget, limits)
        judged = {"trim_style": str(limits.trim_style)}
        if limits is PLAIN:
            judged |= {"keep_last_turns": 4, "keep_last_rounds": 4}
        assert check(dialect, conversation.body, outcome.body, limits=judged) == []
        edits = [
            {"offset": e.offset, "length": e.length, "replacement": e.replacement, "sha256": e.sha256}
            for e in outcome.edits
        ]
        assert check_edits(conversation.body, edits) == []
        assert apply(conversation.body, edits) == outcome.body
        assert outcome.stats.original_tokens == before
        assert outcome.stats.final_tokens == recount(dialect, outcome.body).total
        assert outcome.stats.budget_met == (outcome.stats.final_tokens <= budget)
        again = Conversation(conversation.name, conversation.format, outcome.body)
        assert prune(again, budget, limits).body == outcome.body


def test_the_table_adds_up() -> None:
    """The table counts every conversation once for each budget."""
    some = CORPUS[:4]
    rows = table([prune(conversation, budget) for conversation in some for budget in BUDGETS])
    assert sum(row.conversations for row in rows) == len(some) * len(BUDGETS)
    assert all(0 <= row.reduction < 1 and row.met <= row.conversations for row in rows)
