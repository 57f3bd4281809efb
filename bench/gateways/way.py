"""A provider that answers at once, and the Envoy of docs/integrations.md before it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_READY_SECONDS: Final = 60.0
_ANSWER: Final = (
    b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"done"}}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer()

    def _answer(self) -> None:
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
        self.wfile.write(f"{head}{len(_ANSWER)}\r\n\r\n".encode() + _ANSWER)

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing."""


@contextmanager
def provider() -> Iterator[int]:
    """A provider on a free port; the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def envoy(at: Path, pinch: str, behind: int) -> Iterator[int]:
    """Envoy with the page's configuration and patient time limits; its port.

    Args:
        at: A directory for its configuration and log.
        pinch: Address of the Pinch service.
        behind: Port of the provider.

    Raises:
        RuntimeError: It is not installed, or did not start.
    """
    command = program("envoy")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    text = page_block("yaml", "# envoy.yaml")
    for was, now in (("10000", port), ("50051", pinch.rpartition(":")[2]), ("8000", behind)):
        text = text.replace(f"port_value: {was} ", f"port_value: {now} ")
    (at / "envoy.yaml").write_text(text.replace("message_timeout: 0.2s", "message_timeout: 60s"))
    run = [command, "-c", str(at / "envoy.yaml"), "--concurrency", "1", "--use-dynamic-base-id"]
    with (
        (at / "envoy.log").open("wb") as log,
        subprocess.Popen([*run, "-l", "error"], stdout=log, stderr=log) as process,
    ):
        try:
            await_answer(f"http://127.0.0.1:{port}/", process)
            yield port
        finally:
            process.terminate()


def await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    """Returns once a gateway answers.

    Args:
        url: Where it answers when it is ready.
        process: Its process.

    Raises:
        RuntimeError: It ended, or took too long.
    """
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 an address of our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError("the gateway did not start")


def program(name: str) -> str:
    """The path of a program of the gateways' environment.

    Args:
        name: Its name.

    Raises:
        RuntimeError: It is not installed.
    """
    path = Path(os.environ.get("GATEWAYS_PYTHON", "")).with_name(name)
    if not path.is_file():
        raise RuntimeError(
            f"{name} is not installed; `make gateways` installs it, GATEWAYS_PYTHON says where"
        )
    return str(path)


def page_block(language: str, first_line: str) -> str:
    """A block of docs/integrations.md.

    Args:
        language: Its language.
        first_line: What it begins with.

    Raises:
        RuntimeError: There is none.
    """
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n({re.escape(first_line)}\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise RuntimeError(f"docs/integrations.md has no {first_line}")
    return found[1]
