"""A real browser: Debian's Chromium, headless, with a profile of its own that is thrown away."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM: Final = shutil.which("chromium")
DRIVER: Final = shutil.which("chromedriver")
needs_browser: Final = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no Chromium here: Debian has it as chromium and chromium-driver; .ci/run installs them",
)
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_SECONDS: Final = 20.0
AXE: Final = Path(__file__).with_name("axe.min.js")


class Browser:
    """One window, and what was said to its console and asked of the network since it was opened."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        self._said: list[dict[str, Any]] = []
        self._asked: list[dict[str, Any]] = []

    def open(self, address: str) -> None:
        """Opens a page and waits until it has drawn what it has."""
        self.driver.get(address)
        self.until("document.body.dataset.drawn === 'true'")

    def until(self, condition: str) -> None:
        """Waits until an expression is true in the page."""
        WebDriverWait(self.driver, _SECONDS, poll_frequency=0.05).until(
            lambda _driver: self.run(f"return Boolean({condition})"), condition
        )

    def run(self, script: str, *arguments: Any) -> Any:
        """Runs a script in the page; its result."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        """The text of the first element of a selector, as it is shown."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def prefer(self, scheme: str) -> None:
        """Has the system prefer `light` or `dark`."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def size(self, width: int, height: int) -> None:
        """Makes the window so large (CSS pixels)."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def violations(self) -> list[str]:
        """What axe finds wrong with the page, each with the elements that it is about."""
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run().then(found => done(found.violations))"
        )
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]

    def errors(self) -> list[str]:
        """Warnings and errors of the console, violations of the content policy among them."""
        self._said += self.driver.get_log("browser")
        return [one["message"] for one in self._said if one["level"] in ("WARNING", "SEVERE")]

    def hosts(self) -> set[str]:
        """Every host that was asked for something."""
        self._asked += self.driver.get_log("performance")
        events = [json.loads(one["message"])["message"] for one in self._asked]
        addresses = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return {address.split("/")[2] for address in addresses if "://" in address}


@contextmanager
def browsing() -> Iterator[Browser]:
    """A new browser; at the end it is closed."""
    options = ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, ChromeService(DRIVER))
    try:
        driver.set_script_timeout(_SECONDS)
        yield Browser(driver)
    finally:
        driver.quit()
