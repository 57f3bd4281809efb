"""What a browser sends for a page, which may make it ask ports of its visitor's own machine.

Browsers say that a page is behind a request, and no page can keep them from it. What a page may send without
the port's leave is bounded too: never a body of JSON.
"""

import ipaddress
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

_SAID_BY_BROWSERS: Final = ("origin", "sec-fetch-site")


def is_sent_for_a_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that it sends this for a page, whichever; what is no browser says nothing of it.

    Args:
        headers: The header fields by name, in small letters.
    """
    return any(name in headers for name in _SAID_BY_BROWSERS)


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Whether a page of the very port is behind a request, or none.

    Args:
        headers: The header fields by name, in small letters.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site == "same-origin"
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        except ValueError:
            return False
    return True


def is_own_name(host: str, more: Collection[str] = ()) -> bool:
    """Whether a port was found by its address, or under a name that only this machine can have.

    Any other name may have been made to lead here by its owner, whose page then reads the answers.

    Args:
        host: The header field `Host`.
        more: Further names, in small letters.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost") or name in more:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
