"""Where calls were made, as each dialect shows it: adjacent model output is one run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pinch_server.core.counting import Chars3
from pinch_server.core.replay import call_points
from pinch_server.core.tally import Tally
from pinch_server.formats.body import read_body

CALL = {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
USER = {"role": "user", "content": "go"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed"}
REASONING = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}
USE = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}


@pytest.mark.parametrize(
    ("body", "points"),
    [
        pytest.param(
            {"input": [USER, REASONING, CALL, CALL, OUTPUT, OUTPUT, REASONING, SEARCH, ANSWER, USER]},
            [1, 6, 10],
            id="reasoning, calls and answers are one run",
        ),
        pytest.param({"input": [USER, CALL, OUTPUT, ANSWER]}, [1, 3], id="a closing run adds no end"),
        pytest.param(
            {
                "max_tokens": 1,
                "messages": [
                    USER,
                    {"role": "assistant", "content": [USE]},
                    {"role": "user", "content": [RESULT]},
                    {"role": "assistant", "content": "So"},
                ],
            },
            [1, 3],
            id="a prefill belongs to the call before",
        ),
        pytest.param(
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "go"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [{"functionResponse": {"name": "ls", "response": {"output": "x"}}}],
                    },
                ]
            },
            [1, 3],
            id="gemini",
        ),
    ],
)
def test_call_points(body: dict[str, Any], points: list[int]) -> None:
    """A call stands before each run of model output and at the end, whichever way they are counted."""
    messages = read_body(json.dumps(body).encode(), None).conversation.messages
    assert call_points(messages) == points
    assert Tally.of(messages, Chars3()).points() == points
