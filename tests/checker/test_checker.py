"""The judge is judged: what breaks one rule must be caught, what is valid accepted, in all five dialects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checker.check import check
from tests.checker.dialects import read
from tests.checker.json_tokens import scan
from tests.checker.samples import (
    BUILD,
    PNG,
    RESULT_ID,
    RESULT_TEXT,
    TEXT,
    Json,
    Path,
    at,
    drop,
    elided,
    messages,
    put,
    raw,
)

FORMATS = sorted(BUILD)
Mutation = Callable[[str, Json], Json]


def trimmed(format: str, text: str = TEXT, new: str | None = None) -> tuple[Json, Json]:
    """A conversation and the same one with its long result trimmed by hand."""
    before = BUILD[format](text)
    return before, put(before, RESULT_TEXT[format], elided(text) if new is None else new)


def rules(violations: list[str]) -> set[str]:
    return {rule for violation in violations for rule in violation.split(":")[0].split("/")}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("new", [elided(TEXT), TEXT], ids=["elided", "whole"])
def test_accepts_valid(format: str, new: str) -> None:
    """A result that is whole, or elided exactly as the rules say, is no violation in any dialect."""
    before, after = trimmed(format, new=new)
    assert check(format, raw(before), raw(after), limits={"trim_style": "plain"}) == []


@pytest.mark.parametrize("format", FORMATS)
def test_accepts_placeholder(format: str) -> None:
    """A shorter result may become a placeholder that names its tool."""
    before, after = trimmed(format, TEXT[:3500], "[grep: result omitted]")
    assert check(format, raw(before), raw(after), limits={"trim_style": "plain"}) == []
    before, after = trimmed(format, TEXT[:3500], "[grep: result omitted; mentioned: line 4, src/part_7.py]")
    assert check(format, raw(before), raw(after)) == []


def _swap(format: str, body: Json) -> Json:
    listed = messages(format, body)
    listed[0], listed[-1] = listed[-1], listed[0]
    return body


def _without_last(format: str, body: Json) -> Json:
    messages(format, body).pop()
    return body


def _other_role(format: str, body: Json) -> Json:
    messages(format, body)[0]["role"] = "system"
    return body


def _other_user_text(format: str, body: Json) -> Json:
    first = messages(format, body)[0]
    key = "parts" if format == "gemini" else "content"
    first[key] = [{"text": "x"}] if isinstance(first[key], list) else "x"
    return body


def _other_id(format: str, body: Json) -> Json:
    return put(body, RESULT_ID[format], "c2")


def _new_key(format: str, body: Json) -> Json:
    return put(body, (*RESULT_ID[format][:-1], "cache_control"), {"type": "ephemeral", "ttl": "1h"})


def _number(format: str, body: Json) -> Json:
    del format
    for holder in (body, *(body[key] for key in ("generationConfig", "inferenceConfig") if key in body)):
        if "temperature" in holder:
            holder["temperature"] = 1
    return body


def _kind(format: str, body: Json) -> Json:
    return put(body, RESULT_TEXT[format], [{"type": "text", "text": "short"}])


EVERYWHERE: list[tuple[Mutation, str]] = [
    (_swap, "I3"),
    (_without_last, "R1"),
    (_other_role, "R1"),
    (_other_user_text, "R2"),
    (_new_key, "R20"),
    (_number, "R2"),
    (_kind, "R7"),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("mutate", "rule"), EVERYWHERE, ids=lambda value: getattr(value, "__name__", value))
def test_catches_structure(format: str, mutate: Mutation, rule: str) -> None:
    """A change of count, order, role, key, number or type is caught, whatever else was rightly trimmed."""
    before, after = trimmed(format)
    assert rule in rules(check(format, raw(before), raw(mutate(format, after))))


ID_RULES = {
    "openai-chat": "R11",
    "anthropic": "R17",
    "openai-responses": "R16",
    "gemini": "R11",
    "bedrock": "R28",
}


@pytest.mark.parametrize("format", FORMATS)
def test_catches_other_id(format: str) -> None:
    """The id that pairs a result with its call never changes."""
    before, after = trimmed(format)
    found = check(format, raw(before), raw(_other_id(format, after)))
    assert ID_RULES[format] in rules(found)


BAD_TEXTS = {
    "count too small": (elided(TEXT, off=-1), "M"),
    "count too large": (elided(TEXT, off=1), "M"),
    "head is no prefix": ("x" + elided(TEXT)[1:], "M"),
    "tail is no suffix": (elided(TEXT)[:-1] + "x", "M"),
    "head too long": (elided(TEXT, head=1501), "M"),
    "tail too long": (elided(TEXT, tail=1501), "M"),
    "head missing": (elided(TEXT, head=0).lstrip(), "M"),
    "tail missing": (elided(TEXT, tail=0).rstrip(), "M"),
    "count not grouped": (elided(TEXT).replace(",", "", 1), "M"),
    "truncated without a word": (TEXT[:1500], "M"),
    "paraphrased": ("The file has 300 lines.", "M"),
    "another tool's name": ("[bash: result omitted]", "M"),
    "mentions what is not there": ("[grep: result omitted; mentioned: line 4, src/none.py]", "M"),
    "placeholder on two lines": ("[grep\n: result omitted]", "M"),
    "blank": (" \n", "R5"),
    "empty": ("", "R5"),
    "grown": (TEXT + "\n\n[...1 chars trimmed...]\n\n", "I4"),
    "image wording for a text": ("[image omitted: 1x1 image/png]", "M"),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", BAD_TEXTS)
def test_catches_text(format: str, name: str) -> None:
    """A text that is not exactly its original's pieces with true gaps, or a true placeholder, is caught."""
    new, rule = BAD_TEXTS[name]
    before, after = trimmed(format, new=new)
    assert rule in rules(check(format, raw(before), raw(after)))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("change", ["spacing", "escape", "trailing", "not json", "respelled"])
def test_catches_bytes(format: str, change: str) -> None:
    """Spacing, escapes and spelling outside the edited strings stay byte for byte."""
    before, after = trimmed(format)
    old, new = raw(before), raw(after)
    worse = {
        "spacing": new.replace(b"\r\n", b"\n", 1),
        "escape": new.replace(b'"start"', b'"\\u0073tart"'),
        "trailing": new + b"\n",
        "not json": new[:-1],
        "respelled": old.replace(b"line 0", b"\\u006cine 0", 1),
    }[change]
    assert rules(check(format, old, worse)) & {"I3", "J"}


@pytest.mark.parametrize("format", FORMATS)
def test_fresh_results_are_whole(format: str) -> None:
    """A result after the last model output changes only when it is longer than the cap."""
    before, after = trimmed(format)
    for body in (before, after):
        del messages(format, body)[4 if format == "openai-responses" else 3 :]
    assert "fresh" in rules(check(format, raw(before), raw(after)))
    assert check(format, raw(before), raw(after), limits={"protected_max_chars": 3000}) == []
    assert "fresh" in rules(check(format, raw(before), raw(after), limits={"protected_max_chars": 0}))


@pytest.mark.parametrize("format", FORMATS)
def test_protected_tools_are_whole(format: str) -> None:
    """A result whose tool matches a protected glob never changes."""
    before, after = trimmed(format)
    assert "protected" in rules(check(format, raw(before), raw(after), protected_tools=["gr*"]))
    assert "protected" in rules(check(format, raw(before), raw(after), limits={"protected_tools": ["grep"]}))
    assert check(format, raw(before), raw(after), protected_tools=["bash"]) == []


@pytest.mark.parametrize("format", FORMATS)
def test_window_is_whole(format: str) -> None:
    """With both limits named, a result in the last turns and the last rounds is out of reach."""
    before, after = trimmed(format)
    for body in (before, after):
        messages(format, body).pop()
    inside = {"keep_last_turns": 4, "keep_last_rounds": 1}
    assert "window" in rules(check(format, raw(before), raw(after), limits=inside))
    assert check(format, raw(before), raw(after), limits={"keep_last_turns": 4}) == []


def _at_two(*steps: str | int) -> Path:
    return ("messages", 2, "content", 0, *steps)


PROVIDER: list[tuple[str, str, Mutation, str]] = [
    ("anthropic", "thinking", lambda _, b: put(b, ("messages", 1, "content", 0, "thinking"), "ha"), "R21"),
    ("anthropic", "signature", lambda _, b: put(b, ("messages", 1, "content", 0, "signature"), "eA"), "R21"),
    (
        "anthropic",
        "encrypted",
        lambda _, b: put(b, ("messages", 1, "content", 1, "content", 0, "encrypted_content"), "eA"),
        "R22",
    ),
    ("anthropic", "cache mark lost", lambda _, b: drop(b, _at_two("cache_control")), "R20"),
    ("anthropic", "is_error added", lambda _, b: put(b, _at_two("is_error"), True), "R3"),
    ("anthropic", "text first", lambda _, b: _reversed_blocks(b), "R17"),
    ("anthropic", "content lost", lambda _, b: drop(b, _at_two("content")), "I3"),
    ("openai-chat", "arguments", lambda _, b: _cut_arguments(b), "R2"),
    ("openai-chat", "reasoning lost", lambda _, b: drop(b, ("messages", 1, "reasoning_content")), "R32"),
    ("openai-chat", "extra key lost", lambda _, b: drop(b, ("messages", 2, "extra")), "R3"),
    ("openai-chat", "emptied list", lambda _, b: put(b, ("messages", 2, "content"), []), "R10"),
    ("openai-responses", "reasoning", lambda _, b: put(b, ("input", 1, "encrypted_content"), "eA"), "R15"),
    ("openai-responses", "mcp output", lambda _, b: put(b, ("input", 4, "output"), elided(TEXT)), "R2"),
    ("openai-responses", "call id", lambda _, b: put(b, ("input", 2, "call_id"), "c9"), "R16"),
    (
        "gemini",
        "signature",
        lambda _, b: put(b, ("contents", 1, "parts", 0, "thoughtSignature"), "eA"),
        "R27",
    ),
    (
        "gemini",
        "response is text",
        lambda _, b: put(b, ("contents", 2, "parts", 0, "functionResponse", "response"), "short"),
        "R25",
    ),
    ("gemini", "answer lost", lambda _, b: drop(b, ("contents", 2, "parts", 0)), "R4"),
    ("bedrock", "status", lambda _, b: put(b, _at_two("toolResult", "status"), "error"), "R3"),
    ("bedrock", "no content", lambda _, b: put(b, _at_two("toolResult", "content"), []), "R30"),
    ("bedrock", "two members", lambda _, b: put(b, _at_two("toolResult", "content", 0, "json"), {}), "R28"),
    ("bedrock", "cache point lost", lambda _, b: drop(b, ("messages", 2, "content", 1)), "R4"),
]


def _reversed_blocks(body: Json) -> Json:
    body["messages"][2]["content"].reverse()
    return body


def _cut_arguments(body: Json) -> Json:
    return put(body, ("messages", 1, "tool_calls", 0, "function", "arguments"), "{}")


@pytest.mark.parametrize(
    ("format", "name", "mutate", "rule"), PROVIDER, ids=lambda v: v if isinstance(v, str) else ""
)
def test_catches_provider_rules(format: str, name: str, mutate: Mutation, rule: str) -> None:
    """What a provider would refuse is caught under the rule's own number."""
    before, after = trimmed(format)
    found = check(format, raw(before), raw(mutate(format, after)))
    assert rule in rules(found), f"{name}: {found}"


def test_what_was_wrong_before_is_no_violation() -> None:
    """A body that its provider would refuse anyway is not held against the pruner."""
    before, after = trimmed("openai-chat")
    for body in (before, after):
        messages("openai-chat", body).append({"role": "tool", "tool_call_id": "zzz", "content": None})
    assert check("openai-chat", raw(before), raw(after)) == []


ERRORS: dict[str, Callable[[Json], Json]] = {
    "openai-chat": lambda body: put(body, ("messages", 2, "is_error"), True),
    "anthropic": lambda body: put(body, _at_two("is_error"), True),
    "bedrock": lambda body: put(body, _at_two("toolResult", "status"), "error"),
}


@pytest.mark.parametrize("format", sorted(ERRORS))
def test_errors_are_elided_only(format: str) -> None:
    """An error result may be elided and never becomes a placeholder."""
    before, after = map(ERRORS[format], trimmed(format))
    assert check(format, raw(before), raw(after)) == []
    before, after = map(ERRORS[format], trimmed(format, TEXT[:3500], "[grep: result omitted]"))
    assert "R24" in rules(check(format, raw(before), raw(after)))


def test_parts_keep_their_places() -> None:
    """In a list of parts the head and the tail are of the joined text, and lost keys or images are caught."""
    parts = [
        {"type": "text", "text": TEXT[:6000], "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "text", "text": TEXT[:2000]},
        {"type": "text", "text": TEXT[:6000]},
    ]
    before = BUILD["openai-chat"](parts)
    after = put(
        before, ("messages", 2, "content", 0, "text"), TEXT[:1500] + "\n\n[...4,500 chars trimmed...]"
    )
    after = put(after, ("messages", 2, "content", 2, "text"), "[...2,000 chars trimmed...]")
    tail = "[...4,500 chars trimmed...]\n\n" + TEXT[4500:6000]
    after = put(after, ("messages", 2, "content", 3, "text"), tail)
    plain = {"trim_style": "plain"}
    assert check("openai-chat", raw(before), raw(after), limits=plain) == []
    without_key = drop(after, ("messages", 2, "content", 0, "prompt_cache_breakpoint"))
    assert "R13" in rules(check("openai-chat", raw(before), raw(without_key)))
    assert "R4" in rules(check("openai-chat", raw(before), raw(drop(after, ("messages", 2, "content", 1)))))
    wrong = put(after, ("messages", 2, "content", 2, "text"), "[...2,001 chars trimmed...]")
    assert "M" in rules(check("openai-chat", raw(before), raw(wrong)))
    both = put(after, ("messages", 2, "content", 3, "text"), elided(TEXT[:6000], 1000, 1500))
    assert "M" in rules(check("openai-chat", raw(before), raw(both), limits=plain))


def test_images_become_text_parts() -> None:
    """An image of an old result may become a text part that tells its true size, and keeps its other keys."""
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
        "cache_control": {"type": "ephemeral"},
    }
    before = BUILD["anthropic"]([{"type": "text", "text": "see"}, image])

    def replaced(text: str, **keys: Json) -> bytes:
        return raw(put(before, _at_two("content", 1), {"type": "text", "text": text, **keys}))

    kept = {"cache_control": {"type": "ephemeral"}}
    assert check("anthropic", raw(before), replaced("[image omitted: 640x480 image/png]", **kept)) == []
    assert "M" in rules(check("anthropic", raw(before), replaced("[image omitted: 1x1 image/png]", **kept)))
    assert "M" in rules(check("anthropic", raw(before), replaced("a picture", **kept)))
    lost = check("anthropic", raw(before), replaced("[image omitted: 640x480 image/png]"))
    assert "R20" in rules(lost)
    gone = put(before, _at_two("content", 1), {"type": "document"})
    assert rules(check("anthropic", raw(before), raw(gone))) & {"I3"}


def test_names_come_from_the_nearest_call_before() -> None:
    """Ids repeat: a placeholder names the tool of the nearest preceding call with that id."""
    body = BUILD["openai-chat"](TEXT[:2000])
    listed = messages("openai-chat", body)
    call = {"id": "c1", "type": "function", "function": {"name": "later", "arguments": "{}"}}
    listed += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": TEXT[:2000]},
        {"role": "assistant", "content": "ok"},
    ]
    right = put(body, ("messages", 2, "content"), "[grep: result omitted]")
    right = put(right, ("messages", 6, "content"), "[later: result omitted]")
    assert check("openai-chat", raw(body), raw(right)) == []
    wrong = put(body, ("messages", 2, "content"), "[later: result omitted]")
    assert "M" in rules(check("openai-chat", raw(body), raw(wrong)))


def test_duplicate_keys_hide_what_nobody_reads() -> None:
    """Of duplicate keys the last is the value; the hidden one may not change."""
    shown = f'"content":"{"y" * 9000}"'
    hidden = f'"content":"{"x" * 9000}"'
    frame = '{{"messages":[{{"role":"tool",{},{}}},{{"role":"assistant","content":"ok"}}]}}'
    before = frame.format(hidden, shown).encode()
    assert check("openai-chat", before, frame.format(hidden, f'"content":"{elided("y" * 9000)}"'
                 .replace("\n", "\\n")).encode()) == []  # fmt: skip
    cut = f'"content":"{elided("x" * 9000)}"'.replace("\n", "\\n")
    assert "R2" in rules(check("openai-chat", before, frame.format(cut, shown).encode()))


def test_bodies_that_are_no_json_come_back_as_they_were() -> None:
    """The only valid outcome for bytes that are no JSON is the same bytes."""
    assert check("openai-chat", b"{nope", b"{nope") == []
    assert "J" in rules(check("openai-chat", b"{nope", b"{}"))


def test_result_texts_are_found_in_every_dialect() -> None:
    """The samples and the checker mean the same place by the result's text."""
    for dialect, path in RESULT_TEXT.items():
        assert at(BUILD[dialect](TEXT), path) == TEXT


def test_a_bare_string_among_the_parts_counts_once() -> None:
    """A string where a part belongs is one editable text, in the order of the parts."""
    parts = [{"type": "text", "text": "first"}, "second"]
    body = {"messages": [{"role": "tool", "tool_call_id": "a", "content": parts}]}
    (result,) = read("openai-chat", scan(raw(body))).results
    assert [text.text for text in result.texts] == ["first", "second"]
