"""The files of the dashboard, read once at the start: nothing is read from disk for a request."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from pinch_server.web.exchange import HTML, JSON, TEXT, Reply, Request

_TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": HTML,
    "js": "text/javascript; charset=utf-8",
    "json": JSON,
    "svg": "image/svg+xml",
    "txt": TEXT,
}
_ALLOWED: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load and do: nothing from elsewhere, and no script or style within it."""
SAFETY: Final = (
    ("Content-Security-Policy", _ALLOWED),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
)
"""The header fields of every page for people."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file.

    Attributes:
        content_type: Its media type.
        body: Its bytes.
        packed: The same, gzipped.
        tag: Its ETag.
    """

    content_type: str
    body: bytes
    packed: bytes
    tag: str


def read_assets() -> Mapping[str, Asset]:
    """Every file of the dashboard by its name."""
    found = {}
    for file in files("pinch_server.web").joinpath("static").iterdir():
        body = file.read_bytes()
        kind = _TYPES[file.name.rpartition(".")[2]]
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        found[file.name] = Asset(kind, body, gzip.compress(body, mtime=0), tag)
    return found


def served(asset: Asset, request: Request, status: int = 200) -> Reply:
    """A file as it is sent: gzipped where that is understood, and not at all where the browser has it."""
    # Each use asks whether it is still the newest: an upgrade must not mix old files with new.
    headers = (*SAFETY, ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"), ("ETag", asset.tag))
    if status == 200 and request.headers.get("if-none-match") == asset.tag:
        return Reply(b"", asset.content_type, 304, headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Reply(asset.packed, asset.content_type, status, (*headers, ("Content-Encoding", "gzip")))
    return Reply(asset.body, asset.content_type, status, headers)
