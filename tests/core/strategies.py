"""Generated chats and limits, small enough to be quick and odd enough to matter."""

from typing import Any

from hypothesis import strategies as st

from pinch_server.core.limits import Limits, Stability, TrimStyle

_PIECES = st.sampled_from(
    [
        "",
        "ok",
        "line one\nline two\n",
        "x" * 2_990,
        "src/app.py:42: error: name 'foo' is not defined\n" * 80,
        "漢字" * 1_100,
        "e\u0301" * 1_600,
        "\x1b[31mred\x1b[0m " * 400,
        "\ud83d lone",
        "\r\n" * 1_700,
        "[...12,345 chars trimmed...]",
        "\n\n[...7,000 chars trimmed...]\n\n",
        "[ls: result omitted]",
        " \t\n",
        "\U0001f1e9\U0001f1ea" * 800,
    ]
)
_TEXTS = st.lists(_PIECES, max_size=5).map("".join)


def _contents() -> st.SearchStrategy[Any]:
    parts = st.one_of(
        st.builds(lambda text: {"type": "text", "text": text, "cache_control": {"type": "e"}}, _TEXTS),
        st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
        st.just({"type": "unknown", "data": [1, None]}),
    )
    return st.one_of(_TEXTS, st.none(), st.lists(parts, max_size=4))


def chats() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of messages: users, answers, calls with and without results, results with and without calls."""
    ids = st.sampled_from(["a", "b", "call_0"])
    names = st.sampled_from(["ls", "grep", "memory_read"])
    message = st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, _TEXTS),
        st.builds(lambda text: {"role": "assistant", "content": text}, _TEXTS),
        st.builds(
            lambda id_, name: {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": id_, "function": {"name": name, "arguments": "{}"}}],
            },
            ids,
            names,
        ),
        st.builds(
            lambda id_, content, is_error: {
                "role": "tool",
                "tool_call_id": id_,
                "content": content,
                "is_error": is_error,
            },
            ids,
            _contents(),
            st.booleans(),
        ),
    )
    return st.lists(message, max_size=14)


def limits_of() -> st.SearchStrategy[Limits]:
    """Limits within their bounds, most of them tight."""
    return st.builds(
        Limits,
        stability=st.sampled_from(list(Stability)),
        trim_style=st.sampled_from(list(TrimStyle)),
        min_gain=st.sampled_from([0, 0.2]),
        target_tokens=st.sampled_from([None, 1, 3_000]),
        budget_tokens=st.sampled_from([1, 500, 2_000, 6_000, 50_000]),
        keep_last_turns=st.integers(1, 4),
        max_summarize_chars=st.sampled_from([3_000, 4_000, 9_000]),
        protected_max_chars=st.sampled_from([0, 3_000, 20_000]),
        keep_last_rounds=st.integers(0, 4),
        min_tokens_saved=st.sampled_from([0, 1, 800]),
        protected_tools=st.sampled_from([(), ("memory_*",)]),
        omit_images=st.booleans(),
    )
