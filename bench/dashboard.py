"""``python -m bench.dashboard``: how soon the dashboard shows what it has, over a million decisions."""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

from bench.running_server import running_server
from bench.savings.rows import load, rows
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.rollup import RollUp

GOAL_MS: Final = 200
_GRACE_US: Final = 300_000_000
_QUESTIONS: Final = ("state", "savings", "decisions?page_size=25", "activity")
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SECONDS: Final = 60.0
_PAINTED: Final = """
const paint = performance.getEntriesByName("first-contentful-paint")[0];
const mark = name => performance.getEntriesByName(name)[0].startTime;
return { "first paint": paint.startTime, "savings shown": mark("savings"), "all drawn": mark("drawn") };
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the yardstick.

    Returns:
        0; 1 when the median of the first paint is over the goal; 2 without a browser.
    """
    options = _parser().parse_args(argv)
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        print("error: no Chromium here; Debian has it as chromium and chromium-driver", file=sys.stderr)
        return 2
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110, soft_wrap=True)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        _fill(state, options.rows)
        with running_server(state) as service:
            answers = {name: _ask(service.http, name, options.repeat) for name in _QUESTIONS}
            painted = _look(service.http, options.repeat)
    title = f"The dashboard over {options.rows:,} decisions (first paint: {GOAL_MS} ms at most)"
    table = Table(box=SIMPLE_HEAD, title=title)
    for column in ("what", "first ms", "median ms", "worst ms"):
        table.add_column(column, justify="left" if column == "what" else "right")
    named = {f"/api/v1/{name}": times for name, times in answers.items()} | painted
    for name, times in named.items():
        table.add_row(name, *(f"{ms:.0f}" for ms in (times[0], statistics.median(times), max(times))))
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "milliseconds": named}, indent=2) + "\n")
    return int(statistics.median(painted["first paint"]) > GOAL_MS)


def _fill(state: Path, number: int) -> None:
    url = f"sqlite:///{state}/pinch.sqlite3"
    migrate.up(url)
    end = time.time_ns() // 1000
    engine = open_engine(url, pooled=False)
    with _progress("rows", number) as tick:
        load(engine, rows(number, end), tick)
    work = RollUp(engine, grace_us=_GRACE_US)
    periods = list(work.missing(end))
    with _progress("hours and days", len(periods)) as tick:
        for length, start in periods:
            work.add_up(length, start)
            tick(1)
    engine.dispose()


def _ask(address: str, name: str, repeat: int) -> list[float]:
    """How long one question takes (milliseconds)."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        with urlopen(f"http://{address}/api/v1/{name}", timeout=_SECONDS) as reply:
            reply.read()
        times.append((time.perf_counter() - began) * 1e3)
    return times


def _look(address: str, repeat: int) -> dict[str, list[float]]:
    """How long after it was asked for the page shows what (milliseconds); the browser keeps nothing of it."""
    found: dict[str, list[float]] = {}
    with _browser() as driver:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        for _ in range(repeat):
            driver.get("about:blank")
            driver.get(f"http://{address}/")
            WebDriverWait(driver, _SECONDS, poll_frequency=0.05).until(
                lambda driver: driver.execute_script("return document.body.dataset.drawn === 'true'")
            )
            for name, ms in driver.execute_script(_PAINTED).items():
                found.setdefault(name, []).append(ms)
    return found


@contextmanager
def _browser() -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in _FLAGS:
        options.add_argument(flag)
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def _progress(title: str, total: int) -> Iterator[Any]:
    with Progress(console=Console(file=sys.stderr)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="decisions (1,000,000)")
    parser.add_argument("--repeat", type=int, default=9, help="how often each is measured (9)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
