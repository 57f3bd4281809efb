"""PruneRequest and PruneResponse as protobuf's JSON, for the HTTP port."""

import re
from dataclasses import dataclass
from typing import Final

from google.protobuf import json_format

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.limits import Violation
from pinch_server.decide import Decided, InvalidCallError, PruneCall
from pinch_server.formats.recent import RecentHistories
from pinch_server.rpc.convert import Received, read_request, write_reply, write_unchanged
from pinch_server.rpc.wire import SplitRequest

_PROBLEM_CHARS: Final = 200
_BLANK: Final = b" \t\n\r"
_FIELD: Final = re.compile(r"Failed to parse ([A-Za-z_]\w*) field")
_UNKNOWN: Final = re.compile(r'has no field named "(\w+)"')


@dataclass(frozen=True, slots=True)
class JsonRequest:
    """A PruneRequest that came as JSON.

    Attributes:
        request: The request.
        received: The same, read.
    """

    request: pb.PruneRequest
    received: Received

    @property
    def call(self) -> PruneCall:
        """What it asks for."""
        return self.received.call

    def answered(self, decided: Decided) -> bytes:
        """The PruneResponse, as JSON."""
        return _json(write_reply(self.received, decided).whole())

    def unchanged(self, reason: str) -> bytes:
        """The PruneResponse that gives the conversation back as it came, as JSON."""
        return _json(write_unchanged(self.request, reason))


def read_json(body: bytes, recent: RecentHistories) -> JsonRequest:
    """Reads a PruneRequest from protobuf's JSON.

    Args:
        body: The JSON.
        recent: The conversations that were read last.

    Raises:
        InvalidCallError: It is none; the violation says where.
    """
    if not body.lstrip(_BLANK).startswith(b"{"):
        # Of a string, the parser would tell its first letter as the name of a field.
        raise InvalidCallError((_violation(""),))
    try:
        request = json_format.Parse(body, pb.PruneRequest())
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidCallError((_violation(str(error)),)) from None
    return JsonRequest(request, read_request(SplitRequest.of(request), recent))


def _violation(message: str) -> Violation:
    """Where a request is none, without the value that it has there."""
    path = ".".join(_FIELD.findall(message))
    unknown = _UNKNOWN.search(message)
    if unknown is not None:
        where = f"{path}.{unknown[1]}" if path else unknown[1]
        return Violation(where[:_PROBLEM_CHARS], "is no field of a PruneRequest; see pinch/v1/prune.proto")
    if path:
        return Violation(path[:_PROBLEM_CHARS], "is not of its type; see pinch/v1/prune.proto")
    return Violation("", "the body is no PruneRequest in protobuf's JSON form; see pinch/v1/prune.proto")


def _json(reply: pb.PruneResponse) -> bytes:
    return json_format.MessageToJson(reply, indent=None).encode()
