"""The yardsticks of speed, on a small scale: what they send is what they say, and their figures are whole."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from bench.conversations import encode, generate
from bench.corpus import Conversation
from bench.latency import ranked, ratios, real
from bench.latency.__main__ import main as latency
from bench.latency.goals import ONE, TWO, is_any_missed
from bench.latency.load import Beside, Saturation, saturate
from bench.latency.payloads import GrowingSession
from bench.latency.report import tables
from bench.latency.servers import ALLOCATOR, echo_server, echo_stub, pinch_server
from bench.latency.stages import STAGES, stages
from bench.latency.stream import streaming
from bench.peers.__main__ import ECHO, GOAL_TOKENS, LATER, Outcome, goal_of
from bench.peers.__main__ import main as peers
from bench.peers.validity import judge
from bench.recall.shapes import call_points
from bench.scrape import moved, scrape
from pinch_server.formats.format import Format


def test_a_session_grows_from_call_to_call() -> None:
    """Each call's body begins with the one before, and no two tellings share their beginning."""
    session = GrowingSession(20_000, 4)
    told = [json.loads(call.payload)["messages"] for call in session.calls("one", "body", "edits")]
    assert len(told) == 4
    for before, after in pairwise(told):
        assert after[: len(before)] == before
        assert len(after) > len(before)
    other = next(session.calls("other", "body", "edits"))
    assert json.loads(other.payload)["messages"][1] != told[0][1]


def test_the_typed_form_says_the_same() -> None:
    """Both forms of a call hold the same texts in the same order."""
    session = GrowingSession(20_000, 1)
    (body,), (typed,) = (list(session.calls("one", form, "full")) for form in ("body", "typed"))
    texts = [m["content"] for m in json.loads(body.payload)["messages"] if isinstance(m.get("content"), str)]
    said = [part.text for message in typed.request.chat.messages for part in message.content]
    assert said == [text for text in texts if text]


def test_ratios_are_taken_of_every_case() -> None:
    """Each case has as many timed calls of each session as were asked for, and a goal where one is set."""
    with echo_server() as echo, pinch_server() as pinch:
        with echo_stub(echo.address) as send:
            assert send(b"\x00anything") == b"\x00anything"
        found = list(ratios.measure(echo, pinch, (3_000,), 2, lambda: None))
        assert pinch.cpu_seconds() > 0
        assert pinch.resident_mib() > 10
    assert [one.case for one in found] == list(ratios.CASES)
    sessions = ratios.SMALL_TOKENS // GrowingSession(3_000, 3).tokens
    assert sessions > 10
    for one in found:
        assert one.times.calls == (2 * sessions if one.case.history == "next" else 2)
        assert one.times.ratio > 0
        assert one.shipped_tokens > 0
    assert [one.goal for one in found[:4]] == [1.3, 1.3, 1.3, None]


def test_two_workers_have_each_seen_a_session_before_its_calls_are_timed() -> None:
    """With two workers the first two calls of a session are not timed, and no goal is set."""
    with echo_server() as echo, pinch_server("--workers", "2") as pinch:
        found = list(ratios.measure(echo, pinch, (3_000,), 2, lambda: None, ratios.NEXT[:1]))
    assert [(one.case, one.goal) for one in found] == [(ratios.CASES[0], None)]
    session = GrowingSession(3_000, 4)
    assert found[0].times.calls == 2 * (ratios.SMALL_TOKENS // session.tokens)


def test_no_result_stands_in_two_tellings_that_are_to_be_embedded_anew() -> None:
    """With results of their own, two tellings of a session share none, and each is told as often."""
    session = GrowingSession(20_000, 1)
    (one,), (other,) = (list(session.calls(name, "body", "edits", own_results=True)) for name in "ab")
    told, again = (
        [m["content"] for m in json.loads(call.payload)["messages"] if m["role"] == "tool"]
        for call in (one, other)
    )
    assert len(told) == len(again) > 5
    assert not set(told) & set(again)


def test_vectors_are_known_when_warm_and_made_when_cold() -> None:
    """A session's next call makes fewer vectors than it knows, a new session's knows fewer than it makes."""
    with echo_server() as echo, pinch_server() as pinch:
        found = list(ranked.measure(echo, pinch, (20_000,), 2, lambda: None))
    assert tuple(one.case for one in found) == ranked.CASES
    off, warm, cold_off, cold = found
    assert (off.made, off.known, cold_off.made, cold_off.known) == (0, 0, 0, 0)
    assert 0 < warm.made < warm.known
    assert cold.known < cold.made
    assert cold.made + cold.known >= cold.candidates > 5
    assert all(one.times.ratio > 0 for one in found)


def test_calls_that_were_not_ranked_by_vectors_are_no_figures(tmp_path: Path) -> None:
    """A service that ranks by words alone ends the measurement with what its reply said."""
    settings = tmp_path / "pinch.toml"
    settings.write_text('[relevance]\nscoring = "lexical"\n')
    with (
        echo_server() as echo,
        pinch_server("--config", str(settings)) as pinch,
        pytest.raises(ranked.NotRankedError, match=r"vectors warm.*RANKING_LEXICAL.*not RANKING_HYBRID"),
    ):
        list(ranked.measure(echo, pinch, (20_000,), 2, lambda: None))


def _chats() -> list[Conversation]:
    return [
        Conversation(f"{seed}.json", form, encode(generate(seed, tokens=tokens, format=kind, images=False)))
        for seed, tokens, form, kind in (
            (1, 20_000, Format.ANTHROPIC, "anthropic"),
            (2, 40_000, Format.OPENAI_CHAT, "openai-chat"),
            (3, 30_000, Format.OPENAI_CHAT, "openai-chat"),
            (4, 10_000, Format.ANTHROPIC, "anthropic"),
        )
    ]


def test_each_dialect_has_its_longest_conversation_measured() -> None:
    """The longest of each dialect comes before longer ones of a dialect that is there already."""
    chats = _chats()
    assert [one.name for one in real.longest(chats, 2)] == ["2.json", "1.json"]
    assert [one.name for one in real.longest(chats)] == ["2.json", "1.json", "3.json"]
    assert real.longest([]) == []


@pytest.mark.parametrize("chat", _chats()[:2], ids=lambda chat: chat.format)
def test_real_conversations_grow_up_to_each_answer_of_the_model(chat: Conversation) -> None:
    """Each call ends where the model spoke next and begins with the one before, but with no other telling."""
    body = json.loads(chat.body)
    told = [json.loads(call.payload) for call in real.calls(chat, "one", "edits", 3)]
    assert [len(one["messages"]) for one in told] == call_points(body["messages"])[-3:]
    for before, after in pairwise(told):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    assert told[0]["messages"][1:] == body["messages"][1 : len(told[0]["messages"])]
    assert {name: told[0][name] for name in body if name != "messages"} == {
        name: body[name] for name in body if name != "messages"
    }
    other = next(real.calls(chat, "other", "edits", 3))
    assert json.loads(other.payload)["messages"][0] != told[0]["messages"][0]


def test_real_conversations_are_measured_in_both_replies() -> None:
    """Each conversation has a figure for edits and one for the whole body, of as many calls as it should."""
    chats = _chats()[:2]
    with echo_server() as echo, pinch_server() as pinch:
        found = list(real.measure(echo, pinch, chats, 2, lambda: None))
    assert [(one.conversation, one.dialect, one.reply) for one in found] == [
        ("1", "anthropic", "edits"),
        ("1", "anthropic", "full"),
        ("2", "openai-chat", "edits"),
        ("2", "openai-chat", "full"),
    ]
    for one in found:
        assert one.times.calls == 6
        assert 5_000 < one.shipped_tokens <= one.tokens


def test_parts_run_alone_and_say_what_they_leave_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a corpus its part is left out with a word, and the others are written and shown."""
    for name, value in ALLOCATOR.items():
        monkeypatch.setenv(name, value)
    written = tmp_path / "figures.json"
    arguments = ["--sizes", "3000", "--ranked-sizes", "20000", "--steps", "2", "--corpus", str(tmp_path)]
    assert (
        latency([*arguments, "--warm-seconds", "0", "--parts", "two,ranking,corpus", "--json", str(written)])
        == 0
    )
    figures = json.loads(written.read_text())
    assert {name: len(figures[name]) for name in ("ratios", "two", "ranking", "corpus")} == {
        "ratios": 0,
        "two": 4,
        "ranking": 4,
        "corpus": 0,
    }
    said = capsys.readouterr()
    assert f"corpus: left out, no conversation (*.openai.json, *.anthropic.json) in {tmp_path}" in said.err
    assert "to two workers in turn" in said.out
    assert "what ranking by embeddings adds" in said.out


@pytest.mark.parametrize(
    ("rate", "planning", "p99", "is_missed"),
    [
        (150.0, 0.1, 3.5, False),
        (149.0, 0.1, 3.5, True),
        (150.0, 0.11, 3.5, True),
        (150.0, 0.1, 3.6, True),
    ],
)
def test_a_run_that_misses_any_goal_says_so(
    rate: float, planning: float, p99: float, is_missed: bool
) -> None:
    """Calls of two workers, the plan's share and small calls beside a stream have goals of their own."""
    loads = [
        Saturation(server, 324_000, 8, calls, 1.0, 1.0, share)
        for server, calls, share in (("echo", 900.0, None), (ONE, 100.0, 0.05), (TWO, rate, planning))
    ]
    besides = [Beside(ONE, 10, 1.0, 10.0), Beside(TWO, 10, 1.0, p99)]
    assert is_any_missed({"ratios": [], "loads": loads, "besides": besides}) is is_missed
    made = tables([], [], loads, besides, [])
    marks = [cell for table in made for column in table.columns for cell in column.cells if "missed" in cell]
    assert len(marks) == is_missed


def test_a_conversation_without_its_call_is_invalid() -> None:
    """A result whose call was dropped is a fault; a conversation that is whole has none."""
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    whole = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "text"},
    ]
    assert judge(whole, whole).faults == ()
    assert judge(whole, whole).said_whole
    cut = judge(whole, whole[2:])
    assert cut.faults[0] == "no message of the user is left"
    assert any("answers no call" in fault for fault in cut.faults)
    assert not cut.said_whole


def test_peers_that_are_not_installed_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Outside its own environment the comparison says which command has it."""
    assert peers(["--sizes", "3000"]) == 2
    assert "make peers" in capsys.readouterr().err


def test_the_goals_beside_peers_are_those_of_one_conversation() -> None:
    """Each peer has its goal at the generated conversation of that size, however long that came out."""
    pruners = ["langchain-core 1 trim_messages", "headroom-ai 1 compress", "litellm 1 trim_messages", ECHO]

    def goals(name: str) -> list[float | None]:
        made = [
            Outcome(name, 365_767, pruner, 1.0, ratio, 0.1, 1.0, said_whole=True, faults=())
            for pruner, ratio in [*((one, 0.5) for one in pruners), (LATER, None)]
        ]
        return list(map(goal_of, made))

    assert goals(f"generated {GOAL_TOKENS:,}") == [0.7, 1 / 20, 1 / 2000, None, None]
    assert goals("generated 50,000") == goals("real 1") == [None] * 5


def test_a_load_says_what_a_call_costs_and_how_much_of_it_is_the_plan() -> None:
    """A busy server answers calls and spends a part of their time on plans; an echo has none."""
    with echo_server() as echo, pinch_server("--workers", "2") as pinch:
        assert pinch.address.count(":") == 2
        floor = saturate("echo", echo, 3_000, 2, 0.2)
        load = saturate("2 workers", pinch, 3_000, 2, 0.5)
    assert floor.calls_per_second > 0
    assert floor.planning is None
    assert load.calls_per_second > 0
    assert load.planning is not None
    assert 0 < load.planning < 1


def test_the_stages_of_a_call_are_within_its_handling() -> None:
    """Each stage of a call that trims takes some time, and all together no more than the call's handling."""
    with pinch_server() as pinch:
        found = stages(pinch, 120_000, 2)
    assert set(found.stages_ms) == set(STAGES)
    assert all(time > 0 for time in found.stages_ms.values())
    assert sum(found.stages_ms.values()) < found.handling_ms


def test_the_stream_beside_small_calls_is_a_client_of_its_own() -> None:
    """While it runs, calls are answered that this process did not make; one that fails says so."""
    with pinch_server() as pinch:
        before = scrape(pinch.http)
        with streaming(pinch.address, 20_000):
            after = scrape(pinch.http)
        with pytest.raises(OSError, match="did not begin"), streaming("127.0.0.1:1", 3_000):
            pass
    handled = [
        one.change for one in moved(before, after) if one.series.startswith("grpc_server_handled_total")
    ]
    assert sum(handled) >= 1
