"""The yardstick of extraction: what it counts, and that its gate loses less than asking always."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.conversations import generate_bytes
from bench.corpus import conversations
from bench.extract.__main__ import as_json, main, measure
from bench.extract.measure import Filtered, arms


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made sessions, as files."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed in (3, 4):
        body = generate_bytes(seed, tokens=60_000, format="openai-chat", images=False)
        (folder / f"made-{seed}.openai.json").write_bytes(body)
    return folder


@pytest.fixture(scope="module")
def found(corpus: Path) -> list[Filtered]:
    return measure(list(conversations(corpus)), 0.5, Console(quiet=True))


def test_what_is_sent_is_no_longer_than_the_elision(found: list[Filtered]) -> None:
    """An extraction is sent where it was accepted and fits; what is sent of every result is counted."""
    assert found
    assert any(one.is_sent for one in found)
    for one in found:
        assert one.sent_tokens <= one.elided.elided_tokens or not one.is_sent
        assert one.outcome == "accepted" or not one.is_sent
        assert one.cost_usd > 0
    told = as_json(found, list(arms(found)))
    assert sum(told["outcomes"].values()) == told["results"] == sum(row["results"] for row in told["classes"])
    assert all(0 <= row["removed"] <= 1 for row in told["classes"])


def test_the_gate_loses_no_more_than_asking_always(found: list[Filtered]) -> None:
    """Each gate is no worse by what Pinch sends otherwise, the default one by whole results too."""
    decided = {(arm.regime, arm.name): arm for arm in arms(found)}
    assert len(decided) == 12
    beyond = {key: arm.beyond_elision_usd - arm.cost_usd for key, arm in decided.items()}
    whole = {key: arm.beyond_whole_usd - arm.cost_usd for key, arm in decided.items()}
    for regime in ("warm", "cold", "none"):
        assert whole[regime, "gate"] >= whole[regime, "ungated"]
        for name in ("gate", "told", "excerpt"):
            assert beyond[regime, name] >= beyond[regime, "ungated"]


def test_one_refused_filter_does_not_close_the_gate(found: list[Filtered]) -> None:
    """Whatever the order of the sessions, the first refusals leave the gate open for what pays."""
    for order in (found, found[::-1]):
        refused = [replace(one, outcome="result not smaller", is_sent=False) for one in order[:2]]
        asked = {arm.regime: arm.calls for arm in arms([*refused, *order]) if arm.name == "gate"}
        assert asked["none"] == len(order) + 2
        assert asked["cold"] > 2


def test_the_command_prints_tables_and_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables for people, JSON for scripts, and a status that fails where there is nothing to measure."""
    assert main(["--corpus", str(corpus), "--every", "2"]) == 0
    assert "the gate" in capsys.readouterr().out
    assert main(["--corpus", str(corpus), "--every", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["arms"]) == 12
    assert main(["--corpus", str(corpus / "none")]) == 1
