"""What extraction did, as the JSON endpoint and the page say it: what callers were told and /metrics has."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from bench.running_server import RunningServer, running_server
from pinch_server.rpc.openapi import document
from tests.web.browser import Browser, browsing, needs_browser
from tests.web.extracting import Extracting, extracting_service

PASSED = {"allowed", "reapplied_same_session", "reapplied_cross_session"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extracting]:
    with extracting_service(tmp_path_factory.mktemp("state")) as running:
        yield running


def got(running: RunningServer, path: str) -> str:
    with closing(http.client.HTTPConnection(running.http, timeout=30)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read().decode()


def state(running: RunningServer) -> Any:
    found = json.loads(got(running, "/api/v1/state"))
    schema = {"$ref": "#/components/schemas/State", **document()}
    Draft202012Validator(schema).validate(found)
    return found["extraction"]


def counted(running: RunningServer) -> dict[tuple[str, str], float]:
    """The series of extraction on the page of metrics, those at zero left out."""
    return {
        (sample.name.removeprefix("pinch_extraction_"), next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(got(running, "/metrics"))
        for sample in family.samples
        if sample.name.startswith("pinch_extraction_") and sample.value
    }


def settled(running: RunningServer) -> tuple[Any, dict[tuple[str, str], float]]:
    """The state and the metrics of one moment: filters are written behind the replies."""
    over = time.monotonic() + 60
    while True:
        before, found = counted(running), state(running)
        if before == counted(running):
            return found, before
        assert time.monotonic() < over


def by_label(metrics: dict[tuple[str, str], float], name: str) -> dict[str, float]:
    return {label: value for (of, label), value in metrics.items() if of == name}


def test_the_state_says_what_callers_were_told(service: Extracting) -> None:
    """Over all workers, results sent extracted and the gates of the others are those of the replies."""
    found = state(service.running)
    assert (found["sent_fresh"], found["sent_replayed"]) == (service.fresh, service.replayed)
    assert service.fresh
    assert service.replayed
    assert found["considered"] == service.gates.total()
    suppressed = {gate: count for gate, count in service.gates.items() if gate not in PASSED}
    assert suppressed
    assert found["suppressed"] == suppressed
    assert found["reasons"] == service.reasons
    assert found["top_reason"] == service.reasons.most_common(1)[0][0]
    assert found["calls_avoided"] >= service.replayed


def test_the_state_says_what_the_metrics_say(service: Extracting) -> None:
    """Calls, truncations, filters, tokens and money are those of /metrics; net is gross less cost."""
    found, metrics = settled(service.running)
    calls = by_label(metrics, "calls_total")
    assert calls["truncated"]
    assert (found["calls"], found["truncated"]) == (sum(calls.values()), calls["truncated"])
    assert found["filters"] == by_label(metrics, "filters_total")
    assert found["tokens"] == by_label(metrics, "tokens_total")
    assert found["repairs"] == by_label(metrics, "repairs_total")
    looked_for = by_label(metrics, "lookups_total")
    assert found["lookups"] == sum(looked_for.values())
    hits = looked_for["text"] + looked_for.get("refusal", 0)
    assert found["hit_share"] == hits / found["lookups"]
    seconds = metrics["call_seconds_sum", ""] / metrics["call_seconds_count", ""]
    assert found["mean_call_seconds"] == pytest.approx(seconds)
    assert {"accepted", "truncated reply"} <= found["filters"].keys()
    assert found["saved_tokens"] == metrics["saved_tokens_total", ""]
    assert found["cost_usd"] == f"{metrics['cost_usd_total', '']:.6f}"
    assert found["value_usd"] == f"{metrics['value_usd_total', '']:.6f}"
    assert Decimal(found["net_usd"]) == Decimal(found["value_usd"]) - Decimal(found["cost_usd"])
    beyond = Decimal(found["beyond_excerpt_usd"])
    assert beyond <= Decimal(found["value_usd"])
    assert Decimal(found["net_beyond_excerpt_usd"]) == beyond - Decimal(found["cost_usd"])
    assert found["median_call_seconds"] > 0


def test_without_extraction_there_is_nothing_of_it(tmp_path: Path) -> None:
    """While `extract.enabled` is off, as by default, the state has null in its place."""
    with running_server(tmp_path) as running:
        assert state(running) is None


def told(amount: str) -> str:
    """An amount as the page writes it."""
    sign, digits = ("−", amount[1:]) if amount.startswith("-") else ("", amount)
    whole, decimals = digits.split(".")
    return f"{sign}${int(whole):,}.{decimals}"


def figures(browser: Browser) -> dict[str, str]:
    names = ("sent", "sent-aside", "calls", "calls-aside", "cost", "value", "value-aside", "net", "net-aside")
    return {name: browser.text(f"#extraction-{name}") for name in names}


def expected(found: Any) -> dict[str, str]:
    seconds = found["median_call_seconds"]
    median = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
    return {
        "sent": str(found["sent_fresh"] + found["sent_replayed"]),
        "sent-aside": f"{found['sent_fresh']} for the first time, {found['sent_replayed']} again",
        "calls": str(found["calls"]),
        "calls-aside": f"{found['calls_avoided']} spared, median {median}, {found['truncated']} truncated",
        "cost": told(found["cost_usd"]),
        "value": told(found["value_usd"]),
        "value-aside": f"{found['saved_tokens']:,} tokens shorter than they came",
        "net": told(found["net_usd"]),
        "net-aside": "against results sent whole; "
        f"{told(found['net_beyond_excerpt_usd'])} against the excerpts",
    }


def bars(browser: Browser, place: str) -> dict[str, str]:
    """The rows of a plot of bars: the series' name from what is told of it, and its figure."""
    script = (
        "return [...document.querySelectorAll(`#${arguments[0]} li`)]"
        ".map(row => [row.title.split(':')[0], row.querySelector('.told').innerText])"
    )
    return dict(browser.run(script, place))


@needs_browser
def test_the_page_says_what_the_state_says(browser: Browser, service: Extracting) -> None:
    """Every figure of the section is the endpoint's; reasons are in words, the most frequent first."""
    browser.open(f"http://{service.running.http}/")
    browser.until("!document.getElementById('extraction').hidden")
    over = time.monotonic() + 60
    while figures(browser) != expected(found := state(service.running)) and time.monotonic() < over:
        pass
    assert figures(browser) == expected(found)
    is_loss = browser.run("return document.getElementById('extraction-net').classList.contains('problem')")
    assert is_loss is found["net_usd"].startswith("-")
    assert bars(browser, "extraction-suppressed") == {
        gate: str(count) for gate, count in found["suppressed"].items()
    }
    assert "sent as an excerpt before" in browser.text("#extraction-suppressed")
    reasons = bars(browser, "extraction-reasons")
    assert reasons == {reason: str(count) for reason, count in found["reasons"].items()}
    filters = bars(browser, "extraction-filters")
    assert list(map(int, filters.values())) == sorted(found["filters"].values(), reverse=True)


@needs_browser
def test_the_receipt_tells_extractions(service: Extracting) -> None:
    """The page of a decision says of each result that a filter made what was sent, and of no other."""
    over = time.monotonic() + 60
    path = f"/api/v1/decisions/{service.decision_id}"
    while "trims" not in (found := json.loads(got(service.running, path))):
        assert time.monotonic() < over
    told = [trim["extracted"] for trim in found["trims"]]
    assert any(told)
    # In a browser of its own: it complains after a while that this page drew no plots.
    with browsing() as alone:
        alone.open(f"http://{service.running.http}/decisions/{service.decision_id}")
        alone.until("document.querySelector('section.list tbody tr')")
        rows = alone.run(
            "return [...document.querySelectorAll('section.list tbody tr')]"
            ".map(row => row.cells[2].innerText)"
        )
    assert [what == "filtered" for what in rows] == told


@needs_browser
def test_the_page_without_extraction_has_no_word_of_it(browser: Browser, tmp_path: Path) -> None:
    """While `extract.enabled` is off the section is not shown."""
    with running_server(tmp_path) as running:
        browser.open(f"http://{running.http}/")
        browser.until("document.getElementById('version').innerText")
        assert "Extraction" not in browser.text("main")
        # Else the page goes on asking when its service has ended, and complains in the tests that follow.
        browser.driver.get("about:blank")


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1920, 1100, 768, 390, 320])
def test_the_section_fits(browser: Browser, service: Extracting, scheme: str, width: int) -> None:
    """In either scheme and at any width axe finds nothing, nothing is cut off, and the console is silent."""
    browser.prefer(scheme)
    browser.size(width, 1000)
    browser.open(f"http://{service.running.http}/")
    browser.until("document.querySelector('#extraction-filters li')")
    assert browser.violations() == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    cut = browser.run(
        "return [...document.querySelectorAll('#extraction :is(.figure, .aside, h3, .name)')]"
        ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
    )
    assert cut == []
    assert browser.errors() == []
