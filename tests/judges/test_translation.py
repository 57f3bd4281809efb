"""Pruned chat bodies still translate: LiteLLM turns them into other dialects, whose judges accept them."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from typing import Any

import litellm
import pytest
from litellm import AmazonConverseConfig
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.vertex_ai.gemini.transformation import _gemini_convert_messages_with_history

from tests.judges.exhibits import Json, exhibits
from tests.judges.sdks import anthropic_stable, bedrock, gemini

litellm.telemetry = False
logging.getLogger("LiteLLM").setLevel(logging.ERROR)


def to_anthropic(body: Json) -> Json:
    return AnthropicConfig().transform_request(
        "claude-sonnet-4-5", copy.deepcopy(body["messages"]), {"max_tokens": 9}, {}, {}
    )


_TOOLS = [{"toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}}]


def to_converse(body: Json) -> Json:
    # Without tool definitions LiteLLM writes calls and results as prose, which would judge nothing.
    optional = {"tools": [{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}]}
    messages = copy.deepcopy(body["messages"])
    model = "anthropic.claude-3-5-sonnet-20240620-v1:0"
    return AmazonConverseConfig().transform_request(model, messages, optional, {}, {})


def to_gemini(body: Json) -> Json:
    messages = [message for message in copy.deepcopy(body["messages"]) if message.get("role") != "system"]
    return {"contents": _gemini_convert_messages_with_history(messages, model="gemini-2.5-pro")}


TRANSLATIONS: Mapping[str, tuple[Callable[[Json], Json], Callable[[Json], list[str]]]] = {
    "anthropic": (to_anthropic, anthropic_stable),
    "converse": (to_converse, bedrock),
    "gemini": (to_gemini, gemini),
}
LEAST_TRANSLATED = 20


def verdict(name: str, body: Json) -> list[str]:
    """What stands against a body once it is translated; a translation that fails is an objection."""
    translate, objections = TRANSLATIONS[name]
    try:
        translated: Any = translate(body)
    except Exception as error:  # noqa: BLE001 - whatever a translator raises is its objection
        return [f"{type(error).__name__}: {str(error)[:200]}"]
    return objections(translated)


@pytest.mark.xdist_group("litellm")
@pytest.mark.parametrize("name", TRANSLATIONS)
def test_a_pruned_body_translates(name: str) -> None:
    """Every chat body that translates into a dialect as sent translates as pruned, and is accepted there."""
    translated = 0
    for exhibit in exhibits("openai-chat"):
        before = verdict(name, exhibit.before)
        after = verdict(name, exhibit.after)
        assert len(after) <= len(before), (exhibit.name, after)
        translated += not before
    assert translated >= LEAST_TRANSLATED
