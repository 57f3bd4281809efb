"""The synchronous client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from pinch.attempts import Attempts, failure_of
from pinch.connection import DEFAULT_TIMEOUT_SECONDS, connection
from pinch.conversations import BodyT, prepare_body, prepare_chat
from pinch.errors import CallError, PinchError
from pinch.outcomes import prepare_outcome
from pinch.pruned import ConversationT, Pruned, unpruned
from pinch.v1.prune_pb2 import Format
from pinch.v1.prune_pb2_grpc import PruneServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self, TypeVar, Unpack

    from google.protobuf.message import Message

    from pinch.connection import Tls
    from pinch.conversations import PreparedPrune, PruneOptions
    from pinch.outcomes import OutcomeOptions
    from pinch.v1.prune_pb2 import ChatMessage, Outcome

    RequestT = TypeVar("RequestT", bound=Message)
    ResponseT = TypeVar("ResponseT", bound=Message)


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
    ) -> None:
        self._connection = connection(addresses, timeout=timeout, token=token, tls=tls)
        self._strict = strict
        self._closed = False
        credentials = self._connection.credentials()
        options = self._connection.options()
        self._channel = (
            grpc.insecure_channel(self._connection.target, options)
            if credentials is None
            else grpc.secure_channel(self._connection.target, credentials, options)
        )
        self._stub = PruneServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the channel; calls in flight fail open, and so does every later one."""
        self._closed = True
        self._channel.close()

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
        return self._prune(body, lambda: prepare_body(body, format, **options))

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
        return self._prune(messages, lambda: prepare_chat(messages, **options))

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
        try:
            prepared = prepare_outcome(decision_id, outcome, **options)
            return self._call(self._stub.ReportOutcome, prepared.request, prepared.timeout).persisted
        except PinchError:
            if self._strict:
                raise
            return False

    def _prune(
        self, conversation: ConversationT, prepare: Callable[[], PreparedPrune[ConversationT]]
    ) -> Pruned[ConversationT]:
        try:
            prepared = prepare()
            return prepared.finish(self._call(self._stub.Prune, prepared.request, prepared.timeout))
        except PinchError as error:
            if self._strict:
                raise
            return unpruned(conversation, error)

    def _call(
        self,
        method: grpc.UnaryUnaryMultiCallable[RequestT, ResponseT],
        request: RequestT,
        timeout: float | None,
    ) -> ResponseT:
        attempts = Attempts(self._connection.timeout if timeout is None else timeout)
        while True:
            try:
                return method(request, timeout=attempts.time_left(), metadata=self._connection.metadata)
            except grpc.RpcError as error:
                attempts.retry_or_raise(failure_of(error))
            except ValueError as error:  # so gRPC says that the channel is closed, and much else
                if not self._closed:
                    raise
                raise CallError(grpc.StatusCode.CANCELLED, "the client is closed") from error
