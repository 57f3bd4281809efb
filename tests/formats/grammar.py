"""A grammar of request bodies in the five dialects: most valid, some nearly so, spelled in any way."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from pinch_server.core.limits import Limits, Stability, TrimStyle
from tests.checker.samples import PNG

Json = Any
FORMATS = ("openai-chat", "anthropic", "openai-responses", "gemini", "bedrock")

_PIECES = st.sampled_from(
    [
        "ok",
        "line one\nline two\n",
        "x" * 1_490,
        "src/app.py:42: error: name 'foo' is not defined\n" * 40,
        "漢字" * 700,
        "e\u0301" * 900,
        "\x1b[31mred\x1b[0m " * 200,
        "\x1b]8;;https://example.org/" + "a" * 90 + "\x07link\x1b]8;;\x07",
        "\ud83d lone",
        "\udc00",
        "\r\n" * 800,
        "[...12,345 chars trimmed...]",
        "\n\n[...7,000 chars trimmed...]\n\n",
        "[ls: result omitted]",
        "[image omitted: 4x4 image/png]",
        " \t\n",
        "\U0001f1e9\U0001f1ea" * 400,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 150,
        '\x00\x7f\\"/',
        "A" * 4_100,
    ]
)
texts = st.lists(_PIECES, max_size=5).map("".join)
ids = st.sampled_from(["a", "b", "call_0", ""])
names = st.sampled_from(["ls", "grep", "memory_read", "", "a\nb", "漢" * 130, "\ud800"])
odd = st.sampled_from([None, 5, 1.5, True, {}, [], "text", [None], {"type": "text"}, {"a": ["x" * 90, 1.0]}])
marks = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}, {"unknown": [1.0, "é", "\ud800"]}])


def _or_odd(strategy: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Nearly always what the dialect asks for."""
    return st.integers(0, 19).flatmap(lambda dice: odd if dice == 0 else strategy)


def _block(strategy: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """A block with members that no dialect knows."""
    return st.builds(
        lambda block, more: {**block, **more} if isinstance(block, dict) else block, strategy, marks
    )


_URL = st.sampled_from([f"data:image/png;base64,{PNG}", "https://example.org/a.png", "data:,", ""])


def _content(text_type: str, image: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    part = _block(st.one_of(st.builds(lambda text: {"type": text_type, "text": text}, texts), image, odd))
    return st.one_of(texts, st.lists(part, max_size=4), st.none())


def _chat() -> st.SearchStrategy[Json]:
    image = st.builds(lambda url: {"type": "image_url", "image_url": {"url": url, "detail": "low"}}, _URL)
    content = _or_odd(_content("text", image))
    call = st.builds(
        lambda id_, name: {"id": id_, "type": "function", "function": {"name": name, "arguments": '{"q":1}'}},
        ids,
        names,
    )
    message = st.one_of(
        st.builds(lambda role, text: {"role": role, "content": text},
                  st.sampled_from(["user", "assistant", "system", "developer", "other"]), content),
        st.builds(lambda calls, text: {"role": "assistant", "content": text, "tool_calls": calls},
                  _or_odd(st.lists(_or_odd(call), max_size=3)), content),
        st.builds(lambda id_, text, error: {"role": "tool", "tool_call_id": id_, "content": text,
                                            "is_error": error}, ids, content, st.booleans()),
        st.builds(lambda name, text: {"role": "function", "name": name, "content": text}, names, content),
    )  # fmt: skip
    return st.builds(lambda history, tools: {"messages": history, "tools": tools}, _history(message), odd)


def _anthropic() -> st.SearchStrategy[Json]:
    source = st.sampled_from([{"type": "base64", "media_type": "image/png", "data": PNG}, {"type": "url"}])
    image = st.builds(lambda where: {"type": "image", "source": where}, source)
    result = st.builds(
        lambda id_, inner, error: {
            "type": "tool_result",
            "tool_use_id": id_,
            "content": inner,
            "is_error": error,
        },
        ids,
        _or_odd(_content("text", image)),
        st.booleans(),
    )
    call = st.builds(
        lambda id_, name: {"type": "tool_use", "id": id_, "name": name, "input": {"q": 1.0}}, ids, names
    )
    block = _block(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, texts),
            image, result, result, call, odd,
            st.just({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
            st.just({"type": "web_search_tool_result", "content": [{"encrypted_content": "Q" * 400}]}),
        )
    )  # fmt: skip
    content = _or_odd(st.one_of(texts, st.lists(block, max_size=4)))
    message = st.builds(
        lambda role, inner: {"role": role, "content": inner},
        st.sampled_from(["user", "user", "assistant", "assistant", "system"]),
        content,
    )
    return st.builds(lambda history, system: {"messages": history, "system": system}, _history(message), odd)


def _responses() -> st.SearchStrategy[Json]:
    image = st.builds(lambda url: {"type": "input_image", "image_url": url, "detail": "auto"}, _URL)
    content = _or_odd(_content("input_text", image))
    item = st.one_of(
        st.builds(lambda role, text: {"role": role, "content": text},
                  st.sampled_from(["user", "assistant", "developer"]), content),
        st.builds(lambda kind, id_, name: {"type": kind, "call_id": id_, "name": name, "arguments": "{}",
                                           "input": "x"},
                  st.sampled_from(["function_call", "custom_tool_call"]), ids, names),
        st.builds(lambda kind, id_, out: {"type": kind, "call_id": id_, "output": out},
                  st.sampled_from(["function_call_output", "function_call_output", "custom_tool_call_output",
                                   "local_shell_call_output"]), ids, content),
        st.just({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
                 "encrypted_content": "Q"}),
        st.just({"type": "computer_call_output", "output": {"type": "x", "image_url": "https://example.org/a"}}),
        st.just({"type": "mcp_call", "output": "z" * 5_000}),
    )  # fmt: skip
    return st.builds(lambda history: {"input": history}, _history(_block(item)))


def _gemini() -> st.SearchStrategy[Json]:
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    leaves = st.recursive(
        st.one_of(texts, odd),
        lambda below: st.one_of(
            st.lists(below, max_size=3),
            st.dictionaries(st.sampled_from(["a", "", "\ud800", "😀"]), below, max_size=3),
        ),
        max_leaves=6,
    )
    response = _or_odd(
        st.builds(lambda key, value: {key: value}, st.sampled_from(["output", "error", "result"]), leaves)
    )
    answer = st.builds(
        lambda spelling, id_, name, value, more: {
            spelling: {"id": id_, "name": name, "response": value, **more}
        },
        st.sampled_from(["functionResponse", "functionResponse", "function_response"]),
        ids,
        names,
        response,
        st.sampled_from([{}, {}, {"parts": [inline, 5]}, {"parts": 5}]),
    )
    call = st.builds(
        lambda id_, name: {"functionCall": {"id": id_, "name": name, "args": {"q": 1}}}, ids, names
    )
    part = _block(
        st.one_of(
            st.builds(lambda text: {"text": text}, texts),
            answer, answer, call, st.just(inline), odd, st.just({"text": "hm", "thought": True}),
        )
    )  # fmt: skip
    message = st.builds(
        lambda role, parts: {**role, "parts": parts},
        st.sampled_from([{"role": "user"}, {"role": "user"}, {"role": "model"}, {}, {"role": "function"}]),
        _or_odd(st.lists(part, max_size=4)),
    )
    return st.builds(lambda history: {"contents": history}, _history(message))


def _bedrock() -> st.SearchStrategy[Json]:
    image = st.just({"image": {"format": "png", "source": {"bytes": PNG}}})
    inner = st.one_of(
        st.builds(lambda text: {"text": text}, texts),
        st.builds(lambda text, other: {"json": {"a": text, "b": [other]}}, texts, odd),
        image, odd,
    )  # fmt: skip
    result = st.builds(
        lambda id_, content, status: {"toolResult": {"toolUseId": id_, "content": content, "status": status}},
        ids,
        _or_odd(st.lists(inner, max_size=3)),
        st.sampled_from(["success", "error"]),
    )
    call = st.builds(
        lambda id_, name: {"toolUse": {"toolUseId": id_, "name": name, "input": {"q": 1}}}, ids, names
    )
    block = st.one_of(
        st.builds(lambda text: {"text": text}, texts),
        result, result, call, image, odd, st.just({"cachePoint": {"type": "default"}}),
        st.just({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}),
    )  # fmt: skip
    message = st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "user", "assistant", "other"]),
        _or_odd(st.lists(block, max_size=4)),
    )
    return st.builds(lambda history, system: {"messages": history, "system": system}, _history(message), odd)


def _history(message: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return _or_odd(st.lists(_or_odd(message), max_size=10))


_BODIES = {
    "openai-chat": _chat(),
    "anthropic": _anthropic(),
    "openai-responses": _responses(),
    "gemini": _gemini(),
    "bedrock": _bedrock(),
}


def bodies(format: str) -> st.SearchStrategy[bytes]:
    """Bodies of a dialect as bytes: compact or pretty, escaped or not, with duplicate keys at the root."""
    return st.builds(
        _spell,
        _BODIES[format],
        st.booleans(),
        st.sampled_from([None, 1]),
        st.sampled_from(["", '"x":1e400,']),
    )


def _spell(body: Json, is_ascii: bool, indent: int | None, more: str) -> bytes:
    text = json.dumps(body, ensure_ascii=is_ascii, indent=indent)
    if not is_ascii:
        # Lone surrogates have no UTF-8; only an escape can spell them.
        text = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    if indent is not None:
        text = text.replace("\n", "\r\n").replace("/", "\\/")
    return ("{" + more + text[1:]).encode()


def limits() -> st.SearchStrategy[Limits]:
    """Limits within their bounds, most of them tight."""
    return st.builds(
        Limits,
        stability=st.sampled_from(list(Stability)),
        trim_style=st.sampled_from(list(TrimStyle)),
        min_gain=st.sampled_from([0, 0.25]),
        target_tokens=st.sampled_from([None, 1]),
        placeholder_chars=st.sampled_from([0, 60, 800]),
        budget_tokens=st.sampled_from([1, 1, 500, 2_000, 50_000]),
        keep_last_turns=st.integers(1, 3),
        max_summarize_chars=st.sampled_from([3_000, 4_000, 9_000]),
        protected_max_chars=st.sampled_from([0, 3_000, 20_000]),
        keep_last_rounds=st.integers(0, 3),
        min_tokens_saved=st.sampled_from([0, 1, 800]),
        protected_tools=st.sampled_from([(), ("memory_*",)]),
        omit_images=st.booleans(),
    )
