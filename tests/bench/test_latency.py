"""The yardsticks of speed, on a small scale: what they send is what they say, and their figures are whole."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest

from bench.growth.__main__ import Step, charts, exponents
from bench.growth.bodies import of_messages, of_tokens
from bench.latency import ratios
from bench.latency.goals import ONE, TWO, is_any_missed
from bench.latency.load import Beside, Saturation, saturate
from bench.latency.payloads import GrowingSession
from bench.latency.report import tables
from bench.latency.servers import echo_server, echo_stub, pinch_server
from bench.latency.stages import STAGES, stages
from bench.peers.__main__ import ECHO, GOAL_TOKENS, LATER, Outcome, goal_of
from bench.peers.__main__ import main as peers
from bench.peers.validity import judge


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
        assert one.calls == (2 * sessions if one.case.history == "next" else 2)
        assert one.ratio > 0
        assert one.shipped_tokens > 0
    assert [one.goal for one in found[:4]] == [1.3, 1.3, 1.3, None]


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


def test_growth_is_told_by_its_exponent() -> None:
    """A cost that doubles with its cause has exponent 1, one that quadruples 2."""
    steps = [Step("tokens", 10, 5, 1), Step("tokens", 20, 10, 1), Step("tokens", 40, 40, 1)]
    assert exponents(steps) == [pytest.approx(1.0), pytest.approx(2.0)]


def test_each_row_of_growth_is_plotted() -> None:
    """There is a plot of each cause, with its points and a legend that names its curves."""
    steps = [
        Step(against, value, value * 2.0, value * 1.0, per_second=100.0 if against == "callers" else 0.0)
        for against in ("tokens", "messages", "callers")
        for value in (1, 20, 400)
    ]
    made = charts(steps)
    assert list(made) == ["", "-messages", "-callers"]
    for chart, cause, curves in zip(
        made.values(),
        ("tokens", "messages", "calls under way"),
        (["a session&#x27;s first call", "the same call again"],) * 2 + (["answered"],),
        strict=True,
    ):
        assert f">{cause}<" in chart
        assert all(f">{curve}<" in chart for curve in curves)
        assert chart.count("<circle") == 3 * len(curves)


def test_bodies_have_the_size_that_was_asked_for() -> None:
    """Messages vary while tokens stand still, and the other way round."""
    for count in (11, 101, 1_001):
        body = of_messages(count, "x", 50_000).body.json
        assert len(json.loads(body)["messages"]) == count
        assert math.isclose(len(body), 160_000, rel_tol=0.6)
    assert math.isclose(
        len(of_tokens(32_000, "x").body.json), 3 * len(of_tokens(11_000, "x").body.json), rel_tol=0.3
    )


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
    assert goals("generated 50,000") == goals("s015-codex-cli.openai") == [None] * 5


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
