"""Who has signed in with a browser: a cookie stands for a token, for some hours.

The cookie is made by chance and holds nothing. What it stands for is kept in memory alone, and by the hash of
the token: a token that is taken out of the file ends its sessions at once.
"""

import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

HOURS: Final = 12
"""How long somebody stays signed in (hours)."""
COOKIE: Final = "pinch_session"
"""What the name of the cookie begins with."""
_SECONDS: Final = HOURS * 3600
_MOST: Final = 1000
_BYTES: Final = 32


class Sessions:
    """The sessions of one process.

    Args:
        clock: A clock that never goes back (seconds).
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[bytes, tuple[bytes, float]] = {}

    def begin(self, digest: bytes) -> str:
        """Begins a session for the token of this SHA-256; of too many the oldest ends.

        Returns:
            The value of the cookie.
        """
        value = secrets.token_urlsafe(_BYTES)
        with self._lock:
            now = self._clock()
            self._open = {key: one for key, one in self._open.items() if one[1] > now}
            while len(self._open) >= _MOST:
                del self._open[next(iter(self._open))]
            self._open[_key(value)] = (digest, now + _SECONDS)
        return value

    def digest_of(self, headers: Mapping[str, str]) -> bytes | None:
        """The SHA-256 of the token that a request's cookie stands for; None without a session."""
        value = _cookie(headers)
        if value is None:
            return None
        with self._lock:
            # Found by its hash: how long that takes says nothing about the cookies there are.
            found = self._open.get(_key(value))
        return None if found is None or found[1] <= self._clock() else found[0]

    def end(self, headers: Mapping[str, str]) -> None:
        """Ends the session of a request's cookie, if it has one."""
        value = _cookie(headers)
        if value is not None:
            with self._lock:
                self._open.pop(_key(value), None)


def cookie_name(headers: Mapping[str, str]) -> str:
    """The name of the cookie, with the port by which the browser reached this service.

    Browsers send a host's cookies to every port of it: by one name, signing in to one service would end the
    session of the other. It is the port in the address that counts, which may be another than the one bound.
    """
    try:
        port = urlsplit(f"//{headers.get('host', '')}").port
    except ValueError:
        port = None
    return COOKIE if port is None else f"{COOKIE}_{port}"


def set_cookie(headers: Mapping[str, str], value: str, *, is_encrypted: bool) -> tuple[str, str]:
    """The header field that gives the browser of a request its cookie; an empty value takes it away."""
    secure = "; Secure" if is_encrypted else ""
    age = _SECONDS if value else 0
    return (
        "Set-Cookie",
        f"{cookie_name(headers)}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}",
    )


def _cookie(headers: Mapping[str, str]) -> str | None:
    # Not by http.cookies: a bad cookie of another service of this host hides ours from it, and its time grows
    # with the square of a quoted value.
    value = rf"(?:^|;)[ \t]*{cookie_name(headers)}=([A-Za-z0-9_-]{{43}})[ \t]*(?:;|$)"
    found = re.search(value, headers.get("cookie", ""))
    return None if found is None else found[1]


def _key(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()
