"""The recall yardstick: what counts as needed, what counts as kept, and how pruners are run through it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.conversations import generate, generate_bytes
from bench.recall import (
    POLICIES,
    CorpusError,
    PolicyError,
    find_policy,
    load_sessions,
    measure,
    sample,
    session_of,
)
from bench.recall.__main__ import main
from bench.recall.measure import Result, Row
from bench.recall.needs import Point, identifiers, point_at
from bench.recall.ours import pinch_with
from bench.recall.sessions import DEFAULT_CORPUS, Session
from bench.recall.shapes import call_points, said
from bench.recall.survival import shipped, survivors
from tests.bench.commands import run_bench

Json = dict[str, Any]


def chat(result: str, answer: str, arguments: str = "{}", spoken: str = "Look around.") -> Session:
    """A user, a call, its result, and an answer with a call of its own."""
    return session_of(
        "made",
        {
            "messages": [
                {"role": "user", "content": spoken},
                _calling("first", "{}", None),
                {"role": "tool", "tool_call_id": "first", "content": result},
                _calling("second", arguments, answer),
            ]
        },
    )


def _calling(call_id: str, arguments: str, content: str | None) -> Json:
    call = {"id": call_id, "type": "function", "function": {"name": "shell", "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def last_point(session: Session) -> Point:
    texts = [said(message, session.dialect) for message in session.messages]
    return point_at(texts, len(texts) - 1)


def needed(point: Point) -> list[str]:
    return [need.text for need in point.identifiers]


@pytest.fixture(scope="module")
def made() -> list[Session]:
    """Two sessions of either shape, long enough to be measured."""
    return [
        session_of("chat", generate(3, tokens=40_000, format="openai-chat", images=False)),
        session_of("blocks", generate(4, tokens=40_000, format="anthropic", images=False)),
    ]


def test_identifiers() -> None:
    """An identifier has six characters or more and a separator, a digit or an inner capital."""
    text = "Look: src/app.py, parseConfig HTTPServer a_b plain Capital SHOUTED 402117. x=a-b-c-d"
    assert identifiers(text) == {"src/app.py", "parseConfig", "HTTPServer", "402117", "a-b-c-d"}


def test_needs_come_from_results_alone() -> None:
    """What a user or the model has said before is no need, nor is what no result holds."""
    session = chat(
        "src/kept.py src/told.py", "src/kept.py src/told.py src/new.py", spoken="Mind src/told.py please."
    )
    point = last_point(session)
    assert needed(point) == ["src/kept.py"]
    assert point.identifiers[0].holders == (2,)


def test_needs_of_arguments_are_decoded() -> None:
    """Call arguments are read as decoded values, so an escaped line break hides no identifier."""
    arguments = json.dumps({"patch": "x\nsrc/kept.py\n    return compute_all_of_it(now)"})
    point = last_point(chat("src/kept.py\n    return compute_all_of_it(now)\n", "Done.", arguments))
    assert needed(point) == ["compute_all_of_it", "src/kept.py"]
    assert [need.text for need in point.lines] == ["return compute_all_of_it(now)"]


def test_survival() -> None:
    """A need survives in an unchanged holder or in the text of a changed message, and nowhere else."""
    session = chat("src/kept.py and src/gone.py", "src/kept.py src/gone.py")
    point = last_point(session)
    prefix = list(session.messages[: point.end])
    assert survivors(point.identifiers, shipped(session, point.end, prefix)) == 2
    prefix[2] = {**prefix[2], "content": "[shell: result omitted; mentioned: src/kept.py]"}
    assert survivors(point.identifiers, shipped(session, point.end, prefix)) == 1
    assert survivors(point.identifiers, shipped(session, point.end, prefix[:2])) == 0


def test_copies_count_as_unchanged(made: list[Session]) -> None:
    """A pruner that hands back equal copies is judged like one that hands back the same objects."""
    for session in made:
        end = call_points(session.messages)[-1]
        copied = json.loads(json.dumps(session.messages[:end]))
        after = shipped(session, end, copied)
        assert after == shipped(session, end, session.messages[:end])
        assert after.tokens == session.fixed_tokens + sum(session.sizes[:end])


def test_sizes_follow_the_original_rule() -> None:
    """A message counts its characters divided by three, rounded down, call names and arguments included."""
    session = chat("12345678", "abcdef", '{"a":1}')
    assert session.sizes == (len("Look around.") // 3, len("shell{}") // 3, 2, len('abcdefshell{"a":1}') // 3)


def test_points_stand_before_model_output_in_the_second_half(made: list[Session]) -> None:
    """Points are call points past half of the session's tokens, and each needs something."""
    sampled = sample(made)
    assert {one.session.name for one in sampled} == {"chat", "blocks"}
    for one in sampled:
        points = call_points(one.session.messages)
        for point in one.points:
            assert point.end in points
            before = one.session.fixed_tokens + sum(one.session.sizes[: point.end])
            assert before >= one.session.tokens / 2
            assert point.identifiers


def test_short_sessions_are_left_out() -> None:
    """A session under 30,000 tokens is not measured."""
    assert sample([session_of("short", generate(3, tokens=20_000))]) == []


@pytest.mark.parametrize("name", POLICIES)
def test_policies(name: str, made: list[Session]) -> None:
    """Every registered pruner takes both shapes, gives valid shares and changes nothing it was given."""
    before = json.dumps([session.messages for session in made])
    result = measure(POLICIES[name], (0.5,), sample(made, 2))
    row = result.at(0.5)
    assert 0 <= row.low <= row.recall <= row.high <= 1
    assert 0 <= row.reduction_low <= row.reduction <= row.reduction_high < 1
    assert row.conversations == 2
    assert json.dumps([session.messages for session in made]) == before


def test_bounds_of_recall(made: list[Session]) -> None:
    """Shipping everything keeps all and removes nothing; shipping nothing keeps none."""
    points = sample(made, 3)

    def everything(messages: list[Json], _budget: int) -> list[Json]:
        return messages

    def nothing(_messages: list[Json], _budget: int) -> list[Json]:
        return []

    kept, gone = measure(everything, (0.5,), points).at(0.5), measure(nothing, (0.5,), points).at(0.5)
    assert (kept.recall, kept.reduction, kept.budget_met) == (1.0, 0.0, 0.0)
    assert gone.recall == 0.0
    assert gone.budget_met == 1.0


def test_equal_runs_give_equal_results(made: list[Session]) -> None:
    """The same pruner on the same sample gives the same figures, intervals included."""
    points = sample(made, 3)
    assert measure(POLICIES["random"], sample=points) == measure(POLICIES["random"], sample=points)


def test_interpolation() -> None:
    """Recall at a like reduction lies on the line between the nearest budgets; beyond the last, nowhere."""
    result = Result("p", tuple(_row(share, removed, kept) for share, removed, kept in _CURVE), ())
    assert result.recall_at(0.2) == pytest.approx(0.95)
    assert result.recall_at(0.5) == pytest.approx(0.8)
    assert result.recall_at(0.61) is None


_CURVE = ((0.25, 0.6, 0.7), (0.5, 0.4, 0.9))


def _row(share: float, removed: float, kept: float) -> Row:
    return Row("p", share, kept, kept, kept, kept, None, removed, removed, removed, 1.0, 1, 0, 1)


def test_own_pruner_is_found_by_name() -> None:
    """`module:function` names any pruner, which is handed copies."""
    found = find_policy("bench.recall.orders:trim_all")
    assert found.is_foreign
    with pytest.raises(PolicyError, match="give module:function"):
        find_policy("missing")
    with pytest.raises(PolicyError, match="cannot load"):
        find_policy("bench.recall.orders:missing")


def test_limits_by_name() -> None:
    """`pinch?name=value` is the product under other limits, and a limit that does not exist is refused."""
    limits = pinch_with("min_gain=0.1&target=0.5&protected_tools=a,b").limits_of(1_000, 10)
    assert (limits.min_gain, limits.target_tokens, limits.protected_tools) == (0.1, 500, ("a", "b"))
    with pytest.raises(PolicyError, match="no limit 'colour'"):
        find_policy("pinch?colour=red")
    with pytest.raises(PolicyError, match="min_gain"):
        find_policy("pinch?min_gain=7")


def test_corpus_errors(tmp_path: Path) -> None:
    """A missing folder, a file that is no JSON and a folder without conversations each say so."""
    with pytest.raises(CorpusError, match="no folder"):
        load_sessions(tmp_path / "missing")
    with pytest.raises(CorpusError, match="no request body"):
        load_sessions(tmp_path)
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(CorpusError, match="cannot read"):
        load_sessions(tmp_path)


def test_command(tmp_path: Path) -> None:
    """The command prints a table and writes every figure and the plot."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for seed in (3, 4):
        (corpus / f"{seed}.json").write_bytes(generate_bytes(seed, tokens=40_000, images=False))
    options = ["--quick", "--policies", "oldest-first,pinch", "--policy", "bench.recall.orders:trim_all"]
    files = ["--corpus", str(corpus), "--json", str(tmp_path / "r.json"), "--plot", str(tmp_path / "r.svg")]
    finished = run_bench("recall", *options, *files)
    assert finished.returncode == 0, finished.stderr
    assert "recall at like reduction" in finished.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert len(found["rows"]) == 9
    assert found["rows"][0]["points"] == 6
    assert set(found["recall_at_reduction"]) == {"oldest-first", "pinch", "bench.recall.orders:trim_all"}
    assert ET.parse(tmp_path / "r.svg").getroot().tag.endswith("svg")  # noqa: S314 - its own output


def test_command_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An unknown pruner and a missing corpus end with status 2 and one line that says why."""
    assert main(["--policies", "missing"]) == 2
    assert main(["--corpus", str(tmp_path / "missing")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") for line in lines)


@pytest.mark.skipif(not DEFAULT_CORPUS.is_dir(), reason="the real conversations are not beside the checkout")
def test_known_figures() -> None:
    """On the real conversations the baselines measure what an independent count of them measured."""
    points = sample(load_sessions(), 4)
    oldest = measure(POLICIES["oldest-first"], (0.5,), points).at(0.5)
    assert oldest.recall == pytest.approx(0.767, abs=0.06)
    assert oldest.reduction == pytest.approx(0.508, abs=0.03)
