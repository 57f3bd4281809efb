"""What the writer of a filter is told and what is held against it, by the kind of text and the call."""

import json

from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Message
from pinch_server.core.counting import Chars3
from pinch_server.core.extraction.acceptance import Refusal
from pinch_server.core.extraction.considered import Job
from pinch_server.extract.outcome import Aggressiveness, FilterOptions, Refused, Written
from pinch_server.extract.prompts.context import ContextMode
from pinch_server.extract.prompts.conversation import told_text
from pinch_server.extract.prompts.prompt import Prompt
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.writing import FilterWriter
from pinch_server.formats.body import read_body
from pinch_server.formats.format import Format
from tests.core.builders import said, user
from tests.extract.scripted import ScriptedModel

LINES = "\n".join(f"worker {number} carries item {number * 7} to the store" for number in range(300))
ROWS = "\n".join(["{", *(f'"row {number}": "worker {number}",' for number in range(300)), "}"])
FIRST_LINES = 'OUTPUT = "\\n".join(INPUT.split("\\n")[:60])'
SAID: tuple[Message, ...] = tuple(read_chat([user("find the worker"), said("I look."), user("go on")]))


def written(
    sandbox: Sandbox, text: str, program: str, *, shares: bool = False
) -> tuple[Written | Refused, Prompt]:
    model = ScriptedModel([program])
    writer = FilterWriter(
        model,
        sandbox,
        Chars3(),
        FilterOptions(aggressiveness=Aggressiveness.HIGH, allow_deterministic=False),
        ContextMode.RECENT,
        2,
    )
    job = Job(text, len(text) // 3, "ls", SAID, "", b"a", b"b", 4_000, shares_context=shares)
    return writer.write(job, 60.0), model.prompts[0]


def test_a_window_of_what_filters_remove_little_of_is_refused(sandbox: Sandbox) -> None:
    """The first lines alone are a reduction of a plain text, and none of JSON, of which little can go."""
    assert isinstance(written(sandbox, LINES, FIRST_LINES)[0], Written)
    refused, _ = written(sandbox, ROWS, FIRST_LINES)
    assert isinstance(refused, Refused)
    assert refused.kinds == (Refusal.WINDOW,)


def test_the_conversation_is_a_block_where_calls_share_it(sandbox: Sandbox) -> None:
    """With other results beside it the conversation is a system block, else it stands with the task."""
    for shares in (False, True):
        _, prompt = written(sandbox, LINES, FIRST_LINES, shares=shares)
        blocks = [block.text for block in prompt.system]
        assert len(blocks) == 2 + shares
        assert ("user: find the worker" in blocks[-1]) is shares
        assert ("user: find the worker" in prompt.user) is not shares
        assert "only when it has 4000 characters or fewer" in prompt.user


def test_what_a_tool_gave_is_no_user_s_word() -> None:
    """A result beside a user's text is told as the tool's, and left out where tools are."""
    content = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "what the tool gave: id-12345"},
        {"type": "text", "text": "and go on"},
    ]
    call = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "find it"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": content},
        ],
    }
    messages = read_body(json.dumps(body).encode(), Format.ANTHROPIC).conversation.messages
    for mode in (ContextMode.GOAL, ContextMode.RECENT):
        told = told_text(messages, mode, 2)
        assert "user: and go on" in told
        assert "what the tool gave" not in told
    assert "tool: what the tool gave" in told_text(messages, ContextMode.FULL, 2)
