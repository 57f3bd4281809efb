"""An OpenAI-compatible embeddings server on loopback that answers with the embedded model, or misbehaves.

It speaks HTTP over bare streams, since what it must be able to do wrong (hang, drip, cut, close) is what HTTP
libraries exist to do right.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

import numpy as np

from pinch_server.core.embedding import Vectors
from pinch_server.embeddings.static import StaticEmbedder

HUGE_BYTES: Final = 100_000_000
_STATUSES: Final = {"400": 400, "401": 401, "404": 404, "422": 422, "429": 429, "500": 500, "503": 503}
FAULTS: Final = (
    *_STATUSES,
    "hang",
    "hang_in_body",
    "drip",
    "too_long",
    "truncated_json",
    "cut_body",
    "html",
    "empty_body",
    "not_http",
    "redirect",
    "nan",
    "infinity",
    "base64_nan",
    "too_few",
    "too_many",
    "duplicate_index",
    "mixed_dimensions",
    "no_dimension",
    "bad_base64",
    "zero",
    "huge",
    "close",
)
"""What `fault` may be, besides `None` and the variants that are right too: `floats`, `out_of_order`,
`no_index`, `close_kept_alive` and `half_too_long`, which refuses texts over 4,000 characters."""
_BROKEN_ROWS: Final[dict[str, Callable[[Any], Any]]] = {
    "nan": lambda row: row * np.nan,
    "base64_nan": lambda row: row * np.nan,
    "infinity": lambda row: np.full_like(row, np.inf),
    "zero": lambda row: row * 0,
    "mixed_dimensions": lambda row: row[:-1],
}


@cache
def _model() -> StaticEmbedder:
    return StaticEmbedder()


class FaultServer:
    """The server, in a thread of its own.

    Attributes:
        fault: What it does wrong with the requests that come from now on.
        requests: The bodies of the requests that came, parsed.
        authorizations: Their Authorization headers.
        traceparents: Their traceparent headers.
        connections: Connections accepted.
    """

    def __init__(self) -> None:
        self.fault: str | None = None
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str] = []
        self.traceparents: list[str] = []
        self.connections = 0
        self._model = _model()
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self.arrived = threading.Event()
        """Set once a request has been read whole."""
        self.abandoned = threading.Event()
        """Set once a client has gone before its answer."""
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._thread = threading.Thread(target=self._serve, name="embedding-faults", daemon=True)
        self._thread.start()
        if not self._listening.wait(30):
            raise RuntimeError("the fault server does not listen")

    @property
    def base_url(self) -> str:
        """What a client is configured with."""
        return f"http://127.0.0.1:{self._port}/v1"

    def close(self) -> None:
        """Ends every connection and stops listening."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self._port = server.sockets[0].getsockname()[1]
        self._listening.set()
        loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        for writer in self._writers:
            # One that was told to close first sends what it holds, for which nobody waits.
            writer.transport.abort()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begins with a connection; it is known from here on, whether or not its task ever runs."""
        self._writers.append(writer)
        task = self._loop.create_task(self._connected(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        served = 0
        try:
            while (body := await self._request(reader)) is not None:
                if self.fault == "close" or (self.fault == "close_kept_alive" and served):
                    break
                served += 1
                if not await self._answer(body, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            self.abandoned.set()
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        body: dict[str, Any] = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
        self.authorizations.append(headers.get("authorization", ""))
        self.traceparents.append(headers.get("traceparent", ""))
        self.requests.append(body)
        self.arrived.set()
        return body

    async def _answer(
        self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answers a request; says whether the connection stays."""
        fault = self.fault or ""
        if fault in _STATUSES:
            await _send(writer, _error(f"injected {fault}"), status=_STATUSES[fault])
            return True
        if fault == "half_too_long" and any(len(text) > 4_000 for text in request["input"]):
            fault = "too_long"
        if fault == "too_long":
            await _send(writer, _error("the input length exceeds the context length"), status=400)
            return True
        whole = {"html": b"<html><body>hello</body></html>", "empty_body": b"", "redirect": b""}.get(fault)
        if whole is None:
            whole = json.dumps(self._reply(request, fault)).encode()
        misbehave: dict[str, Callable[[], Awaitable[None]]] = {
            "hang": lambda: self._until_gone(reader),
            "hang_in_body": lambda: self._hang_in_body(writer, reader, whole),
            "drip": lambda: self._drip(writer, whole),
            "truncated_json": lambda: _send(writer, whole[: len(whole) // 2]),
            "cut_body": lambda: _send(writer, whole[: len(whole) // 2], length=len(whole)),
            "not_http": lambda: _write(writer, b"220 mail.example ESMTP ready\r\n\r\n"),
            "redirect": lambda: _send(writer, b"", status=307, more="Location: http://127.0.0.1:9/\r\n"),
            "huge": lambda: self._huge(writer),
        }
        if fault in misbehave:
            await misbehave[fault]()
            return fault in {"truncated_json", "redirect"}
        await _send(writer, whole)
        return True

    def _reply(self, request: dict[str, Any], fault: str) -> dict[str, Any]:
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        embedded = self._model.embed(texts, 60.0)
        assert isinstance(embedded, Vectors)
        rows = [np.array(row, dtype="<f4") for row in embedded.rows]
        if fault in _BROKEN_ROWS:
            rows[-1] = _BROKEN_ROWS[fault](rows[-1])
        if fault == "no_dimension":
            rows = [row[:0] for row in rows]
        wants_base64 = request.get("encoding_format") == "base64" and fault not in {
            "floats",
            "nan",
            "infinity",
        }
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode() if wants_base64 else row.tolist(),
            }
            for index, row in enumerate(rows)
        ]
        if fault == "too_few":
            data.pop()
        elif fault == "too_many":
            data.append({**data[-1], "index": len(data)})
        elif fault == "duplicate_index":
            data[-1]["index"] = 0
        elif fault == "out_of_order":
            data.reverse()
        elif fault == "no_index":
            for item in data:
                del item["index"]
        elif fault == "bad_base64":
            data[-1]["embedding"] = "AAA"
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "data": data, "model": request.get("model", ""), "usage": usage}

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        """Waits until the client closes the connection."""
        await reader.read()
        self.abandoned.set()

    async def _hang_in_body(
        self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, whole: bytes
    ) -> None:
        await _send(writer, whole[:-10], length=len(whole))
        await self._until_gone(reader)

    async def _drip(self, writer: asyncio.StreamWriter, whole: bytes) -> None:
        """A byte a second, until the client closes the connection."""
        await _send(writer, b"", length=len(whole))
        for byte in whole:
            await _write(writer, bytes([byte]))
            await asyncio.sleep(1)

    async def _huge(self, writer: asyncio.StreamWriter) -> None:
        await _send(writer, b"", length=HUGE_BYTES)
        for _ in range(HUGE_BYTES // 100_000):
            await _write(writer, b" " * 100_000)


async def _send(
    writer: asyncio.StreamWriter, body: bytes, *, status: int = 200, length: int | None = None, more: str = ""
) -> None:
    size = len(body) if length is None else length
    kind = "text/html" if body.startswith(b"<") else "application/json"
    head = f"HTTP/1.1 {status} Injected\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n{more}\r\n"
    await _write(writer, head.encode() + body)


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": None}}).encode()
