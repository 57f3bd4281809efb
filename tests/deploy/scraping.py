"""A real Prometheus that scrapes one address several times a second, and what it answers."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_LISTENING = re.compile(r'Listening on"? address=(127\.0\.0\.1:\d+)')
_READY = "ready to receive web requests"


def program(name: str) -> str:
    """Where a program of Debian's package `prometheus` is; skips without it, and fails in CI."""
    found = shutil.which(name)
    if found is None:
        reason = f"no {name} here (Debian: package prometheus)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus.

    Attributes:
        address: Its `host:port`.
    """

    address: str

    def ask(self, path: str, **parameters: str) -> Any:
        """The data of one answer of its API; a query that is no PromQL raises HTTPError."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as reply:
            return json.load(reply)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        result: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return result


def scraping_config(target: str) -> str:
    """deploy/prometheus.yml with its names and times changed for one target of this machine."""
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "250ms"}
    config["rule_files"] = [str(DEPLOY / "alerts.yml")]
    (job,) = config["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [target]}]
    return yaml.safe_dump(config)


@contextmanager
def prometheus(directory: Path, target: str) -> Iterator[Prometheus]:
    """Starts Prometheus on a free port; its data go into `directory`."""
    config = directory / "prometheus.yml"
    config.write_text(scraping_config(target))
    command = [
        program("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Prometheus(_address(process))
        finally:
            process.terminate()
            # Its pipe is read to the end, so that it can end.
            process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    said = ""
    for line in process.stderr or ():
        said += line
        if _READY in line and (found := _LISTENING.search(said)):
            return found[1]
    pytest.fail(f"Prometheus did not start:\n{said}")
