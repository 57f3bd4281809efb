"""Names of sessions and tenants as rows have them."""

from pinch_server.core.session import session_hash, tenant_hash

KEY = b"a key of sixteen"


def test_a_name_gives_the_same_hash_and_no_other() -> None:
    """The same name and key give the same hash, another name, key or kind another; no name has none."""
    hashes = {
        session_hash("blue", KEY),
        session_hash("red", KEY),
        session_hash("blue", b"another key of it"),
        tenant_hash("blue", KEY),
        tenant_hash("red", KEY),
        tenant_hash("blue", b"another key of it"),
    }
    assert len(hashes) == 6
    assert not {one for one in hashes if one is None or "blue" in one}
    assert session_hash("blue", KEY) == session_hash("blue", KEY)
    assert len(tenant_hash("blue", KEY) or "") == 32
    assert (session_hash("", KEY), tenant_hash("", KEY)) == (None, None)
