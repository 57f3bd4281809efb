"""Who may come in at the HTTP port, by token or by cookie, and whose browser sent a change."""

from collections.abc import Callable
from typing import Final

from pinch_server.doors.access import Role, allowed_page
from pinch_server.doors.browsers import is_own_name, is_same_origin
from pinch_server.doors.tokens import Problem, Refused, Token, Tokens, admitted, admitted_by
from pinch_server.doors.watched import Watched
from pinch_server.web.exchange import Reply, Request
from pinch_server.web.sessions import Sessions

_CHANGES: Final = ("POST", "PUT")
_EVERYONE: Final = frozenset(Role)


class Guard:
    """Decides for each request, before anything is done about it.

    Args:
        tokens: The tokens that are valid; None: callers need none.
        refused: Counts a request that was refused, for want of the right token or as somebody else's page's.
        sessions: Who has signed in.
        is_local: Whether the port can be reached from this machine alone.
    """

    def __init__(
        self,
        tokens: Watched[Tokens] | None,
        refused: Callable[[Problem], None],
        sessions: Sessions,
        *,
        is_local: bool,
    ) -> None:
        self._tokens = tokens
        self._refused = refused
        self._sessions = sessions
        self._is_local = is_local

    @property
    def asks_for_tokens(self) -> bool:
        """Whether callers need a token."""
        return self._tokens is not None

    @property
    def admits_changes(self) -> bool:
        """Whether knobs may be turned here: not by anyone on the network who happens to reach the port."""
        return self._tokens is not None or self._is_local

    def admit(self, request: Request) -> Token | None:
        """The token of whoever asks; None where none is needed.

        Raises:
            Refused: This page is not for them.
        """
        allowed = allowed_page(request.path)
        if self._tokens is None or allowed is None:
            return None
        try:
            tokens, header = self._tokens.current(), request.headers.get("authorization")
            digest = None if header is not None else self._sessions.digest_of(request.headers)
            if digest is not None:
                return admitted_by(tokens, digest, allowed, "this page")
            return admitted(tokens, header, allowed, "this page")
        except Refused as refused:
            self._refused(refused.problem)
            raise

    def sign_in(self, secret: str) -> str | None:
        """The cookie for whoever knows a token; None where it is not known, or none is needed."""
        if self._tokens is None:
            return None
        try:
            token = admitted(self._tokens.current(), f"Bearer {secret}", _EVERYONE, "the dashboard")
        except Refused as refused:
            self._refused(refused.problem)
            return None
        return self._sessions.begin(token.digest)

    def sign_out(self, request: Request) -> None:
        """Ends the session of whoever asks."""
        self._sessions.end(request.headers)

    def foreign(self, request: Request) -> Reply | None:
        """The refusal of a request that a page of somebody else had a browser send; None for all others.

        A browser names the page that a change comes from. Where no tokens are asked for, it must also have
        found this port under a name that only this machine can have: a name on the network that was made to
        lead here would let its owner's page read along.
        """
        if self._tokens is None and self._is_local and not is_own_name(request.headers.get("host", "")):
            self._refused("foreign")
            return Reply(
                b"without server.tokens this page is for localhost: open it by that name or by its address\n",
                status=403,
            )
        if request.method in _CHANGES and not is_same_origin(request.headers):
            self._refused("foreign")
            return Reply(b"a change must come from a page of this port\n", status=403)
        return None
