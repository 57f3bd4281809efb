"""The economics yardstick: how a prompt cache is charged, and what a replay sees of each policy."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench.conversations import generate, generate_bytes
from bench.economics import POLICIES, RATES, Call, Pauses, Rates, call_dollars, replay, replay_all, tally
from bench.economics.__main__ import main
from bench.economics.measure import class_of
from bench.recall import find_policy, policy, session_of
from bench.recall.sessions import Session
from bench.recall.shapes import call_points
from tests.bench.commands import run_bench

# Some prices follow the hour of the day; the yardstick takes the lowest.
PRICED_AT = datetime(2026, 11, 30, tzinfo=UTC)
TEN = Rates("ten", "none", 10.0, write=1.25, read=0.1, ttl_minutes=5)

Json = dict[str, Any]


@pytest.fixture(scope="module")
def session() -> Session:
    """One session of 60,000 tokens."""
    return session_of("made", generate(3, tokens=60_000, format="openai-chat", images=False))


def test_dollars_by_hand() -> None:
    """What a call shares with the one before costs the read rate, the rest the write rate."""
    calls = [Call(100_000, 0, True, True), Call(120_000, 100_000, True, False)]
    assert call_dollars(calls, TEN, "s", Pauses()) == pytest.approx([1.25, 0.1 + 0.25])


def test_minimum_prefix() -> None:
    """A call under the minimum prefix is neither read from the cache nor charged as a write."""
    calls = [Call(1_000, 0, True, True), Call(1_023, 1_000, True, False), Call(2_000, 1_023, True, False)]
    dollars = call_dollars(calls, TEN, "s", Pauses())
    assert dollars == pytest.approx([0.01, 0.01023, 0.025])


def test_pauses() -> None:
    """A pause that outlives the cache makes the next user turn cold; a shorter one does not."""
    calls = [Call(10_000, 0, True, True), Call(10_000, 10_000, True, True), Call(10_000, 10_000, True, False)]
    cold = call_dollars(calls, TEN, "s", Pauses(share=1.0, minutes=6))
    warm = call_dollars(calls, TEN, "s", Pauses(share=1.0, minutes=5))
    assert cold == pytest.approx([0.125, 0.125, 0.01])
    assert warm == pytest.approx([0.125, 0.01, 0.01])


def test_unpruned_calls_extend_each_other(session: Session) -> None:
    """Without pruning each call begins with the whole call before and shares exactly its tokens."""
    calls = replay(POLICIES["none"], session, 50_000)
    assert len(calls) == len(call_points(session.messages))
    assert all(call.extends for call in calls)
    assert [call.shared_tokens for call in calls[1:]] == [call.tokens for call in calls[:-1]]
    assert calls[-1].tokens == session.fixed_tokens + sum(session.sizes[: call_points(session.messages)[-1]])


def test_a_changed_message_breaks_the_prefix(session: Session) -> None:
    """A call that rewrites an early message shares only what stands before the change."""
    second = call_points(session.messages)[1]

    def rewriting(messages: list[Json], _budget: int) -> list[Json]:
        if len(messages) < second:
            return messages
        return [{**messages[0], "content": "Z"}, *messages[1:]]

    calls = replay(policy("rewriting", rewriting), session, 50_000)
    assert [call.extends for call in calls[:3]] == [True, False, True]
    assert session.fixed_tokens <= calls[1].shared_tokens <= session.fixed_tokens + 1


def test_capping_on_arrival_never_breaks_a_prefix(session: Session) -> None:
    """A result that is capped from the first call that sees it leaves every earlier byte as it was."""
    assert all(call.extends for call in replay(POLICIES["cap-on-arrival"], session, 50_000))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("form", ["openai-chat", "anthropic"])
def test_policies(name: str, form: Any) -> None:
    """Every registered policy replays both shapes and never ships more than no pruning."""
    made = session_of("made", generate(5, tokens=45_000, format=form, images=False))
    unpruned = replay(POLICIES["none"], made, 25_000)
    pruned = replay(POLICIES[name], made, 25_000)
    assert len(pruned) == len(unpruned)
    assert all(one.tokens <= other.tokens for one, other in zip(pruned, unpruned, strict=True))


@pytest.mark.parametrize("name", ["uniform", "per-call-lexical", "pinch"])
def test_planning_all_at_once(name: str, session: Session) -> None:
    """The faster protocol gives exactly what pruning each prefix by itself gives."""
    fast = POLICIES[name]
    assert fast.plan_all is not None

    def slow(messages: list[Json], budget_tokens: int, fixed_tokens: int = 0) -> list[Json]:
        return fast.prune(messages, budget_tokens, fixed_tokens=fixed_tokens)

    assert replay(fast, session, 25_000) == replay(policy("slow", slow), session, 25_000)


def test_own_pruner(session: Session) -> None:
    """A pruner named `module:function` gets copies and is replayed like the registered ones."""
    found = find_policy("bench.economics.policies:oldest_first", POLICIES)
    assert replay(found, session, 25_000) == replay(POLICIES["oldest-first"], session, 25_000)


def test_tally(session: Session) -> None:
    """No pruning is always there, changes nothing against itself, and every class that occurs has a row."""
    rows = tally(replay_all([POLICIES["clear-all-but-3"]], [session], 25_000), RATES["sonnet"], Pauses())
    none, cleared = rows
    assert (none.policy, none.pooled, none.tokens, none.extends, none.events) == ("none", 0.0, 1.0, 1.0, 0.0)
    assert cleared.size_class == class_of(session.tokens) == "50-100k"
    assert cleared.tokens < 1.0
    assert cleared.events > 0
    assert cleared.peak < none.peak


def test_classes() -> None:
    """Every size has one class, each lower bound belonging to the class it opens."""
    assert [class_of(size) for size in (0, 49_999, 50_000, 99_999, 100_000)] == [
        "<50k",
        "<50k",
        "50-100k",
        "50-100k",
        ">100k",
    ]


def test_prices() -> None:
    """The prices are those of genai-prices."""
    prices = pytest.importorskip("genai_prices", reason="genai-prices is not installed")
    for rates in RATES.values():
        usage = prices.Usage(input_tokens=1)
        found = prices.calc_price(usage, model_ref=rates.model, genai_request_timestamp=PRICED_AT).model_price
        base = _first_tier(found.input_mtok)
        assert float(base) == pytest.approx(rates.input_price)
        assert float(_first_tier(found.cache_read_mtok)) == pytest.approx(rates.read * rates.input_price)
        written = found.cache_write_mtok
        assert rates.write == (float(_first_tier(written) / base) if written is not None else 1.0)


def _first_tier(price: Any) -> Any:
    return getattr(price, "base", price)


def test_command(tmp_path: Path) -> None:
    """The command prints a table for each class and writes every figure and the plot."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for seed, tokens in ((3, 60_000), (4, 20_000)):
        (corpus / f"{seed}.json").write_bytes(generate_bytes(seed, tokens=tokens, images=False))
    options = [
        "--policies",
        "uniform,pinch",
        "--rates",
        "sonnet,gpt",
        "--idle-share",
        "0.2",
        "--plot-session",
        "4",
    ]
    files = ["--corpus", str(corpus), "--json", str(tmp_path / "e.json"), "--plot", str(tmp_path / "e.svg")]
    finished = run_bench("economics", *options, *files)
    assert finished.returncode == 0, finished.stderr
    assert "gpt-class, 1 sessions <50k" in finished.stdout
    found = json.loads((tmp_path / "e.json").read_text())
    assert {(row["policy"], row["rates"], row["size_class"]) for row in found["rows"]} == {
        (name, rates, size)
        for name in ("none", "uniform", "pinch")
        for rates in ("sonnet", "gpt")
        for size in ("<50k", "50-100k")
    }
    assert ET.parse(tmp_path / "e.svg").getroot().tag.endswith("svg")  # noqa: S314 - its own output


def test_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown policy, class of models or session ends with status 2 and says why."""
    assert main(["--policies", "missing"]) == 2
    assert main(["--policies", "none", "--plot-session", "missing"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main(["--rates", "missing"])
    assert "give some of sonnet, gpt, deepseek" in capsys.readouterr().err
