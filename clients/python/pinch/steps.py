"""What a call does, step by step, without a channel (C1, C2, C3).

Each function is a generator that yields the attempts to make, is sent their replies or thrown their failures,
and returns the result. The two clients differ only in how they make an attempt: one waits, the other awaits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import grpc
from google.protobuf.message import DecodeError, EncodeError, Message

from pinch.errors import CallError, PinchError, ReplyError, RequestError
from pinch.outcomes import PreparedOutcome, prepare_outcome
from pinch.pruned import ConversationT, Pruned, unpruned
from pinch.v1.prune_pb2 import DESCRIPTOR, PruneResponse, ReportOutcomeResponse

if TYPE_CHECKING:
    from typing import Unpack

    from pinch.conversations import PreparedPrune
    from pinch.outcomes import OutcomeOptions
    from pinch.v1.prune_pb2 import Outcome

_SERVICE: Final = DESCRIPTOR.services_by_name["PruneService"].full_name
PRUNE: Final = f"/{_SERVICE}/Prune"
"""Full name of the method that prunes."""
REPORT_OUTCOME: Final = f"/{_SERVICE}/ReportOutcome"
"""Full name of the method that takes reports."""

_ATTEMPTS: Final = 2
_LONGEST_SECONDS: Final = 24 * 60 * 60.0
"""No call takes as long as a day, and gRPC takes times that its clock cannot hold for none at all."""

MessageT = TypeVar("MessageT", bound=Message)
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One message to send.

    Attributes:
        method: Full name of the method.
        request: The encoded message.
        timeout: Time until the call's deadline, in seconds, above zero.
    """

    method: str
    request: bytes
    timeout: float


Steps = Generator[Attempt, bytes, ResultT]
"""Attempts out, encoded replies in (or CallError thrown in), and a result at the end."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How every call of one client is made.

    Attributes:
        timeout: Time for a call that brings no other, in seconds.
        strict: Whether a failure is raised instead of put into the result.
        clock: A clock that never goes back, in seconds.
    """

    timeout: float
    strict: bool
    clock: Callable[[], float] = time.monotonic


def prune_steps(
    conversation: ConversationT, prepare: Callable[[], PreparedPrune[ConversationT]], manner: Manner
) -> Steps[Pruned[ConversationT]]:
    """Prunes, and gives the conversation as it came after any failure.

    Raises:
        ValueError: The timeout has no end, or is no number.
        PinchError: Any failure, when the manner is strict.
    """
    entered = manner.clock()
    try:
        prepared = prepare()
        reply = yield from _call(PRUNE, prepared.request, prepared.timeout, entered, manner)
        return prepared.finish(_decoded(PruneResponse, reply))
    except PinchError as error:
        if manner.strict:
            raise
        return unpruned(conversation, error)


def report_steps(
    decision_id: str, outcome: Outcome.ValueType, manner: Manner, **options: Unpack[OutcomeOptions]
) -> Steps[bool]:
    """Reports an outcome, and gives False after any failure.

    Raises:
        ValueError: The timeout has no end, or is no number.
        PinchError: Any failure, when the manner is strict.
    """
    entered = manner.clock()
    try:
        prepared: PreparedOutcome = prepare_outcome(decision_id, outcome, **options)
        reply = yield from _call(REPORT_OUTCOME, prepared.request, prepared.timeout, entered, manner)
        return _decoded(ReportOutcomeResponse, reply).persisted
    except PinchError:
        if manner.strict:
            raise
        return False


def _call(
    method: str, message: Message, timeout: float | None, entered: float, manner: Manner
) -> Steps[bytes]:
    """At most two attempts inside one deadline; only UNAVAILABLE leads to the second."""
    given = manner.timeout if timeout is None else timeout
    if not math.isfinite(given):
        raise ValueError(f"timeout must be a number of seconds, not {given}")
    deadline, request = entered + min(given, _LONGEST_SECONDS), _encoded(message)
    for attempt in range(1, _ATTEMPTS + 1):
        left = deadline - manner.clock()
        if left <= 0:  # gRPC itself would sometimes still send such a call
            break
        try:
            return (yield Attempt(method, request, left))
        except CallError as failure:
            if attempt == _ATTEMPTS or failure.code is not grpc.StatusCode.UNAVAILABLE:
                raise
    raise CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "no time left")


def _encoded(message: Message) -> bytes:
    try:
        return message.SerializeToString()
    except (EncodeError, ValueError) as error:  # more than any protobuf message can hold
        raise RequestError(f"the conversation cannot be encoded ({type(error).__name__})") from error


def _decoded(kind: type[MessageT], reply: bytes) -> MessageT:
    try:
        return kind.FromString(reply)
    except DecodeError as error:
        raise ReplyError("the reply cannot be decoded") from error
