"""What the page says when something is the matter: each time what, and what mends it."""

import re
from dataclasses import replace
from pathlib import Path
from time import time_ns

from bench.running_server import running_server
from pinch_server.doors.tokens import new_token
from tests.web.browser import Browser, needs_browser
from tests.web.month import a_month
from tests.web.services import database_file, prune, service_over

pytestmark = needs_browser
HOUR_US = 3_600_000_000


def says(browser: Browser, words: str) -> None:
    """Waits until a notice has these words."""
    browser.until(f"document.getElementById('notices').innerText.includes({words!r})")


def test_an_empty_database_tells_how_to_begin(browser: Browser, tmp_path: Path) -> None:
    """Without a decision the page says so, and what makes one; then it shows it, and when it will count."""
    with running_server(tmp_path) as service:
        browser.open(f"http://{service.http}/")
        says(browser, "No decisions yet.")
        assert browser.text("#share") == "0.00%"
        assert browser.violations() == []
        prune(service)
        browser.until("document.querySelectorAll('#rows tr').length === 1")
        says(browser, "The newest decisions do not count yet.")
        says(browser, "else 300 s after it was made")
        browser.until("!document.getElementById('notices').innerText.includes('No decisions yet.')")


def test_a_database_that_is_down_is_named(browser: Browser, tmp_path: Path) -> None:
    """When the database cannot be read the page says that, that calls go on, and what was shown stays."""
    with service_over(tmp_path, list(a_month(time_ns() // 1000 - HOUR_US, days=1))) as service:
        browser.open(f"http://{service.http}/")
        figure = browser.text("#tokens")
        file = database_file(tmp_path)
        aside = file.with_name("aside")
        file.rename(aside)
        file.mkdir()
        says(browser, "The database does not answer (SQLite: OperationalError).")
        says(browser, "Calls are pruned as before.")
        assert browser.text("#tokens") == figure
        assert browser.violations() == []
        file.rmdir()
        aside.rename(file)
        browser.until("!document.getElementById('notices').innerText")


def test_clocks_that_differ_by_a_day_are_told(browser: Browser, tmp_path: Path) -> None:
    """A computer whose clock is a day off reads by how much, and in which direction."""
    script = "const now = Date.now; Date.now = () => now() + 86_400_000"
    with service_over(tmp_path, list(a_month(time_ns() // 1000 - HOUR_US, days=1))) as service:
        added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        browser.open(f"http://{service.http}/")
        says(browser, "The clock of the service is 24 h 0 min behind this computer’s.")
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_decisions_from_tomorrow_are_told(browser: Browser, tmp_path: Path) -> None:
    """Decisions of a replica whose clock is a day ahead are named as such."""
    now = time_ns() // 1000
    made = list(a_month(now - HOUR_US, days=1))
    made.append(
        replace(made[-1], decision_id=made[-1].decision_id[:-4] + "ffff", created_at=now + 24 * HOUR_US)
    )
    with service_over(tmp_path, made) as service:
        browser.open(f"http://{service.http}/")
        says(browser, "ahead of the clock of the service")


def test_a_month_without_prices_says_how_to_set_them(browser: Browser, tmp_path: Path) -> None:
    """Where no call has a price the dollars are absent, not zero, and the setting is named."""
    month = a_month(time_ns() // 1000 - HOUR_US, days=2)
    unpriced = [replace(one, model="a-model-of-our-own", prompt_rate=None, cached_rate=None) for one in month]
    with service_over(tmp_path, unpriced) as service:
        browser.open(f"http://{service.http}/")
        says(browser, "No price is known for any call of the last 30 days.")
        says(browser, "objective.prompt_rate")
        assert browser.text("#dollars") == "–"
        assert browser.text("#dollars-aside") == "no price is known for these calls"


def test_one_of_anything_is_singular(browser: Browser, tmp_path: Path) -> None:
    """One call, result, message or token is not told in the plural, wherever the pages count."""
    now = time_ns() // 1000
    earlier, *_ = (each for each in a_month(now - 72 * HOUR_US, days=2) if each.unchanged_reason is None)
    *_, newest = a_month(now - HOUR_US, days=1)
    one = replace(
        newest,
        model="a-model-of-our-own",
        prompt_rate=None,
        cached_rate=None,
        pinch_original_tokens=2,
        pinch_final_tokens=1,
        unchanged_reason=None,
        dry_run=False,
        messages=3,
        candidates=1,
        elided=1,
        omitted=0,
        capped=0,
        ranking="UNIFORM",
        prefix_previous_messages=1,
        prefix_matched_messages=1,
        trimmed_tools="bash 1",
    )
    words = (
        "return [document.body.innerText, ...[...document.querySelectorAll('[title]')].map(one => one.title)]"
        ".join('\\n')"
    )
    plurals = re.compile(r"\b1 (?:pruned )?(?:calls|results|messages|tokens|records|times|hours)\b")
    with service_over(tmp_path, [replace(earlier, dry_run=False, trimmed_tools=None), one]) as service:
        browser.open(f"http://{service.http}/")
        overview = browser.run(words)
        browser.run("document.querySelector('[data-days=\"1\"]').click()")
        browser.until("document.getElementById('share-aside').innerText === '1 of 1 call'")
        browser.open(f"http://{service.http}/decisions/{one.decision_id}")
        receipt = browser.run(words)
    assert "1 pruned call without a known price" in overview
    assert "\n1 result\n" in overview
    for told in ("2 → 1 token", "1 of 1 message unchanged", "1 result shortened"):
        assert told in receipt
    assert plurals.findall(overview + receipt) == []


def test_one_hour_is_drawn(browser: Browser, tmp_path: Path) -> None:
    """With the calls of one hour alone each chart of lines shows them."""
    one = replace(next(iter(a_month(time_ns() // 1000, days=1))), created_at=time_ns() // 1000 - 1_000_000)
    marks = """id => {
      const canvas = document.querySelector(`#${id} canvas`);
      if (!canvas) return 0;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let coloured = 0;
      for (let at = 0; at < data.length; at += 4) {
        const [red, green, blue, opacity] = data.subarray(at, at + 4);
        const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
        if (opacity > 128 && spread > 40) coloured += 1;
      }
      return coloured;
    }"""
    with service_over(tmp_path, [one]) as service:
        browser.open(f"http://{service.http}/")
        for chart in ("plot-tokens", "plot-latency"):
            browser.until(f"({marks})('{chart}') > 8")


def test_a_service_that_is_gone_is_told(browser: Browser, tmp_path: Path) -> None:
    """When the service stops the page says so and keeps what it had."""
    with service_over(tmp_path, list(a_month(time_ns() // 1000 - HOUR_US, days=1))) as service:
        browser.open(f"http://{service.http}/")
        figure = browser.text("#tokens")
        service.stop()
        says(browser, "The service does not answer.")
        assert browser.text("#tokens") == figure


def test_signing_in_and_out(browser: Browser, tmp_path: Path) -> None:
    """A guarded page asks for a token, says when it is wrong, and lets in who has one until they sign out."""
    token, other = new_token(), new_token()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"reader insight plain:{token}\nboss admin plain:{other}\n")
    tokens.chmod(0o600)
    with running_server(tmp_path, "--tokens", str(tokens)) as service:
        browser.driver.get(f"http://{service.http}/")
        assert browser.violations() == []
        fill_in = "document.querySelector('[name=token]').value = arguments[0];"
        submit = "document.getElementById('sign-in').requestSubmit()"
        browser.run(fill_in + submit, "wrong-wrong-wrong-wrong")
        browser.until("document.getElementById('problem').innerText === 'the token is not known here'")
        browser.run(fill_in + submit, other)
        browser.until(
            "document.getElementById('problem').innerText.includes('needs a token of the role insight')"
        )
        browser.run(fill_in + submit, token)
        browser.until("document.body.dataset.drawn === 'true'")
        browser.until("!document.getElementById('sign-out').hidden")
        assert browser.run("return document.cookie") == ""
        assert browser.run("return document.getElementById('knobs').hidden") is True
        before = len(browser.errors())
        browser.open(f"http://{service.http}/")
        browser.until("!document.getElementById('sign-out').hidden")
        assert browser.errors()[before:] == []
        browser.run("document.getElementById('sign-out').click()")
        browser.until("document.getElementById('sign-in')")
