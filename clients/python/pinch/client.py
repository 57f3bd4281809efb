"""The synchronous client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import grpc

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


class PinchClient:
    """Shortens conversations through a Pinch service, and never stands in the way when it cannot.

    Unless `strict`, no call raises for what the server, the network or the conversation does: the result is
    then the caller's own conversation with `pruned=False` and the reason. One client holds one channel;
    share it between threads and close it at the end (it is a context manager).

    Args:
        addresses: `host:port`, `unix:/path`, or several of the form `IP:port`, as a list or separated by
            commas; calls go to several in turn.
        timeout: Time for a whole call, its retry included, in seconds.
        strict: Raise PinchError where a call would else return the conversation as it came.
        token: Bearer token, sent with every call; use it with TLS, a unix socket or loopback only.
        tls: TLS settings, or None for plain text.
        metadata: Further metadata by name, sent with every call.

    Raises:
        ValueError: An argument is not usable; it names which.
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
        to = connection(addresses, timeout=timeout, token=token, tls=tls, metadata=metadata)
        self._manner = Manner(timeout, strict)
        self._metadata = to.metadata
        self._closed = False
        self._to = to
        self._channels: list[grpc.Channel] = []
        self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the channel; calls in flight fail open, and so does every later one."""
        self._closed = True
        if not forks.is_spoiled():
            self._channels[-1].close()

    def prune_openai(self, body: BodyT, **options: Unpack[PruneOptions]) -> Pruned[BodyT]:
        """Shortens an OpenAI Chat Completions body; see `prune_body`."""
        return self.prune_body(body, Format.FORMAT_OPENAI_CHAT, **options)

    def prune_anthropic(self, body: BodyT, **options: Unpack[PruneOptions]) -> Pruned[BodyT]:
        """Shortens an Anthropic Messages body; see `prune_body`."""
        return self.prune_body(body, Format.FORMAT_ANTHROPIC_MESSAGES, **options)

    def prune_body(
        self,
        body: BodyT,
        format: Format.ValueType = Format.FORMAT_UNSPECIFIED,
        **options: Unpack[PruneOptions],
    ) -> Pruned[BodyT]:
        """Shortens a provider's request body.

        Args:
            body: The JSON as UTF-8 bytes, or the dict that it was read into. Never changed. With bytes,
                every byte outside the trimmed texts stays the same.
            format: The body's dialect; unspecified, the server recognises it.
            **options: `limits`, `context`, `dry_run` and `timeout`, as PruneOptions describes them.

        Returns:
            The body to send on, of the type that came in, and the account of it.

        Raises:
            PinchError: Only when the client is strict.
        """
        return self._run(prune_steps(body, lambda: prepare_body(body, format, **options), self._manner))

    def prune_chat(
        self, messages: Sequence[ChatMessage], **options: Unpack[PruneOptions]
    ) -> Pruned[Sequence[ChatMessage]]:
        """Shortens typed messages; set `limits.extra_fixed_tokens` to what ships beside them.

        Args:
            messages: The messages, oldest first. Never changed.
            **options: `limits`, `context`, `dry_run` and `timeout`, as PruneOptions describes them.

        Returns:
            The caller's own messages, or a new list that shares the untouched ones, and the account of it.

        Raises:
            PinchError: Only when the client is strict.
        """
        return self._run(prune_steps(messages, lambda: prepare_chat(messages, **options), self._manner))

    def report_outcome(
        self, decision_id: str, outcome: Outcome.ValueType, **options: Unpack[OutcomeOptions]
    ) -> bool:
        """Tells the service what became of a pruned request; the last report for a decision wins.

        Args:
            decision_id: From the result. When it is empty, as after a failure, nothing is sent.
            outcome: OUTCOME_DISPATCHED, OUTCOME_REJECTED or OUTCOME_FAILED.
            **options: `selected_model`, `usage`, `cost_usd` and `timeout`, as OutcomeOptions describes them.

        Returns:
            Whether the service holds the report safely.

        Raises:
            PinchError: Only when the client is strict.
        """
        return self._run(report_steps(decision_id, outcome, self._manner, **options))

    def _connect(self) -> None:
        """Opens the channel of this process; gRPC may cancel calls on one from before a fork."""
        credentials, options = self._to.credentials(), self._to.options()
        channel = (
            grpc.insecure_channel(self._to.target, options)
            if credentials is None
            else grpc.secure_channel(self._to.target, credentials, options)
        )
        self._process = os.getpid()
        self._channels.append(channel)
        self._methods = {name: channel.unary_unary(name, bytes, bytes) for name in (PRUNE, REPORT_OUTCOME)}

    def _run(self, steps: Steps[ResultT]) -> ResultT:
        try:
            attempt = next(steps)
            while True:
                try:
                    reply = self._send(attempt)
                except CallError as failure:
                    attempt = steps.throw(failure)
                else:
                    attempt = steps.send(reply)
        except StopIteration as end:
            result: ResultT = end.value
            return result

    def _send(self, attempt: Attempt) -> bytes:
        forks.refuse()
        if self._process != os.getpid() and not self._closed:
            self._connect()
        method = self._methods[attempt.method]
        try:
            reply: bytes = method(attempt.request, timeout=attempt.timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise call_error(error) from error
        except ValueError as error:  # so gRPC says that the channel is closed, and much else
            if not self._closed:
                raise
            raise closed_error() from error
        return reply
