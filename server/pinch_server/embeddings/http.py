"""The round trip to an OpenAI-compatible endpoint (Ollama, vLLM, TEI, OpenAI): an answer or a reason.

It lives on an event loop in a thread of its own, beside the synchronous server, so that a deadline is a total
over connecting, sending and every byte of the answer, and so that a caller that goes away ends it at once.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import msgspec
import numpy as np
from numpy.typing import NDArray

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.core.excerpts import excerpt
from pinch_server.core.nouns import counted
from pinch_server.embeddings.batches import MOST_BYTES, MOST_TEXTS, batches
from pinch_server.embeddings.replies import read_reply
from pinch_server.outbound.loop import LoopThread, WhenGone
from pinch_server.ports import RoundTrip, RoundTrips

_CONNECTIONS: Final = 16
_KEEP_ALIVE_SECONDS: Final = 60.0
_VECTOR_BYTES: Final = 262_144
"""Most bytes of one vector in a reply: 8,192 numbers of 32 characters."""
_REPLY_BYTES: Final = 65_536
"""Most bytes of a reply around its vectors, and of an error that is read."""
_TOO_LONG: Final = re.compile(
    rb"input length exceeds|context length|maximum context|too long|too many tokens"
    rb"|must have less than \d+ tokens",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where embeddings come from.

    Attributes:
        base_url: Up to and without `/embeddings`, for example `http://localhost:11434/v1`.
        model: The model's name there.
        most_texts: Most texts of one request.
        most_bytes: Most bytes of the texts of one request.
    """

    base_url: str
    model: str
    most_texts: int = MOST_TEXTS
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class _Untraced:
    """A round trip that nobody traces."""

    headers: Mapping[str, str] = field(default_factory=dict)

    def failed(self, fault: str) -> None:
        """Notes nothing."""


def _untraced() -> AbstractContextManager[RoundTrip]:
    return nullcontext(_Untraced())


class HttpEmbedder:
    """Asks an endpoint. Shared by threads; one per process, closed once.

    Args:
        endpoint: Where to ask.
        api_key: Sent as a bearer token unless empty; shown nowhere.
        around: Is around each round trip; None: nothing is.
    """

    def __init__(self, endpoint: Endpoint, api_key: str = "", around: RoundTrips | None = None) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url.rstrip('/')}/embeddings"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._loop = LoopThread("pinch-embeddings")
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False
        self._around = around or _untraced

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        """Embeds texts; whatever goes wrong is the value that comes back.

        Args:
            texts: Texts, none of them blank: OpenAI refuses the whole request for one.
            seconds: Time for all of it (seconds).
            when_gone: Registers a callback for the end of the call that this is for.

        Returns:
            Normalised vectors in the order of the texts, or why there are none.
        """
        if not texts:
            return Vectors(np.zeros((0, 0), dtype=np.float32))
        if seconds <= 0:
            return Unavailable(Fault.TIMEOUT, "no time was left to ask")
        with self._around() as trip:
            answer = self._answer(texts, seconds, when_gone, trip.headers)
            if isinstance(answer, Unavailable):
                trip.failed(answer.fault)
        return answer

    def _answer(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None, headers: Mapping[str, str]
    ) -> Vectors | Unavailable:
        try:
            asked = self._ask(tuple(texts), seconds, headers)
            return self._loop.run(asked, seconds=seconds, when_gone=when_gone)
        except TimeoutError:
            return Unavailable(Fault.TIMEOUT, f"no whole answer within {seconds:.3f} s")
        except CancelledError:
            return Unavailable(Fault.CANCELLED, "the caller went away")
        except Exception as error:  # noqa: BLE001 an embedder never breaks a request
            return Unavailable(Fault.INTERNAL, type(error).__name__)

    def close(self) -> None:
        """Closes the connections and ends the thread; calls under way end as cancelled."""
        self._loop.close(self._farewell)

    async def _farewell(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(
        self, texts: tuple[str, ...], seconds: float, headers: Mapping[str, str]
    ) -> Vectors | Unavailable:
        """All requests of a round trip, side by side; the first that fails ends the others.

        Raises:
            TimeoutError: The time ran out.
        """
        parts = batches(texts, most_texts=self._endpoint.most_texts, most_bytes=self._endpoint.most_bytes)
        tasks = [asyncio.create_task(self._part([texts[at] for at in part], headers)) for part in parts]
        try:
            async with asyncio.timeout(seconds):
                for done in asyncio.as_completed(tasks):
                    answer = await done
                    if isinstance(answer, Unavailable):
                        return answer
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        rows = [answer for task in tasks if not isinstance(answer := task.result(), Unavailable)]
        if len({vectors.shape[1] for vectors in rows}) > 1:
            return Unavailable(
                Fault.WRONG_DIMENSION, "requests of one call were answered in different dimensions"
            )
        return Vectors(np.concatenate(rows))

    async def _part(self, texts: list[str], headers: Mapping[str, str]) -> NDArray[np.float32] | Unavailable:
        """One request; a second one with its long texts halved when they are too long for the model."""
        answer = await self._post(texts, headers)
        if isinstance(answer, Unavailable) and answer.fault is Fault.TOO_LONG:
            # The error does not say which text it was: halve those that may have been.
            limit = max(max(map(len, texts)) // 2, 1)
            answer = await self._post([excerpt(text, limit) for text in texts], headers)
        return answer

    async def _post(self, texts: list[str], headers: Mapping[str, str]) -> NDArray[np.float32] | Unavailable:
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        body = msgspec.json.encode(
            {"model": self._endpoint.model, "input": whole, "encoding_format": "base64"}
        )
        try:
            try:
                return await self._exchange(body, len(texts), headers)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if isinstance(error, aiohttp.ClientConnectorError):
                    raise
                # A kept-alive connection that the server had closed meanwhile; nothing was answered on it.
                return await self._exchange(body, len(texts), headers)
        except aiohttp.ClientConnectorError as error:
            return Unavailable(
                Fault.REFUSED, f"cannot connect: {error.os_error.strerror or 'no reason given'}"
            )
        except aiohttp.InvalidURL:
            return Unavailable(Fault.REFUSED, "the base URL is not a URL")
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError):
            return Unavailable(Fault.CLOSED, "the connection ended before the answer did")
        except aiohttp.ClientError:
            return Unavailable(Fault.MALFORMED, "the answer is not HTTP")

    async def _exchange(
        self, body: bytes, count: int, headers: Mapping[str, str]
    ) -> NDArray[np.float32] | Unavailable:
        """Sends one request and reads its answer.

        Raises:
            aiohttp.ClientError: There was no whole answer.
        """
        posted = self._opened().post(self._url, data=body, headers=headers, allow_redirects=False)
        async with posted as response:
            most = _REPLY_BYTES + (count * _VECTOR_BYTES if response.status == 200 else 0)
            answer = bytearray()
            async for chunk in response.content.iter_any():
                answer += chunk
                if len(answer) > most:
                    response.close()
                    return Unavailable(
                        Fault.TOO_LARGE, f"more than {most} bytes for {counted(count, 'vector')}"
                    )
            if response.status != 200:
                return _refusal(response.status, bytes(answer))
        return read_reply(bytes(answer), count)

    def _opened(self) -> aiohttp.ClientSession:
        """The session; made on the loop that it lives on.

        Raises:
            asyncio.CancelledError: The embedder is closed; a session opened now would never be.
        """
        if self._is_closed:
            raise asyncio.CancelledError
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                # The one deadline is the caller's; the library's own would be a second opinion.
                timeout=aiohttp.ClientTimeout(total=None, connect=None),
                trust_env=False,
            )
        return self._session


def _refusal(status: int, body: bytes) -> Unavailable:
    detail = f"status {status}"
    if status in {400, 413, 422} and _TOO_LONG.search(body):
        return Unavailable(Fault.TOO_LONG, detail)
    if status in {401, 403}:
        return Unavailable(Fault.DENIED, detail)
    if status == 429:
        return Unavailable(Fault.BUSY, detail)
    return Unavailable(Fault.FAILING if status >= 500 else Fault.REJECTED, detail)
