"""What providers refuse, as far as a body shows it. `check` reports only what the pruner made worse.

Each function yields findings on one body; a finding names its rule and its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tests.checker.dialects import Body, Message
from tests.checker.json_tokens import Node, nodes
from tests.checker.structure import where

_RESPONSE_OUTPUT_CHARS = 10_485_760
_BEDROCK_MEMBERS = {"json", "text", "image", "document", "video", "searchResult"}


def findings(body: Body) -> Counter[str]:
    """Everything a provider would refuse in this body, with how often."""
    found: Counter[str] = Counter(_RULES[body.format](body))
    marks = sum(1 for node in nodes(body.root) if node.step == "cache_control" and node.kind == "object")
    found.update(f"R20: cache_control mark {number + 1}" for number in range(marks))
    return found


def _blocks(message: Message, key: str) -> list[Node]:
    content = message.node.get(key)
    return content.elements() if content is not None else []


def _pairing(rule: str, calls: Counter[str], results: Counter[str]) -> Iterator[str]:
    for identifier in results.keys() - calls.keys():
        yield f"{rule}: result {identifier!r} answers no call before it"
    for identifier in calls.keys() - results.keys():
        yield f"{rule}: call {identifier!r} has no result"


def _openai_chat(body: Body) -> Iterator[str]:
    calls: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for message in body.messages:
        listed = message.node.get("tool_calls")
        calls.update(call.string("id") or "" for call in (listed.elements() if listed is not None else []))
        for result in message.results:
            if message.role == "tool":
                answered[result.identifier or ""] += 1
            content = message.node.get("content")
            if content is None or content.kind not in ("string", "array"):
                yield f"R10: {where(message.node.path)} has neither text nor parts"
            elif content.kind == "array" and not content.items:
                yield f"R10: {where(content.path)} is an empty list"
            for part in content.elements() if content is not None else []:
                if part.string("type") != "text" or part.string("text") is None:
                    yield f"R10: {where(part.path)} is no text part"
    yield from _pairing("R11", calls, answered)


def _openai_responses(body: Body) -> Iterator[str]:
    calls: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for message in body.messages:
        if message.role in ("function_call", "custom_tool_call"):
            calls[message.node.string("call_id") or ""] += 1
        for result in message.results:
            answered[result.identifier or ""] += 1
            output = message.node.get("output")
            if output is None or output.kind not in ("string", "array"):
                yield f"R14: {where(message.node.path)} has an output that is neither text nor a list"
            elif output.kind == "string" and len(output.text) > _RESPONSE_OUTPUT_CHARS:
                yield f"R14: {where(output.path)} is too long"
            for part in output.elements() if output is not None else []:
                if part.string("type") not in ("input_text", "input_image", "input_file"):
                    yield f"R14: {where(part.path)} has a type that no output may have"
    yield from _pairing("R16", calls, answered)


def _anthropic(body: Body) -> Iterator[str]:
    expected: set[str] = set()
    for message in body.messages:
        blocks = _blocks(message, "content")
        kinds = [block.string("type") for block in blocks]
        results = [at for at, kind in enumerate(kinds) if kind == "tool_result"]
        if message.role == "user":
            if results != list(range(len(results))):
                yield f"R17: {where(message.node.path)} has something before a tool_result"
            answered = {blocks[at].string("tool_use_id") or "" for at in results}
            for identifier in expected ^ answered:
                yield f"R17: {where(message.node.path)}: {identifier!r} is not paired with the message before"
            expected = set()
        for block in blocks:
            yield from _blank_texts(block)
        if message.role == "assistant":
            expected = {block.string("id") or "" for block in blocks if block.string("type") == "tool_use"}
        for at in results:
            content = blocks[at].get("content")
            if content is not None and content.kind not in ("string", "array"):
                yield f"R18: {where(content.path)} is neither text nor a list"


def _blank_texts(block: Node) -> Iterator[str]:
    inner = block.get("content")
    for part in [block, *(inner.elements() if inner is not None else [])]:
        text = part.string("text")
        if part.string("type") == "text" and (text is None or not text.strip()):
            yield f"R19: {where(part.path)} is a blank text block"


def _gemini(body: Body) -> Iterator[str]:
    calls = 0
    for message in body.messages:
        parts = _blocks(message, "parts")
        answers = [part.get("functionResponse") or part.get("function_response") for part in parts]
        given = [answer for answer in answers if answer is not None]
        if given and len(given) != calls:
            yield f"R26: {where(message.node.path)} answers {len(given)} of {calls} calls"
        calls = sum(1 for part in parts if part.get("functionCall") or part.get("function_call"))
        for answer in given:
            response = answer.get("response")
            if response is None or response.kind != "object":
                yield f"R25: {where(answer.path)} has a response that is no object"


def _bedrock(body: Body) -> Iterator[str]:
    for message in body.messages:
        for block in _blocks(message, "content"):
            answer = block.get("toolResult")
            if answer is None:
                continue
            content = answer.get("content")
            if content is None or content.kind != "array" or not content.items:
                yield f"R30: {where(answer.path)} has no content"
            for part in content.elements() if content is not None else []:
                if len(part.members()) != 1 or not part.members().keys() <= _BEDROCK_MEMBERS:
                    yield f"R28: {where(part.path)} is not exactly one of the members a toolResult may have"


_RULES: dict[str, Callable[[Body], Iterator[str]]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
}
