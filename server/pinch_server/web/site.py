"""The dashboard: its pages, the JSON behind them, and signing in."""

from typing import Final

import msgspec

from pinch_server.doors.tokens import Refused
from pinch_server.web.api import ROOT, Api
from pinch_server.web.assets import SAFETY, read_assets, served
from pinch_server.web.exchange import JSON, Reply, Request, json_error, json_reply
from pinch_server.web.guard import Guard
from pinch_server.web.sessions import set_cookie

_ASSETS: Final = "/assets/"
_DECISION: Final = "/decisions/"
_OPENAPI: Final = "/openapi.json"


class _SignIn(msgspec.Struct, forbid_unknown_fields=True):
    token: str


class Dashboard:
    """All that a browser may ask for.

    Args:
        api: The JSON endpoints.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._assets = read_assets()

    def methods(self, path: str) -> tuple[str, ...]:
        """What may be asked of a path; nothing where there is no page."""
        if path.startswith(ROOT):
            return self._api.methods(path)
        if path in ("/login", "/logout"):
            return ("POST",)
        is_page = path in ("/", _OPENAPI) or path.startswith((_ASSETS, _DECISION))
        return ("GET",) if is_page else ()

    def answer(self, request: Request, guard: Guard) -> Reply:
        """Answers a request that `methods` allows."""
        foreign = guard.foreign(request)
        if foreign is not None:
            return foreign
        try:
            token = guard.admit(request)
        except Refused as refused:
            return self._refusal(request, refused)
        if request.path.startswith(ROOT):
            reply = self._api.answer(request, token, admits_changes=guard.admits_changes)
            return _safe(reply)
        if request.path == "/login":
            return _safe(_sign_in(request, guard))
        if request.path == "/logout":
            guard.sign_out(request)
            cookie = set_cookie(request.headers, "", is_encrypted=request.is_encrypted)
            return _safe(json_reply({}, headers=(cookie,)))
        return self._file(request)

    def _file(self, request: Request) -> Reply:
        if request.path == _OPENAPI:
            return served(self._assets["openapi.json"], request)
        if request.path.startswith(_ASSETS):
            asset = self._assets.get(request.path.removeprefix(_ASSETS))
            return Reply(b"not found\n", status=404) if asset is None else served(asset, request)
        # One page for all: its script reads the path.
        return served(self._assets["index.html"], request)

    def _refusal(self, request: Request, refused: Refused) -> Reply:
        status = 403 if refused.problem == "wrong_role" else 401
        if request.path == "/" or request.path.startswith(_DECISION):
            # The page itself says what to do, at the address that was asked for.
            return served(self._assets["sign-in.html"], request, status)
        code = "NO_SUCH_ROLE" if status == 403 else "NO_VALID_TOKEN"
        return _safe(json_error(status, code, str(refused)))


def _sign_in(request: Request, guard: Guard) -> Reply:
    if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        return json_error(415, "INVALID_CALL", f"the body must be {JSON}")
    try:
        secret = msgspec.json.decode(request.body, type=_SignIn).token
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return json_error(400, "INVALID_CALL", 'the body must be {"token": "…"}')
    cookie = guard.sign_in(secret)
    if cookie is None:
        return json_error(401, "NO_VALID_TOKEN", "the token is not known here")
    return json_reply({}, headers=(set_cookie(request.headers, cookie, is_encrypted=request.is_encrypted),))


def _safe(reply: Reply) -> Reply:
    return Reply(reply.body, reply.content_type, reply.status, (*reply.headers, *SAFETY))
