"""A provider of models that answers every route, and keeps what it was sent."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANTHROPIC_USAGE = {
    "input_tokens": 100,
    "cache_read_input_tokens": 800,
    "cache_creation_input_tokens": 40,
    "output_tokens": 1,
}


@dataclass(frozen=True)
class Sent:
    """A request that reached the provider."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Provider:
    """A provider that answers, and what reached it."""

    port: int
    sent: list[Sent] = field(default_factory=list)
    status: int = 200
    hold: threading.Event = field(default_factory=threading.Event)
    """Set: an answer that streams ends; else it waits before its last event."""

    @property
    def last(self) -> Sent:
        return self.sent[-1]


def _chat(stream: bool) -> Any:
    usage = {
        "prompt_tokens": 940,
        "completion_tokens": 7,
        "total_tokens": 947,
        "prompt_tokens_details": {"cached_tokens": 800},
    }
    head = {"id": "c1", "created": 1, "model": "gpt-4o-2024"}
    if not stream:
        message = {"role": "assistant", "content": "done"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk"}
    return [
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "do"}}], "usage": None},
        {
            **chunk,
            "choices": [{"index": 0, "delta": {"content": "ne"}, "finish_reason": "stop"}],
            "usage": None,
        },
        {**chunk, "choices": [], "usage": usage},
    ]


def _messages(stream: bool) -> Any:
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4"}
    if not stream:
        content = [{"type": "text", "text": "done"}]
        usage = {**ANTHROPIC_USAGE, "output_tokens": 7}
        return {
            **message,
            "content": content,
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
    return [
        {"type": "message_start", "message": {**message, "content": [], "usage": ANTHROPIC_USAGE}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def _responses(stream: bool) -> Any:
    usage = {
        "input_tokens": 940,
        "input_tokens_details": {"cached_tokens": 800},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 947,
    }
    text = {"type": "output_text", "text": "done", "annotations": []}
    item = {"type": "message", "id": "i1", "status": "completed", "role": "assistant", "content": [text]}
    whole = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-4o-2024",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }
    if not stream:
        return whole
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "usage": None}},
        {"type": "response.output_text.delta", "item_id": "i1", "output_index": 0, "delta": "done"},
        {"type": "response.completed", "response": whole},
    ]


_ANSWERS = {
    "chat/completions": _chat,
    "messages": _messages,
    "responses": _responses,
    # A path of the operator's own, behind which a model answers whatever it is asked in any dialect.
    "llm/invoke": _chat,
}


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    made = Provider(server.server_port)
    made.hold.set()
    _Handler.known[server.server_port] = made
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    known: dict[int, Provider] = {}  # noqa: RUF012 filled before a server answers

    def do_GET(self) -> None:
        self._write(200, "text/plain", b"here")

    def do_POST(self) -> None:
        owner = self.known[self.server.server_port]  # type: ignore[attr-defined]
        body = self._read()
        owner.sent.append(Sent(self.path, {n.lower(): v for n, v in self.headers.items()}, body))
        kind = next((end for end in _ANSWERS if self.path.partition("?")[0].endswith(end)), None)
        if owner.status != 200 or kind is None:
            self._write(owner.status if kind else 404, "application/json", b'{"error":{"message":"no"}}')
            return
        try:
            is_stream = bool(json.loads(body).get("stream"))
        except (ValueError, AttributeError):
            is_stream = False
        answer = _ANSWERS[kind](is_stream)
        if is_stream:
            self._stream(owner, kind, answer)
        elif "gzip" in self.headers.get("accept-encoding", ""):
            text = gzip.compress(json.dumps(answer).encode())
            self._write(200, "application/json", text, {"Content-Encoding": "gzip"})
        else:
            self._write(200, "application/json", json.dumps(answer).encode())

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def _write(self, status: int, kind: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, text in (more or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, owner: Provider, kind: str, events: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if number == len(events) - 1:
                owner.hold.wait(60)
            name = f"event: {event['type']}\n" if "type" in event else ""
            self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())
        if kind == "chat/completions":
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, piece: bytes) -> None:
        # In two pieces, so that lines are cut where they happen to be.
        half = len(piece) // 2
        for part in (piece[:half], piece[half:]) if piece else (b"",):
            if part or not piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing."""
