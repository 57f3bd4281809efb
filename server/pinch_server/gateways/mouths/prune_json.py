"""`POST /v1/prune`: PruneService.Prune for those who have HTTP alone; protobuf's JSON in and out."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from pinch_server.decide import Decided, InvalidCallError, PruneCall
from pinch_server.gateways.mouth import Answer, Leave, Question


class JsonRequest(Protocol):
    """A PruneRequest, read from JSON."""

    @property
    def call(self) -> PruneCall:
        """What it asks for."""
        ...

    def answered(self, decided: Decided) -> bytes:
        """The PruneResponse, as JSON."""
        ...

    def unchanged(self, reason: str) -> bytes:
        """The PruneResponse that gives the conversation back as it came, as JSON."""
        ...


class PruneJson:
    """The mouth of routers that speak HTTP alone.

    Args:
        read_request: Reads a PruneRequest; raises InvalidCallError for what is none.
    """

    name: Final = "prune"
    path: Final = "/v1/prune"

    def __init__(self, read_request: Callable[[bytes], JsonRequest]) -> None:
        self._read_request = read_request

    def read(self, body: bytes, headers: Mapping[str, str]) -> Question | Leave:
        """Takes a PruneRequest; everything is in it, so that no header is looked at."""
        del headers
        try:
            request = self._read_request(body)
        except InvalidCallError as error:
            return Leave("invalid", error.violations)
        return Question(request.call, lambda decided: Answer(request.answered(decided)))

    def unchanged(self, left: Leave, body: bytes) -> Answer:
        """The conversation as it came; for the caller's own faults a 400 that names each of them."""
        if left.violations:
            told = [{"field": one.field, "description": one.problem} for one in left.violations]
            return Answer(msgspec.json.encode({"error": left.reason, "violations": told}), status=400)
        if not body:
            # Never read: it was too large, or there was no time for it, which may be another time.
            status = 413 if left.reason == "too_large" else 503
            return Answer(msgspec.json.encode({"error": left.reason}), status=status)
        try:
            return Answer(self._read_request(body).unchanged(left.reason))
        except InvalidCallError:
            return Answer(msgspec.json.encode({"error": left.reason}), status=503)
