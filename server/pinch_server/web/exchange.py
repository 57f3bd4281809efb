"""What comes in at the HTTP port and what goes out, free of sockets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

TEXT: Final = "text/plain; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read whole.

    Attributes:
        method: `GET`, `POST` or `PUT`; a HEAD comes as GET.
        path: The path, without its query.
        query: The query as it came.
        headers: The header fields by name, in small letters.
        body: The bytes of the body.
        is_encrypted: Whether it came over TLS.
        peer: Where it came from, `HOST:PORT`.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_encrypted: bool = False
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request is answered.

    Attributes:
        body: The bytes of the page.
        content_type: Its media type.
        status: HTTP status code.
        headers: Further header fields.
    """

    body: bytes
    content_type: str = TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def json_reply(value: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A reply that holds plain data."""
    return Reply(msgspec.json.encode(value), JSON, status, headers)


def json_error(status: int, code: str, message: str, violations: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A refusal for programs.

    Args:
        status: HTTP status code.
        code: The reason, in the words of the gRPC API's ErrorInfo.
        message: The reason, for people.
        violations: Each field that is wrong, with what is wrong and what mends it.
    """
    told: dict[str, Any] = {"code": code, "message": message}
    if violations:
        told["violations"] = [{"field": name, "description": words} for name, words in violations]
    return json_reply({"error": told}, status)
