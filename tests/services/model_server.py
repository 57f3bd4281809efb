"""A model's endpoint on loopback that answers by a script, in both APIs, or misbehaves."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

STATUSES: Final = ("400", "401", "403", "404", "413", "429", "500", "503", "529", "418")
FAULTS: Final = (
    *STATUSES,
    "hang",
    "close",
    "cut_body",
    "html",
    "no_choices",
    "huge",
    "redirect",
)
"""What `fault` may be, besides None; empty and truncated replies and prose are answers, so of a script."""

_BODIES: Final = {
    "html": b"<html>hello</html>",
    "no_choices": b'{"choices": [], "content": 7}',
    "huge": b" " * 2_000_000,
}

Script = Callable[[str, str], "str | tuple[str, bool]"]
"""Answers a question by its system and user text: a text, or a text and whether it was cut at the cap."""


class ModelServer:
    """The server, in a thread of its own.

    Attributes:
        script: What it answers.
        fault: What it does wrong with the requests that come from now on.
        requests: The bodies of the requests that came, parsed.
        headers: Their headers.
        usage: What it says was billed: prompt, completion, read, written; None to say nothing of it.
    """

    def __init__(self, script: Script = lambda _system, _user: "OUTPUT = INPUT") -> None:
        self.script = script
        self.fault: str | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.usage: tuple[int, int, int, int] | None = (1_000, 100, 200, 300)
        self.arrived = threading.Event()
        self.released = threading.Event()
        """A request that hangs ends once this is set."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        # A client that gives up resets its connection; that is no error of the server's.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign] # as its documentation says
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """What a client is configured with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Ends what hangs, and stops listening."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)

    def answer(self, path: str, request: dict[str, Any]) -> bytes:
        """The answer to one request, in the API that its path is of."""
        is_anthropic = path.endswith("/messages")
        system = (
            "\n".join(block["text"] for block in request["system"])
            if is_anthropic
            else "\n".join(m["content"] for m in request["messages"] if m["role"] == "system")
        )
        said = self.script(system, request["messages"][-1]["content"])
        text, is_cut = said if isinstance(said, tuple) else (said, False)
        return json.dumps(
            _messages(text, is_cut, self) if is_anthropic else _chat(text, is_cut, self)
        ).encode()


def _messages(text: str, is_cut: bool, server: ModelServer) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "type": "message",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "max_tokens" if is_cut else "end_turn",
    }
    if server.usage:
        prompt, completion, read, written = server.usage
        reply["usage"] = {
            "input_tokens": prompt,
            "output_tokens": completion,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }
    return reply


def _chat(text: str, is_cut: bool, server: ModelServer) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text or None},
                "finish_reason": "length" if is_cut else "stop",
            }
        ],
    }
    if server.usage:
        prompt, completion, read, _ = server.usage
        reply["usage"] = {
            "prompt_tokens": prompt + read,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": read},
        }
    return reply


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            server.requests.append(request)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            server.arrived.set()
            fault = server.fault
            if fault == "hang":
                server.released.wait(60)
            if fault in ("hang", "close"):
                self.close_connection = True
                return
            if fault in _BODIES:
                self._send(200, _BODIES[fault])
            elif fault == "redirect":
                self._send(307, b"", {"Location": "http://127.0.0.1:9/"})
            elif fault == "cut_body":
                body = server.answer(self.path, request)
                self._send(200, body[:10], {}, len(body))
                self.close_connection = True
            elif fault is not None:
                self._send(int(fault), b'{"error": {"message": "no"}}')
            else:
                self._send(200, server.answer(self.path, request))

        def _send(
            self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None
        ) -> None:
            try:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                # The client has gone; what it left is its own matter.
                self.close_connection = True

    return Handler
