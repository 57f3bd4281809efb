"""Sessions and tenants are known by keyed hashes: the same name gives the same, and nobody gets it back."""

import hmac
from functools import lru_cache


@lru_cache(maxsize=1_024)
def session_hash(session_id: str, key: bytes) -> str | None:
    """The hash that stands for a session, as lower-case hexadecimal text; None without an id."""
    if not session_id:
        return None
    return hmac.digest(key, session_id.encode(), "sha256").hex()


@lru_cache(maxsize=1_024)
def tenant_hash(tenant: str, key: bytes) -> str | None:
    """The hash that stands for a tenant, as 32 lower-case hexadecimal digits; None where nobody said.

    It stands in every row, and tells the few tenants of one service apart: half a digest is enough.
    """
    return hmac.digest(key, b"\0tenant\0" + tenant.encode(), "sha256").hex()[:32] if tenant else None


def own_session(session: str | None, tenant: str | None) -> str | None:
    """What a process knows a session by: those of two tenants are two, whatever their callers name them.

    Args:
        session: The hash of its name; None without a name.
        tenant: The hash of whose it is; None where callers are not told apart.
    """
    return session if session is None or tenant is None else f"{tenant} {session}"
