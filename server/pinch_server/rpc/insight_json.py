"""InsightService for doors that speak JSON: the same requests, checks and replies, as plain data.

A question comes as the texts of a query string and is made into the message that a gRPC caller would send, so
that no door can answer anything else than another.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import grpc
from google.protobuf.message import Message

from pinch.v1 import insight_pb2 as pb
from pinch_server.core.limits import Violation
from pinch_server.decide import InvalidCallError
from pinch_server.rpc.errors import NoDecisionError
from pinch_server.rpc.insight_convert import shown_fields
from pinch_server.rpc.insight_service import InsightService

_TRUTHS: Final = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
# InsightService looks at no context.
_NO_CONTEXT: Final = cast("grpc.ServicerContext", None)


class InsightJson:
    """Answers in the field names of the API, enumerations by name without their prefix.

    Args:
        service: What answers gRPC callers.
    """

    def __init__(self, service: InsightService) -> None:
        self._service = service

    def savings(self, asked: Mapping[str, str]) -> dict[str, Any] | None:
        """The savings of a window; None while pruning is switched off.

        Args:
            asked: `window_days`, and the fields of SavingsFilter.

        Raises:
            InvalidCallError: A question that is not understood.
            InsightUnavailableError: The database cannot be asked.
        """
        request = pb.GetSavingsRequest()
        _fill(asked, request, request.filters)
        reply = self._service.GetSavings(request, _NO_CONTEXT)
        return shown_fields(reply.savings) if reply.HasField("savings") else None

    def decisions(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """One page of decisions and the token of the next, the newest first.

        Args:
            asked: `page_size`, `page_token`, and the fields of DecisionFilter.

        Raises:
            InvalidCallError: A question that is not understood.
            InsightUnavailableError: The database cannot be asked.
        """
        request = pb.ListDecisionsRequest()
        _fill(asked, request, request.filter)
        reply = self._service.ListDecisions(request, _NO_CONTEXT)
        return {
            "decisions": [shown_fields(one) for one in reply.decisions],
            "next_page_token": reply.next_page_token,
        }

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """One decision; None when none of that id is stored.

        Raises:
            InvalidCallError: It is no id.
            InsightUnavailableError: The database cannot be asked.
        """
        try:
            reply = self._service.GetDecision(pb.GetDecisionRequest(decision_id=decision_id), _NO_CONTEXT)
        except NoDecisionError:
            return None
        return shown_fields(reply)


def _fill(asked: Mapping[str, str], *messages: Message) -> None:
    """Sets each field that is asked for, in the first message that has it.

    Raises:
        InvalidCallError: A name that no message has, or a value that its field does not take.
    """
    places = {
        field.name: (message, field)
        for message in reversed(messages)
        for field in message.DESCRIPTOR.fields
        if field.message_type is None
    }
    problems: list[Violation] = []
    for name, text in asked.items():
        if name not in places:
            problems.append(Violation(name, f"is not known here; known are {', '.join(sorted(places))}"))
            continue
        message, field = places[name]
        try:
            setattr(message, name, _value(field, text))
        except ValueError as error:
            problems.append(Violation(name, str(error)))
    if problems:
        raise InvalidCallError(tuple(problems))


def _value(field: Any, text: str) -> Any:
    if field.enum_type is not None:
        known = {
            value.name.removeprefix(f"{field.enum_type.name.upper()}_"): value.number
            for value in field.enum_type.values
            if value.number
        }
        if text.upper() not in known:
            raise ValueError(f"is not a known value; give one of {', '.join(known)}, or leave it out")
        return known[text.upper()]
    if field.type == field.TYPE_BOOL:
        if text not in _TRUTHS:
            raise ValueError("is neither true nor false")
        return _TRUTHS[text]
    if field.type == field.TYPE_STRING:
        return text
    if not _NUMBER.fullmatch(text):
        raise ValueError("is not a whole number")
    return int(text)
