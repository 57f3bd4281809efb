"""The dashboard in a real browser, over a month of decisions."""

from collections.abc import Iterator
from time import time_ns
from typing import Any

import grpc
import pytest

from bench.running_server import RunningServer
from pinch.v1 import insight_pb2 as pb
from pinch.v1.insight_pb2_grpc import InsightServiceStub
from pinch_server.web.assets import read_assets
from tests.web.browser import Browser, needs_browser
from tests.web.month import a_month
from tests.web.services import prune, service_over

pytestmark = needs_browser
HOUR_US = 3_600_000_000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    decisions = list(a_month(time_ns() // 1000 - HOUR_US // 2))
    with service_over(tmp_path_factory.mktemp("state"), decisions) as running:
        yield running


def shown(browser: Browser) -> list[list[str]]:
    """The cells of the table's rows."""
    script = (
        "return [...document.querySelectorAll('#rows tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return list(browser.run(script))


def choose(browser: Browser, name: str, value: str) -> None:
    """Sets a filter as somebody at the page does, and waits for the rows that it selects."""
    browser.run(
        """
        const field = document.querySelector(`#filters [name=${arguments[0]}]`);
        document.getElementById("rows").replaceChildren();
        field.value = arguments[1];
        field.dispatchEvent(new Event("change", { bubbles: true }));
        """,
        name,
        value,
    )
    browser.until("document.querySelector('#rows tr')")


def savings(service: RunningServer, days: int) -> Any:
    with grpc.insecure_channel(service.grpc) as channel:
        return InsightServiceStub(channel).GetSavings(pb.GetSavingsRequest(window_days=days)).savings


@pytest.mark.parametrize("days", [30, 7, 1])
def test_the_cards_say_what_get_savings_says(browser: Browser, service: RunningServer, days: int) -> None:
    """Every figure of the cards, to the last digit, is that of GetSavings over the chosen window."""
    browser.open(f"http://{service.http}/")
    expected = savings(service, days)
    calls = f"{expected.pruned_calls_30d:,} of {expected.calls_30d:,} calls"
    browser.run("document.querySelector(`[data-days='${arguments[0]}']`).click()", days)
    browser.until(f"document.getElementById('share-aside').innerText === '{calls}'")
    assert browser.text("#share") == f"{expected.share_pruned:.2%}"
    assert browser.text("#tokens") == f"{expected.total_tokens_saved:,}"
    assert browser.text("#median") == f"{expected.median_tokens_saved:,.1f}".removesuffix(".0")
    whole, decimals = expected.dollars_saved_usd_30d.split(".")
    assert browser.text("#dollars") == f"${int(whole):,}.{decimals}"
    assert len(decimals) == 6


@pytest.mark.parametrize(
    ("name", "value", "column", "expected"),
    [
        ("outcome", "REJECTED", 8, "rejected"),
        ("model", "gpt-5.2-mini", 1, "gpt-5.2-mini"),
        ("pruned", "false", 4, "–"),
    ],
)
def test_filters_leave_what_they_select(
    browser: Browser, service: RunningServer, name: str, value: str, column: int, expected: str
) -> None:
    """With a filter, every row that is shown meets it, and there are some."""
    browser.open(f"http://{service.http}/")
    choose(browser, name, value)
    rows = shown(browser)
    assert rows
    assert {row[column] for row in rows} == {expected}


def test_a_session_nobody_had_says_so(browser: Browser, service: RunningServer) -> None:
    """A filter that nothing meets says so in words instead of an empty table."""
    browser.open(f"http://{service.http}/")
    browser.run(
        "const field = document.querySelector('[name=session_id]'); field.value = 'nobody';"
        "field.dispatchEvent(new Event('change', { bubbles: true }))"
    )
    browser.until("!document.getElementById('rows-empty').hidden")
    assert browser.text("#rows-empty") == "No decision is like that."


def test_pages_lead_on_and_back(browser: Browser, service: RunningServer) -> None:
    """Older shows the next page without a row of the first, Newer the first again."""
    browser.open(f"http://{service.http}/")
    first = shown(browser)
    assert browser.run("return document.getElementById('newer').disabled")
    browser.run("document.getElementById('older').click()")
    browser.until("document.getElementById('page-words').innerText === 'page 2'")
    second = shown(browser)
    assert len(first) == len(second) == 25
    assert not {tuple(row) for row in first} & {tuple(row) for row in second}
    browser.run("document.getElementById('newer').click()")
    browser.until("document.getElementById('page-words').innerText === 'newest first'")
    assert shown(browser) == first


def test_a_decision_shows_up_by_itself(browser: Browser, service: RunningServer) -> None:
    """A call pruned while the page is open becomes its first row, and its link leads to the decision."""
    browser.open(f"http://{service.http}/")
    decision_id = prune(service)
    browser.until(f"document.querySelector('#rows tr a').href.endsWith('{decision_id}')")
    assert browser.text("#rows tr .outcome") == "pending"
    browser.open(f"http://{service.http}/decisions/{decision_id}")
    assert browser.text(".id") == decision_id
    with grpc.insecure_channel(service.grpc) as channel:
        one = InsightServiceStub(channel).GetDecision(pb.GetDecisionRequest(decision_id=decision_id)).decision
    assert (
        browser.text(".sizes .figure") == f"{one.pinch_original_tokens:,} → {one.pinch_final_tokens:,} tokens"
    )


def test_a_knob_is_turned_on_the_page(browser: Browser, service: RunningServer) -> None:
    """Switched off, the page says that Pinch is disabled in place of figures; switched on, they are back."""
    browser.open(f"http://{service.http}/")
    browser.until("document.querySelector('[data-knob=enabled]')")
    assert "Measurement only" in browser.text("#knobs")
    browser.run("document.querySelector('[data-knob=enabled]').click()")
    browser.until("document.getElementById('dollars-aside').innerText === 'Pinch is disabled'")
    browser.until("document.getElementById('notices').innerText.includes('Pinch is disabled.')")
    browser.run("document.querySelector('[data-knob=enabled]').click()")
    browser.until("document.getElementById('dollars-aside').innerText !== 'Pinch is disabled'")
    browser.until("!document.getElementById('notices').innerText")


def ground(browser: Browser) -> str:
    return str(browser.run("return getComputedStyle(document.body).backgroundColor"))


def test_colours_follow_the_system_and_the_switch(browser: Browser, service: RunningServer) -> None:
    """Dark where the system prefers it; a choice made with the switch stands over that, and is remembered."""
    browser.open(f"http://{service.http}/")
    light = ground(browser)
    browser.prefer("dark")
    dark = ground(browser)
    assert light != dark
    browser.run("document.getElementById('theme').click()")
    assert ground(browser) == light
    browser.open(f"http://{service.http}/")
    assert ground(browser) == light
    browser.run("document.getElementById('theme').click()")
    browser.prefer("light")
    assert ground(browser) == dark
    browser.run("document.getElementById('theme').click()")
    assert ground(browser) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(browser: Browser, service: RunningServer, scheme: str, width: int) -> None:
    """Overview and decision have no violation that axe knows, in either scheme, wide and narrow."""
    browser.prefer(scheme)
    browser.size(width, 1000)
    browser.open(f"http://{service.http}/")
    browser.until("document.querySelector('[data-knob=enabled]')")
    assert browser.violations() == []
    browser.open(str(browser.run("return document.querySelector('#rows tr a').href")))
    assert browser.violations() == []


@pytest.mark.parametrize("width", [320, 390, 768, 1920])
def test_no_width_needs_scrolling_sideways(browser: Browser, service: RunningServer, width: int) -> None:
    """From phone to wide screen, the page is as wide as the window; tables scroll in their own frame."""
    browser.size(width, 900)
    browser.open(f"http://{service.http}/")
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_everything(browser: Browser, service: RunningServer) -> None:
    """The first stop of the Tab key skips to the content, and every control can be stopped at."""
    browser.open(f"http://{service.http}/")
    first = browser.run(
        "return document.querySelector('a[href], button, input, select, [tabindex]').getAttribute('href')"
    )
    assert first == "#content"
    unreachable = browser.run(
        "return [...document.querySelectorAll('a, button, input, select')]"
        ".filter(one => one.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_the_console_is_silent_and_nobody_else_is_asked(browser: Browser, service: RunningServer) -> None:
    """After all of the above, no error or warning was logged, and no host but this one was asked."""
    browser.open(f"http://{service.http}/")
    assert browser.errors() == []
    assert browser.hosts() == {service.http}


def test_the_page_is_light() -> None:
    """All that the dashboard loads is under 150 kB before it is packed."""
    needed = {
        name: len(asset.body)
        for name, asset in read_assets().items()
        if not name.endswith((".json", ".txt")) and not name.startswith("sign-in")
    }
    assert sum(needed.values()) < 150_000
