"""The JSON endpoints under /api/v1: what they take, what they answer, what they refuse."""

from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl

import msgspec

from pinch_server.core.limits import Violation
from pinch_server.decide import InvalidCallError
from pinch_server.doors.tokens import Token
from pinch_server.ports import InsightUnavailableError, NotTurnedError
from pinch_server.web.exchange import JSON, Reply, Request, json_error, json_reply

ROOT: Final = "/api/v1/"
_DECISIONS: Final = f"{ROOT}decisions/"
METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    f"{ROOT}state": ("GET",),
    f"{ROOT}savings": ("GET",),
    f"{ROOT}activity": ("GET",),
    f"{ROOT}decisions": ("GET",),
    f"{ROOT}knobs": ("GET", "PUT"),
}
"""What may be asked of each endpoint."""
_MOST_FIELDS: Final = 50
_STANDARD_DAYS: Final = 30
_MOST_DAYS: Final = 366


class Questions(Protocol):
    """Answers in plain data; each may raise InvalidCallError and InsightUnavailableError."""

    def savings(self, asked: Mapping[str, str]) -> dict[str, Any] | None:
        """The savings of a window; None while pruning is switched off."""
        ...

    def decisions(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """One page of decisions."""
        ...

    def decision(self, decision_id: str) -> dict[str, Any] | None:
        """One decision; None when there is none of that id."""
        ...


class Service(Protocol):
    """The service as it stands."""

    def state(self) -> dict[str, Any]:
        """How it is: never raises."""
        ...

    def activity(self, days: int) -> dict[str, Any]:
        """What the calls of each hour did; may raise InsightUnavailableError."""
        ...

    def knobs(self) -> dict[str, bool]:
        """How every runtime knob stands, by its key."""
        ...

    def turn(self, knobs: Mapping[str, bool], *, persist: bool, token: Token | None, peer: str) -> None:
        """Turns knobs in every process, and writes down who did; may raise NotTurnedError."""
        ...


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    knobs: dict[str, bool]
    persist: bool = False


class Api:
    """The endpoints.

    Args:
        questions: Answers about stored decisions.
        service: The service as it stands.
    """

    def __init__(self, questions: Questions, service: Service) -> None:
        self._questions = questions
        self._service = service

    def methods(self, path: str) -> tuple[str, ...]:
        """What may be asked of a path; nothing where there is no endpoint."""
        is_decision = path.startswith(_DECISIONS) and "/" not in path[len(_DECISIONS) :]
        return ("GET",) if is_decision else METHODS.get(path, ())

    def answer(self, request: Request, token: Token | None, *, admits_changes: bool) -> Reply:
        """Answers a request that `methods` allows.

        Args:
            request: The request.
            token: The token that it came with; None where none is needed.
            admits_changes: Whether knobs may be turned at this port.
        """
        try:
            if request.path == f"{ROOT}knobs":
                return self._knobs(request, token, admits_changes=admits_changes)
            asked = _asked(request.query)
            if request.path == f"{ROOT}state":
                return json_reply(self._service.state() | {"caller": _caller(token)})
            if request.path == f"{ROOT}savings":
                found = self._questions.savings(asked)
                return json_reply({} if found is None else {"savings": found})
            if request.path == f"{ROOT}activity":
                days = _days(asked)
                return json_reply({"window_days": days, **self._service.activity(days)})
            if request.path == f"{ROOT}decisions":
                return json_reply(self._questions.decisions(asked))
            return self._decision(request.path.removeprefix(_DECISIONS))
        except InvalidCallError as error:
            violations = tuple((one.field, one.problem) for one in error.violations)
            return json_error(400, "INVALID_CALL", str(error), violations)
        except InsightUnavailableError as error:
            return json_error(503, "STORE_UNAVAILABLE", str(error))
        except NotTurnedError as error:
            return json_error(503, "NOT_TURNED", str(error))

    def _decision(self, decision_id: str) -> Reply:
        found = self._questions.decision(decision_id)
        if found is None:
            words = "no decision of that id is stored; one just made may still be on its way"
            return json_error(404, "NO_DECISION", words)
        return json_reply(found)

    def _knobs(self, request: Request, token: Token | None, *, admits_changes: bool) -> Reply:
        if request.method == "PUT":
            if not admits_changes:
                words = "knobs are not turned over an open port without tokens; set server.tokens"
                return json_error(403, "NEEDS_TOKENS", words)
            if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
                # A form of another page cannot send this type without asking first, and is never allowed to.
                return json_error(415, "INVALID_CALL", f"the body must be {JSON}")
            try:
                change = msgspec.json.decode(request.body, type=_Change)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                return json_error(400, "INVALID_CALL", f"the body is not what the method takes: {error}")
            unknown = sorted(change.knobs.keys() - self._service.knobs().keys())
            if unknown or not change.knobs:
                known = ", ".join(sorted(self._service.knobs()))
                problem = f"name one or more of {known}"
                return json_error(400, "INVALID_CALL", f"knobs: {problem}", (("knobs", problem),))
            self._service.turn(change.knobs, persist=change.persist, token=token, peer=request.peer)
        return json_reply({"knobs": self._service.knobs(), "may_turn": admits_changes})


def _days(asked: Mapping[str, str]) -> int:
    problems = [
        Violation(name, "is not known here; known is window_days") for name in asked.keys() - {"window_days"}
    ]
    text = asked.get("window_days", str(_STANDARD_DAYS))
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    if not is_number or not 1 <= int(text) <= _MOST_DAYS:
        problems.append(Violation("window_days", f"is no whole number from 1 to {_MOST_DAYS}"))
    if problems:
        raise InvalidCallError(tuple(problems))
    return int(text)


def _caller(token: Token | None) -> dict[str, Any] | None:
    return None if token is None else {"name": token.name, "roles": sorted(token.roles)}


def _asked(query: str) -> dict[str, str]:
    """The fields of a query string; one that comes twice counts as it came last.

    Raises:
        InvalidCallError: It is not UTF-8, or has too many fields.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        problem = f"is not UTF-8, or has more than {_MOST_FIELDS} fields"
        raise InvalidCallError((Violation("query", problem),)) from None
    return dict(pairs)
