"""One HTTP round trip to a model's endpoint: an answer or a word for why there is none.

It lives on an event loop in a thread of its own, so that its deadline is a total over connecting, sending and
every byte of the answer.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Final

import aiohttp

from pinch_server.core.extraction.slugs import MODEL_FAULTS
from pinch_server.extract.model import DEADLINE
from pinch_server.outbound.loop import LoopThread

MOST_BYTES: Final = 1_048_576
"""Most bytes of an answer that is read: a reply has 4,096 tokens at most."""
REFUSED: Final = "refused"
CLOSED: Final = "closed"
MALFORMED: Final = "malformed"
TOO_LARGE: Final = "too_large"
INTERNAL: Final = "internal"
_STATUS: Final = "status"
_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole answer with status 200.

    Attributes:
        body: Its bytes.
    """

    body: bytes


class Exchange:
    """Posts JSON. Shared by threads; one per process, closed once.

    Args:
        url: Where to post.
        headers: Sent with each request; shown nowhere.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._loop = LoopThread("pinch-extract")
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    def post(self, body: bytes, seconds: float) -> Answered | str:
        """Posts a body; gives the answer, or a slug for why there is none. Never raises.

        Args:
            body: JSON.
            seconds: Time for all of it (seconds).
        """
        if seconds <= 0:
            return DEADLINE
        try:
            return self._loop.run(self._within(body, seconds), seconds=seconds)
        except (TimeoutError, CancelledError):
            return DEADLINE
        except Exception:  # noqa: BLE001 a model never breaks a call; what it was may quote the request
            return INTERNAL

    def close(self) -> None:
        """Closes the connections and ends the thread."""
        self._loop.close(self._farewell)

    async def _farewell(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _within(self, body: bytes, seconds: float) -> Answered | str:
        async with asyncio.timeout(seconds):
            return await self._post(body)

    async def _post(self, body: bytes) -> Answered | str:
        try:
            async with self._opened().post(self._url, data=body, allow_redirects=False) as response:
                answer = bytearray()
                async for chunk in response.content.iter_any():
                    answer += chunk
                    if len(answer) > MOST_BYTES:
                        response.close()
                        return TOO_LARGE
                if response.status != 200:
                    return str(response.status) if str(response.status) in MODEL_FAULTS else _STATUS
                return Answered(bytes(answer))
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL):
            return REFUSED
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError):
            return CLOSED
        except aiohttp.ClientError:
            return MALFORMED

    def _opened(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise asyncio.CancelledError
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                # The one deadline is the caller's; the library's own would be a second opinion.
                timeout=aiohttp.ClientTimeout(total=None, connect=None),
                trust_env=False,
            )
        return self._session
