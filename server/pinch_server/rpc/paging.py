"""Pages of decisions: their size, and tokens that name the last decision of a page.

A token holds a time, an id and a checksum of the filter it was given for. Since it names a place among the
decisions and not a count of them, decisions that come meanwhile move none to another page.
"""

import base64
import binascii
import re
from typing import Final
from zlib import crc32

from pinch.v1 import insight_pb2 as pb
from pinch_server.core.insight import Position
from pinch_server.core.limits import Violation

STANDARD_SIZE: Final = 50
"""Decisions on a page of a request that names no size."""
LARGEST_SIZE: Final = 1000
"""The most decisions on a page."""
_TOKEN: Final = re.compile(rb"1 (-?\d{1,19}) ([0-9A-Za-z-]{1,64}) ([0-9a-f]{8})")


def page_size(asked: int, problems: list[Violation]) -> int:
    """How many decisions a page holds."""
    if asked < 0:
        problems.append(Violation("page_size", f"{asked} is below zero; leave it out for {STANDARD_SIZE}"))
    return min(asked or STANDARD_SIZE, LARGEST_SIZE)


def token_of(request: pb.ListDecisionsRequest, last: Position) -> str:
    """The token of the page after the one that ends with `last`."""
    text = f"1 {last.created_at} {last.decision_id} {_checksum(request)}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def position_of(request: pb.ListDecisionsRequest, problems: list[Violation]) -> Position | None:
    """Where a request goes on; None from the newest, and when its token is none."""
    if not request.page_token:
        return None
    try:
        text = base64.b64decode(request.page_token.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        text = b""
    found = _TOKEN.fullmatch(text)
    if found is None or not -(2**63) <= int(found[1]) < 2**63:
        problems.append(Violation("page_token", "is not a token of this service; give next_page_token"))
    elif found[3].decode() != _checksum(request):
        problems.append(Violation("page_token", "is of another filter; begin anew without a token"))
    else:
        return Position(int(found[1]), found[2].decode())
    return None


def _checksum(request: pb.ListDecisionsRequest) -> str:
    return f"{crc32(request.filter.SerializeToString(deterministic=True)):08x}"
