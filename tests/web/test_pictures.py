"""The pictures of the README: taken here, into docs/pictures where PINCH_PICTURES is set (make pictures)."""

import asyncio
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from time import time_ns

import pytest

from bench.running_server import RunningServer
from pinch_server.cli.top_screen import TopScreen
from pinch_server.rpc.watching import watched
from tests.web.browser import browsing, needs_browser
from tests.web.month import a_month
from tests.web.services import prune, service_over

_PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
# Fonts are left to the reader's own.
_FONT_FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_SHOTS = {
    "dashboard-light.png": ("light", 1280, 1460),
    "dashboard-dark.png": ("dark", 1280, 1460),
    "dashboard-phone.png": ("light", 390, 844),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service over a busy month."""
    decisions = list(a_month(time_ns() // 1000 - 60_000_000, busiest=60))
    with service_over(tmp_path_factory.mktemp("state"), decisions) as running:
        yield running


@needs_browser
def test_pictures_are_what_somebody_sees(service: RunningServer, tmp_path: Path) -> None:
    """Over a busy month each picture has its size and nothing is the matter; one shows a receipt."""
    folder = _PICTURES if "PINCH_PICTURES" in os.environ else tmp_path
    folder.mkdir(exist_ok=True)
    with browsing() as browser:
        decision_id = prune(service, calls=12)
        for name, (scheme, width, height) in _SHOTS.items():
            browser.prefer(scheme)
            browser.size(width, height)
            browser.open(f"http://{service.http}/")
            browser.until("document.querySelector('#bars-stages .told').innerText.includes('ms')")
            browser.until(f"document.querySelector('#rows tr a').href.endsWith('{decision_id}')")
            assert browser.text("#notices") == ""
            assert _shoot(browser.driver, folder / name) == (width, height)
        browser.prefer("light")
        browser.size(1280, 1100)
        browser.open(f"http://{service.http}/decisions/{decision_id}")
        assert _shoot(browser.driver, folder / "decision.png") == (1280, 1100)


def test_the_terminal_has_its_picture(service: RunningServer, tmp_path: Path) -> None:
    """`pinch top` over such a month is drawn with its figures; its picture loads nothing from elsewhere."""

    async def drawn(address: str) -> str:
        with watched(address, 10, None, None) as seen:
            screen = TopScreen(seen, "router-1:50051", 3600)
            async with screen.run_test(size=(118, 30)) as pilot:
                await screen.workers.wait_for_complete()
                await pilot.pause()
                return screen.export_screenshot(title="pinch top")

    picture = _FONT_FACE.sub("", asyncio.run(drawn(service.grpc)))
    assert "tokens, $" in picture.replace("&#160;", " ")
    assert not re.search(r"url\(.?http|href|<script|@import", picture)
    folder = _PICTURES if "PINCH_PICTURES" in os.environ else tmp_path
    (folder / "top.svg").write_text(picture, encoding="utf-8")


def _shoot(driver: object, file: Path) -> tuple[int, int]:
    """Takes a picture; its width and height."""
    png = driver.get_screenshot_as_png()  # type: ignore[attr-defined]
    file.write_bytes(png)
    width, height = struct.unpack(">II", png[16:24])
    return width, height
