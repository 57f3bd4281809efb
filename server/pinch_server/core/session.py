"""Sessions are known by a keyed hash: the same id gives the same one, and nobody gets the id back from it."""

import hmac
from functools import lru_cache


@lru_cache(maxsize=1_024)
def session_hash(session_id: str, key: bytes) -> str | None:
    """The hash that stands for a session, as lower-case hexadecimal text; None without an id."""
    if not session_id:
        return None
    return hmac.digest(key, session_id.encode(), "sha256").hex()
