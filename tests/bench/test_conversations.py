"""The seeded sessions: the same bytes everywhere, the wanted size, and bodies that providers would take."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.conversations import DIALECTS, Format, encode, generate, generate_bytes, tell
from bench.conversations.__main__ import main
from bench.conversations.session import (
    AssistantMessage,
    Session,
    ToolResult,
    ToolResults,
    UserMessage,
    arguments_text,
    message_texts,
)
from tests.checker.dialects import read
from tests.checker.json_tokens import scan
from tests.checker.provider_rules import findings

ROOT = Path(__file__).parents[2]

PINNED: dict[Format, str] = {
    "openai-chat": "290605587e61e001114c51ca765cbf016887300346121fe55202b6972da12277",
    "anthropic": "bfbbeb634c9774aa2d7f73fe8442344b2f2580e61019adb7a73d7679c8a8f8ec",
    "openai-responses": "b9871f814d87ca7b65788ce2105734a1e5aa02ab3eeda24cd2551672d4d6f461",
    "gemini": "b474530cae4306eb755c511fe07060f9b35ab6a0ee1a9302fa8a6e1766edf68a",
    "bedrock": "72ae8537ded8fba8fc7ff64aaa499d2d9702dbd4b91f0d1b3b139ea160d00276",
}


def results_of(session: Session) -> list[ToolResult]:
    return [
        result
        for message in session.messages
        if isinstance(message, ToolResults)
        for result in message.results
    ]


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return []


@pytest.mark.parametrize("format", DIALECTS)
def test_bytes_are_pinned(format: Format) -> None:
    """A seed names the same bytes for ever: a change here makes every earlier measurement incomparable."""
    assert hashlib.sha256(generate_bytes(7, tokens=3_000, format=format)).hexdigest() == PINNED[format]


def test_equal_in_another_process() -> None:
    """The bytes depend on nothing of the process, its hash seed included."""
    command = [sys.executable, "-m", "bench.conversations", "--seed", "3", "--tokens", "20000"]
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=60)
    assert made.stdout == generate_bytes(3, tokens=20_000)


def test_seeds_differ() -> None:
    """Another seed is another session, not only another id."""
    first, second = tell(1, tokens=3_000), tell(2, tokens=3_000)
    assert first.system != second.system
    assert not {result.text for result in results_of(first) if len(result.text) > 100} & {
        result.text for result in results_of(second)
    }


@pytest.mark.parametrize("tokens", [2_000, 3_000, 5_000, 12_000, 50_000, 324_000, 1_000_000])
def test_size_is_met(tokens: int) -> None:
    """The estimated tokens are within 5% of those asked for."""
    for seed in range(40 if tokens < 100_000 else 2):
        assert tell(seed, tokens=tokens).tokens == pytest.approx(tokens, rel=0.05), f"seed {seed}"


def test_sizes_of_results_follow_real_sessions() -> None:
    """Half of the results are short, few long ones hold most characters, and results are most of the text."""
    sessions = [tell(seed, tokens=324_000) for seed in range(4)]
    sizes = sorted(len(result.text) for session in sessions for result in results_of(session))
    assert 400 < sizes[len(sizes) // 2] < 900
    assert 4_000 < sizes[len(sizes) * 90 // 100] < 9_000
    assert 20_000 < sizes[len(sizes) * 99 // 100] < 60_000
    assert 0.70 < sum(sizes) / sum(session.tokens * 3 for session in sessions) < 0.88
    assert 0 in sizes


def test_structure() -> None:
    """Turns begin with the user, every call is answered in order, and no message is empty."""
    for seed in range(12):
        session = tell(seed, tokens=30_000)
        identifiers: list[str] = []
        for before, message in zip((None, *session.messages), session.messages, strict=False):
            if isinstance(message, UserMessage):
                assert message.text.strip()
                assert before is None or (isinstance(before, AssistantMessage) and not before.calls)
            elif isinstance(message, AssistantMessage):
                assert message.text.strip() or message.calls
                assert not isinstance(before, AssistantMessage)
                identifiers += [call.id for call in message.calls]
            else:
                assert isinstance(before, AssistantMessage)
                assert tuple(result.call for result in message.results) == before.calls
        assert len(set(identifiers)) == len(identifiers)
        assert isinstance(session.messages[0], UserMessage)
        assert not isinstance(session.messages[-1], AssistantMessage)


def test_turns_and_ending_as_asked() -> None:
    """The caller may fix the number of turns and what stands last."""
    for turns in (2, 5, 15):
        asked = tell(1, tokens=50_000, turns=turns, ending="user")
        assert sum(isinstance(message, UserMessage) for message in asked.messages) == turns
        assert isinstance(asked.messages[-1], UserMessage)
    loop = tell(1, tokens=50_000, turns=1)
    assert sum(isinstance(message, UserMessage) for message in loop.messages) == 1
    assert isinstance(loop.messages[-1], ToolResults)


def test_variety() -> None:
    """A long session holds what trips pruners: parallel calls, colours, CJK, errors, images, repeats."""
    session = tell(1, tokens=324_000)
    results = results_of(session)
    texts = [result.text for result in results]
    everything = "".join(texts)
    assert any(
        isinstance(message, AssistantMessage) and len(message.calls) > 1 for message in session.messages
    )
    assert any(isinstance(message, AssistantMessage) and not message.text for message in session.messages)
    assert any(result.is_error for result in results)
    assert any(result.image for result in results)
    assert len(set(texts)) < len(texts)
    for piece in (
        "\x1b[31m",
        "Traceback (most recent call last)",
        "diff --git a/",
        '"next_cursor"',
        "缓存",
        "📦",
    ):
        assert piece in everything, piece


def test_calls_take_up_what_results_revealed() -> None:
    """At least a third of the calls name something that only an earlier result can have told."""
    session = tell(2, tokens=100_000)
    said, shown, taken, calls = "", "", 0, 0
    for message in session.messages:
        if isinstance(message, ToolResults):
            shown += "\n".join(message_texts(message))
            continue
        if isinstance(message, AssistantMessage):
            for call in message.calls:
                words = {
                    word
                    for value in strings(dict(call.arguments))
                    for word in value.split()
                    if len(word) > 11
                }
                calls += 1
                taken += any(word in shown and word not in said for word in words)
        said += "\n".join(message_texts(message))
    assert taken > calls / 3


@pytest.mark.parametrize("format", DIALECTS)
def test_providers_rules_hold(format: Format) -> None:
    """An independent reading of each body finds nothing that its provider would refuse."""
    for seed in range(6):
        found = findings(read(format, scan(generate_bytes(seed, tokens=40_000, format=format))))
        marks = [finding for finding in found if finding.startswith("R20")]
        assert len(marks) <= 4
        assert [finding for finding in found if finding not in marks] == []


@pytest.mark.parametrize("format", DIALECTS)
def test_dialects_carry_the_same_texts(format: Format) -> None:
    """Every text of the neutral session stands in each dialect, and every call's arguments."""
    session = tell(5, tokens=40_000)
    body = json.loads(encode(DIALECTS[format](session)))
    found = set(strings(body))
    for message in session.messages:
        if isinstance(message, AssistantMessage):
            assert not message.text or message.text in found
            for call in message.calls:
                spelled = arguments_text(call.arguments) in found
                assert spelled or set(strings(dict(call.arguments))) <= found
        else:
            assert {text for text in message_texts(message) if text} <= found
    assert session.system in found


def test_pictures_are_whole_pngs() -> None:
    """Each picture is a readable PNG whose header tells its true size."""
    images = [result.image for result in results_of(tell(1, tokens=324_000)) if result.image]
    assert images
    for image in images:
        png = base64.b64decode(image.data, validate=True)
        width, height = struct.unpack(">II", png[16:24])
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.endswith(b"IEND\xaeB`\x82")
        assert 96 <= width <= 128
        assert 64 <= height <= 80


@pytest.mark.parametrize("format", DIALECTS)
def test_images_may_be_left_out(format: Format) -> None:
    """Without images no dialect carries base64 data."""
    assert b"iVBORw0KGgo" not in generate_bytes(1, tokens=324_000, format=format, images=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tokens": 100}, "at least 2000"),
        ({"tokens": 3_000, "turns": 0}, "at least 1"),
        ({"tokens": 3_000, "turns": 15}, "at most 2 turns"),
        ({"tokens": 3_000, "turns": 1, "ending": "user"}, "ending must be tool"),
        ({"tokens": 3_000, "format": "smoke-signals"}, "openai-chat"),
    ],
)
def test_impossible_wishes_are_refused(options: dict[str, Any], words: str) -> None:
    """A wish that cannot be met is an error that names the bound."""
    with pytest.raises(ValueError, match=words):
        generate(1, **options)


def test_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes exactly the bytes of the function, and tells what it made on standard error."""
    out = tmp_path / "session.json"
    assert main(["--seed", "9", "--tokens", "4000", "--format", "gemini", "--out", str(out)]) == 0
    assert out.read_bytes() == generate_bytes(9, tokens=4_000, format="gemini")
    said = capsys.readouterr()
    assert said.out == ""
    assert "estimated tokens" in said.err


def test_command_refuses_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad argument or an unwritable file ends with status 2 and one line on standard error."""
    assert main(["--tokens", "7"]) == 2
    assert main(["--tokens", "3000", "--out", str(tmp_path / "absent" / "x.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("error: ") == 2
