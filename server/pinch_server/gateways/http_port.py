"""The HTTP port of the mouths: one listener for each process that takes calls.

Whatever happens to a request here, the gateway gets an answer on which it goes on, at the deadline at the
latest; only who may not ask is refused: whoever brings no valid token, and where none is asked for, whatever
a web page has its visitor's browser send. No body is kept, logged or quoted.
"""

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from pinch_server.core.limits import Violation
from pinch_server.decide import Decided, InvalidCallError
from pinch_server.doors.access import ANY_TOKEN, MOUTHS, Allowed
from pinch_server.doors.browsers import is_own_name, is_sent_for_a_page
from pinch_server.doors.tokens import Problem, Refused, Tokens, admitted
from pinch_server.doors.watched import Watched
from pinch_server.faults import told
from pinch_server.gateways.crowd import Crowd
from pinch_server.gateways.headers import DECISION_ID, TOKENS_SAVED, UNCHANGED, by_name
from pinch_server.gateways.in_time import InTime, Turn, Untold
from pinch_server.gateways.mouth import Answer, Leave, Mouth
from pinch_server.listen import Listen, parse_listen

_LOG: Final = logging.getLogger(__name__)
_READ_SECONDS: Final = 30.0
_KEEPALIVE_SECONDS: Final = 75.0
_STOP_SECONDS: Final = 5.0
_BACKLOG: Final = 256
_SWEEP_SECONDS: Final = 0.2
_ENCODED: Final = Leave(
    "encoded", (Violation("content-encoding", "is not taken here; send the body without compression"),)
)
_SILENT: Final = logging.getLogger(f"{__name__}.wire")
"""Takes what aiohttp says of connections: it quotes bytes, and behind a wrong length those are a body's."""
_SILENT.disabled = True


class Account(Protocol):
    """Takes what became of each request."""

    def __call__(
        self, gateway: str, path: str, result: str, seconds: float, decided: Decided | None, request_id: str
    ) -> None:
        """Counts and logs one request.

        Args:
            gateway: The name of the mouth.
            path: Its path.
            result: What came of it, as a slug.
            seconds: Time from its arrival to its answer (seconds).
            decided: The decision, when one was made.
            request_id: The gateway's own id; empty where there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class MouthRules:
    """What holds for every request.

    Attributes:
        seconds: Time for one, from when it is there as a whole (seconds).
        max_bytes: Largest body (bytes).
        most: Requests at once; one more is answered unread.
        tokens: The tokens that are valid; None: callers need none.
        tenant: Whose requests are that need no token; else its name says it.
        tls: What connections are encrypted with, taken anew for each; None: plain text.
        most_connections: Connections before the oldest ones end on which nothing is asked.
        hosts: Names beside localhost by which a loopback port may be found where callers need no token.
    """

    seconds: float
    max_bytes: int
    most: int
    tokens: Watched[Tokens] | None = None
    tls: Watched[ssl.SSLContext] | None = None
    tenant: str = ""
    most_connections: int = 512
    hosts: tuple[str, ...] = ()


class MouthPort:
    """The listener of one process.

    Args:
        mouths: What it answers.
        rules: What holds for every request.
        in_time: Makes the decisions.
        account: Takes what became of each request.
        refused: Counts a request that was refused, for want of the right token or as a page's.
    """

    def __init__(
        self,
        mouths: Sequence[Mouth],
        rules: MouthRules,
        in_time: InTime,
        account: Account,
        refused: Callable[[Problem], None],
    ) -> None:
        self._mouths = mouths
        self._rules = rules
        self._in_time = in_time
        self._account = account
        self._refused = refused
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._runner: web.AppRunner | None = None
        self._crowd = Crowd(rules.most_connections)
        self._sweeping: asyncio.Task[None] | None = None
        self._open = 0
        self._is_local = False

    def start(self, listen: str, *, shares_port: bool = False) -> str:
        """Binds the address and answers from now on.

        Args:
            listen: `HOST:PORT`; port 0 takes a free one.
            shares_port: Whether other processes of this service listen there too.

        Returns:
            The address, with the port that was taken for 0.

        Raises:
            OSError: The address cannot be bound.
        """
        self._thread = threading.Thread(target=self._loop.run_forever, name="pinch-mouths", daemon=True)
        self._thread.start()
        wanted = parse_listen(listen)
        self._is_local = wanted.is_local
        started = asyncio.run_coroutine_threadsafe(self._start(wanted, shares_port), self._loop)
        try:
            return started.result()
        except BaseException:
            self._end_loop()
            raise

    def close(self) -> None:
        """Stops listening, finishes what is being answered, and ends."""
        if self._thread is None:
            return
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._stop(self._runner), self._loop).result()
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None:
            self._thread.join()
        self._thread = None
        self._loop.close()

    async def _start(self, wanted: Listen, shares_port: bool) -> str:
        app = web.Application(client_max_size=self._rules.max_bytes, middlewares=[self._unknown])
        for mouth in self._mouths:
            app.router.add_post(mouth.path, self._handler(mouth))
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_SILENT,
            # What is packed stays packed: a gateway that swaps bodies would send plain bytes as packed ones.
            auto_decompress=False,
            keepalive_timeout=_KEEPALIVE_SECONDS,
            shutdown_timeout=_STOP_SECONDS,
        )
        await self._runner.setup()
        site = web.TCPSite(
            self._runner,
            wanted.host,
            wanted.port,
            ssl_context=None if self._rules.tls is None else _newest(self._rules.tls),
            backlog=_BACKLOG,
            reuse_port=shares_port or None,
        )
        await site.start()
        self._sweeping = asyncio.create_task(self._sweep(self._runner))
        return str(Listen(host=wanted.host, port=self._runner.addresses[0][1]))

    async def _stop(self, runner: web.AppRunner) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        await runner.cleanup()

    async def _sweep(self, runner: web.AppRunner) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            if runner.server is not None:
                self._crowd.thin(runner.server.connections)

    def _handler(self, mouth: Mouth) -> Callable[[web.Request], "asyncio.Future[web.Response]"]:
        async def handle(request: web.Request) -> web.Response:
            started = time.monotonic()
            headers = by_name((name, _readable(text)) for name, text in request.headers.items())
            if (refusal := self._foreign(headers)) is not None:
                return refusal
            tenant = self._tenant(mouth, request.headers.get(hdrs.AUTHORIZATION))
            if isinstance(tenant, web.Response):
                return tenant
            self._open += 1
            try:
                with self._crowd.asking(request.protocol):
                    result, answer, decided = await self._answered(mouth, request, headers, tenant)
                    if decided is not None and (request.transport is None or request.transport.is_closing()):
                        await asyncio.to_thread(self._in_time.unheard, decided.decision_id)
            except ConnectionError:
                # Gone before its body was there.
                raise
            except Exception as error:
                _LOG.error("%s failed: %s", mouth.path, told(error))
                raise
            finally:
                self._open -= 1
            seconds = time.monotonic() - started
            self._account(mouth.name, mouth.path, result, seconds, decided, headers.get("x-request-id", ""))
            return _response(answer, result, decided)

        return handle  # type: ignore[return-value] # a coroutine function, as aiohttp takes it

    @web.middleware
    async def _unknown(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Asks for a token where there is nothing as well: without one, nobody learns what there is."""
        if request.match_info.http_exception is not None:
            refusal = self._admitted(request.headers.get(hdrs.AUTHORIZATION), ANY_TOKEN, "this page")
            if isinstance(refusal, web.Response):
                return refusal
        return await handler(request)

    def _foreign(self, headers: Mapping[str, str]) -> web.Response | None:
        """The refusal of what a page may have had a browser send, where no token would have kept it out."""
        if self._rules.tokens is not None:
            return None
        status, told = 403, ""
        if is_sent_for_a_page(headers):
            told = "without server.tokens neither pages may ask here, nor who passes on a page's Origin"
        elif self._is_local and not is_own_name(headers.get("host", ""), self._rules.hosts):
            told = "ask by localhost, by the address, or by a name of gateways.hosts"
        elif headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            # A page can send any other type without asking first, and is never allowed to send this one.
            status, told = 415, "the content-type must be application/json"
        if not told:
            return None
        self._refused("foreign")
        return web.Response(text=f"{told}\n", status=status)

    def _tenant(self, mouth: Mouth, header: str | None) -> str | web.Response:
        """Whose request it is, or its refusal."""
        return self._admitted(header, MOUTHS[mouth.path], mouth.path)

    def _admitted(self, header: str | None, allowed: Allowed, what: str) -> str | web.Response:
        """Whose token it is, or the refusal of what it is asked for."""
        if self._rules.tokens is None or allowed is None:
            return self._rules.tenant
        try:
            return admitted(self._rules.tokens.current(), header, allowed, what).name
        except Refused as refused:
            self._refused(refused.problem)
            status = 403 if refused.problem == "wrong_role" else 401
            asks = {hdrs.WWW_AUTHENTICATE: "Bearer"} if status == 401 else {}
            return web.Response(text=f"{refused}\n", status=status, headers=asks)

    async def _answered(
        self, mouth: Mouth, request: web.Request, headers: Mapping[str, str], tenant: str
    ) -> tuple[str, Answer, Decided | None]:
        body = b""
        left: Leave | None = None
        if self._open > self._rules.most:
            left = Leave("overloaded")
        elif headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            left = _ENCODED
        else:
            try:
                async with asyncio.timeout(_READ_SECONDS):
                    body = await request.read()
            except web.HTTPRequestEntityTooLarge:
                left = Leave("too_large")
            except TimeoutError:
                left = Leave("late")
        if left is None:
            done = await self._decided(mouth, body, headers, tenant)
            if isinstance(done, tuple):
                answer, decided = done
                return decided.unchanged_reason or "pruned", answer, decided
            left = done
        # It may have to read the whole body again.
        return left.reason, await asyncio.to_thread(mouth.unchanged, left, body), None

    async def _decided(
        self, mouth: Mouth, body: bytes, headers: Mapping[str, str], tenant: str
    ) -> tuple[Answer, Decided] | Leave:
        def work(turn: Turn) -> tuple[Answer, Decided] | Leave:
            read = mouth.read(body, headers)
            if isinstance(read, Leave):
                return read
            decided = turn.decide(read.call, len(body))
            return read.answer(decided), decided

        try:
            done = await self._in_time.begin(work, self._rules.seconds, tenant).awaited()
        except InvalidCallError as error:
            return Leave("invalid", error.violations)
        except Exception as error:  # noqa: BLE001 a gateway is always answered
            _LOG.error("%s failed: %s", mouth.path, told(error))
            return Leave(Untold.FAILED)
        return Leave(done) if isinstance(done, Untold) else done


def _response(answer: Answer, result: str, decided: Decided | None) -> web.Response:
    headers = {hdrs.CACHE_CONTROL: "no-store", **answer.headers}
    if decided is not None:
        headers[DECISION_ID] = decided.decision_id
        headers[TOKENS_SAVED] = str(decided.stats.tokens_saved if decided.byte_edits else 0)
    if result != "pruned":
        headers[UNCHANGED] = result
    return web.Response(
        body=answer.body or None,
        status=answer.status,
        headers=headers,
        content_type="application/json" if answer.body else None,
    )


def _readable(text: str) -> str:
    """A header without the halves of characters that aiohttp makes of bytes which are no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _newest(watched: Watched[ssl.SSLContext]) -> ssl.SSLContext:
    """A context that hands each handshake to the newest certificate."""
    context = watched.current()

    def choose(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _own: ssl.SSLContext) -> None:
        connection.context = watched.current()

    context.sni_callback = choose
    return context
