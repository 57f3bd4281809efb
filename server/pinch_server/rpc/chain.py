"""Interceptors by name and in order, run around every call by one gRPC interceptor.

Messages are decoded and encoded inside the chain, so that a message which cannot be read is answered like any
other fault of the caller, and so that the time of a call has its encoding in it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Final

import grpc

from pinch_server.ports import Clock
from pinch_server.rpc.arrivals import Arrivals
from pinch_server.rpc.call import Call, begin
from pinch_server.rpc.errors import NoMessageError, NotServedError, TooLateError, abort
from pinch_server.rpc.gates import HEALTH, Metadata
from pinch_server.rpc.pools import SPARE_THREADS

_PROBE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Interceptor:
    """One concern that every call has.

    Attributes:
        name: What it is called where the order is stated.
        around: Makes the context a call is answered in. It may end the call with `errors.abort` before the
            method runs.
    """

    name: str
    around: Callable[[Call], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Gate:
    """A concern that may end a call before its message is read and a thread of the calls is taken.

    Attributes:
        name: What it is called where the order is stated.
        refuses: The error that a call ends with, by its method and metadata; None lets it in.
    """

    name: str
    refuses: Callable[[str, Metadata], Exception | None]


class Chain(grpc.ServerInterceptor):  # type: ignore[type-arg] # generic in the stubs alone
    """All interceptors as gRPC sees them: one, whose handlers are made once for each method.

    Args:
        interceptors: The outermost first. A call that a gate ends has gone through those before it alone.
        clock: Tells when a call began.
        decoders: How the request of a method is decoded, by its full name, where not as generated.
        spare: Threads for health checks and for what gates end; None: those of the calls.
        message_seconds: How long a message may take once its call has begun (seconds); a health check's, and
            that of a method with threads of its own, which is few bytes, gets two at most.
        apart: Threads of the methods that have their own, by full name. Only the first of their messages has
            to come in time.
    """

    def __init__(
        self,
        interceptors: Sequence[Interceptor | Gate],
        clock: Clock,
        decoders: Mapping[str, Callable[[bytes], Any]] = MappingProxyType({}),
        spare: ThreadPoolExecutor | None = None,
        message_seconds: float = 30.0,
        apart: Mapping[str, ThreadPoolExecutor] = MappingProxyType({}),
    ) -> None:
        self.names: Final = tuple(interceptor.name for interceptor in interceptors)
        self._arounds, self._gates = _parted(interceptors)
        self._clock = clock
        self._decoders = decoders
        self._spare = spare
        self._arrivals = Arrivals(message_seconds, clock.monotonic)
        # A thread must be left for the probe that does send its message, however many others do not.
        most = None if spare is None else SPARE_THREADS // 2
        self._probes = Arrivals(min(message_seconds, _PROBE_SECONDS), clock.monotonic, most)
        # Their threads are few: nobody who sends nothing holds one for long.
        self._questions = Arrivals(min(message_seconds, _PROBE_SECONDS), clock.monotonic)
        self._own = apart
        self._made: dict[str, tuple[Any, Any]] = {}

    def close(self) -> None:
        """Waits for no more messages."""
        for arrivals in (self._arrivals, self._probes, self._questions):
            arrivals.close()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """The handler of a call, with every interceptor around it."""
        handler = continuation(details)
        method = details.method
        for refuses, outside in self._gates:
            error = refuses(method, details.invocation_metadata)
            if error is not None:
                return self._turned_away(method, error, outside)
        if handler is None:
            return self._refuse(method)
        known = self._made.get(method)
        if known is None or known[0] is not handler:
            known = self._made[method] = (handler, self._wrap(method, handler))
        return known[1]

    def _refuse(self, method: str) -> Any:
        def refuse(_requests: object, _context: object) -> Iterator[bytes]:
            raise NotServedError(method.removeprefix("/"))

        # A stream both ways answers at once, however many messages the unknown method would have had.
        return self._wrap(method, grpc.stream_stream_rpc_method_handler(refuse, bytes, bytes))

    def _turned_away(self, method: str, error: Exception, outside: "_Arounds") -> Any:
        def answers(_requests: object, context: grpc.ServicerContext) -> Iterator[bytes]:
            call = self._begun(method, context)
            with _Entered(outside, call):
                abort(call, error)
            raise AssertionError("a call that was aborted went on")

        # As above: nobody waits for the message of a call that is not answered.
        return grpc.stream_stream_rpc_method_handler(_on(self._spare, answers))

    def _wrap(self, method: str, handler: Any) -> Any:
        behaviour = (
            handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
        )
        if getattr(behaviour, "experimental_non_blocking", False):
            # Health's Watch: its stream outlives the method, so there is nothing to be around of.
            return self._watch(behaviour, handler)
        is_probe = method.startswith(HEALTH)
        arrivals = self._probes if is_probe else self._arrivals
        if method in self._own and not handler.request_streaming:
            arrivals = self._questions
        each = arrivals.begun if method in self._own else arrivals.each
        pool = self._spare if is_probe else self._own.get(method)
        decode = self._decoders.get(method, handler.request_deserializer)

        def encode(reply: Any) -> bytes:
            # A method may give its reply encoded.
            return reply if type(reply) is bytes else handler.response_serializer(reply)

        def arrived(received: Any, context: grpc.ServicerContext) -> Any:
            """What came, waited for before anything is around the call: its time is not the service's."""
            if handler.request_streaming:
                return each(received, context)
            try:
                return arrivals.one(received, context)
            except (TooLateError, NoMessageError) as error:
                return error

        def argument(came: Any) -> Any:
            if isinstance(came, Exception):
                raise came
            return map(decode, came) if handler.request_streaming else decode(came)

        def answer(received: Any, context: grpc.ServicerContext) -> bytes:
            came = arrived(received, context)
            with self._entered(method, context):
                return encode(behaviour(argument(came), context))
            raise AssertionError("an interceptor swallowed an error")

        def answers(received: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
            came = arrived(received, context)
            with self._entered(method, context):
                yield from map(encode, behaviour(argument(came), context))

        # As streams of messages, also where there is one: gRPC would wait for that by itself, and for ever.
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(_on(pool, answers))
        return grpc.stream_unary_rpc_method_handler(_on(pool, answer))

    def _watch(self, behaviour: Any, handler: Any) -> Any:
        def watch(received: Any, context: grpc.ServicerContext, send: Any) -> None:
            # An error ends the stream; there is nobody to tell it.
            message = self._probes.one(received, context)
            behaviour(handler.request_deserializer(message), context, send)

        watch.experimental_non_blocking = True  # type: ignore[attr-defined] # gRPC's own way to be told
        return grpc.stream_stream_rpc_method_handler(
            _on(self._spare, watch), None, handler.response_serializer
        )

    def _entered(self, method: str, context: grpc.ServicerContext) -> "_Entered":
        return _Entered(self._arounds, self._begun(method, context))

    def _begun(self, method: str, context: grpc.ServicerContext) -> Call:
        call = Call(method, context, self._clock.monotonic())
        begin(call)
        return call


def _on(pool: ThreadPoolExecutor | None, behaviour: Any) -> Any:
    """The same, answered on threads of its own; None: on those of the calls."""
    if pool is not None:
        behaviour.experimental_thread_pool = pool
    return behaviour


_Arounds = tuple[Callable[[Call], AbstractContextManager[None]], ...]


def _parted(
    interceptors: Sequence[Interceptor | Gate],
) -> tuple[_Arounds, tuple[tuple[Callable[[str, Metadata], Exception | None], _Arounds], ...]]:
    """What is around every call; and each gate, with what is around the calls that it ends."""
    arounds: list[Callable[[Call], AbstractContextManager[None]]] = []
    gates = []
    for one in interceptors:
        if isinstance(one, Gate):
            gates.append((one.refuses, tuple(arounds)))
        else:
            arounds.append(one.around)
    return tuple(arounds), tuple(gates)


class _Entered:
    """The contexts of one call, entered in order and left in the reverse one.

    `contextlib.ExitStack` does the same and more, at ten times the price: each call pays it.
    """

    __slots__ = ("_arounds", "_call", "_open")

    def __init__(self, arounds: Sequence[Callable[[Call], AbstractContextManager[None]]], call: Call) -> None:
        self._arounds = arounds
        self._call = call
        self._open: list[AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        try:
            for around in self._arounds:
                context = around(self._call)
                context.__enter__()
                self._open.append(context)
        except BaseException as error:
            self._leave(error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        """Leaves them all; an error that one raises takes the place of the one it was told of.

        Raises:
            BaseException: The error that the outermost was left with, when it is another one than `error`.
        """
        told = error
        while self._open:
            context = self._open.pop()
            try:
                context.__exit__(type(told) if told else None, told, told.__traceback__ if told else None)
            except BaseException as raised:  # noqa: BLE001 the contexts further out are told of it
                told = raised
        if told is not error and told is not None:
            raise told
