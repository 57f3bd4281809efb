"""The asyncio client: the same steps as the synchronous one, with `await` where the network is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from pinch import forks
from pinch.connection import DEFAULT_TIMEOUT_SECONDS, connection
from pinch.conversations import BodyT, prepare_body, prepare_chat
from pinch.errors import CallError, call_error, closed_error
from pinch.steps import PRUNE, REPORT_OUTCOME, Manner, prune_steps, report_steps
from pinch.v1.prune_pb2 import Format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from pinch.connection import Tls
    from pinch.conversations import PruneOptions
    from pinch.outcomes import OutcomeOptions
    from pinch.pruned import Pruned
    from pinch.steps import Attempt, ResultT, Steps
    from pinch.v1.prune_pb2 import ChatMessage, Outcome


@dataclass(frozen=True, slots=True)
class _Opened:
    """A channel of one event loop, with its methods by name."""

    channel: grpc.aio.Channel
    methods: dict[str, grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]]


class AsyncPinchClient:
    """PinchClient for asyncio: the same arguments and methods, each method awaited.

    Cancelling a call's task does cancel the call. The channel is opened by the first call; share the client
    between tasks and close it at the end (it is an asynchronous context manager). gRPC binds a channel to its
    event loop, so a client that is used in a second one opens a second channel there. Nor does gRPC survive a
    fork while such a channel is open: in that child every call fails open, as `internal`. Fork first.
    """

    def __init__(
        self,
        addresses: str | Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        strict: bool = False,
        token: str | None = None,
        tls: Tls | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._to = connection(addresses, timeout=timeout, token=token, tls=tls, metadata=metadata)
        self._manner = Manner(timeout, strict)
        self._closed = False
        self._opened: dict[asyncio.AbstractEventLoop, _Opened] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """As `PinchClient.close`."""
        self._closed = True
        if forks.is_spoiled():
            return
        here = self._opened.pop(asyncio.get_running_loop(), None)
        self._opened.clear()  # which closes those of other loops
        if here is not None:
            await here.channel.close(None)
            forks.closed(here.channel)

    async def prune_openai(self, body: BodyT, **options: Unpack[PruneOptions]) -> Pruned[BodyT]:
        """As `PinchClient.prune_openai`."""
        return await self.prune_body(body, Format.FORMAT_OPENAI_CHAT, **options)

    async def prune_anthropic(self, body: BodyT, **options: Unpack[PruneOptions]) -> Pruned[BodyT]:
        """As `PinchClient.prune_anthropic`."""
        return await self.prune_body(body, Format.FORMAT_ANTHROPIC_MESSAGES, **options)

    async def prune_body(
        self,
        body: BodyT,
        format: Format.ValueType = Format.FORMAT_UNSPECIFIED,
        **options: Unpack[PruneOptions],
    ) -> Pruned[BodyT]:
        """As `PinchClient.prune_body`."""
        return await self._run(prune_steps(body, lambda: prepare_body(body, format, **options), self._manner))

    async def prune_chat(
        self, messages: Sequence[ChatMessage], **options: Unpack[PruneOptions]
    ) -> Pruned[Sequence[ChatMessage]]:
        """As `PinchClient.prune_chat`."""
        return await self._run(prune_steps(messages, lambda: prepare_chat(messages, **options), self._manner))

    async def report_outcome(
        self, decision_id: str, outcome: Outcome.ValueType, **options: Unpack[OutcomeOptions]
    ) -> bool:
        """As `PinchClient.report_outcome`."""
        return await self._run(report_steps(decision_id, outcome, self._manner, **options))

    async def _run(self, steps: Steps[ResultT]) -> ResultT:
        try:
            attempt = next(steps)
            while True:
                try:
                    reply = await self._send(attempt)
                except CallError as failure:
                    attempt = steps.throw(failure)
                else:
                    attempt = steps.send(reply)
        except StopIteration as end:
            result: ResultT = end.value
            return result

    async def _send(self, attempt: Attempt) -> bytes:
        method = self._methods()[attempt.method]
        try:
            reply: bytes = await method(attempt.request, timeout=attempt.timeout, metadata=self._to.metadata)
        except grpc.RpcError as error:
            raise call_error(error) from error
        except grpc.aio.UsageError as error:  # the channel was closed between two attempts
            raise closed_error() from error
        except asyncio.CancelledError as error:
            # Closing the channel cancels its calls, but that is no cancellation of the caller's task.
            task = asyncio.current_task()
            if not self._closed or (task is not None and task.cancelling()):
                raise
            raise closed_error() from error
        return reply

    def _methods(self) -> dict[str, grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]]:
        if self._closed:
            raise closed_error()
        forks.refuse()
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            for ended in [other for other in self._opened if other.is_closed()]:
                self._opened.pop(ended, None)
            self._opened[loop] = self._open()
        return self._opened[loop].methods

    def _open(self) -> _Opened:
        credentials, options = self._to.credentials(), self._to.options()
        channel = (
            grpc.aio.insecure_channel(self._to.target, options)
            if credentials is None
            else grpc.aio.secure_channel(self._to.target, credentials, options)
        )
        forks.opened(channel)
        methods = {name: channel.unary_unary(name, bytes, bytes) for name in (PRUNE, REPORT_OUTCOME)}
        return _Opened(channel, methods)
