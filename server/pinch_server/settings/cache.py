"""The provider's prompt cache, as the trigger and the ledger reckon with it."""

from typing import Annotated

from pydantic import BaseModel, Field

from pinch_server.core.limits import BOUNDS, Limits
from pinch_server.settings.marks import Within

_STANDARD = Limits()


class CacheSettings(BaseModel, frozen=True, extra="forbid"):
    """What a plan may know of the cache: the same for every call, so that the plan stays a replay."""

    write_multiplier: Annotated[float, Within(BOUNDS["cache_write_multiplier"])] = Field(
        default=_STANDARD.cache_write_multiplier,
        description="Price of a token written to the provider's cache, as a multiple of an uncached one.",
    )
    read_multiplier: Annotated[float, Within(BOUNDS["cache_read_multiplier"])] = Field(
        default=_STANDARD.cache_read_multiplier,
        description="Price of a token read from that cache, as a multiple of an uncached one.",
    )
    expected_calls: Annotated[int, Within(BOUNDS["cache_expected_calls"])] = Field(
        default=_STANDARD.cache_expected_calls,
        description="Calls of a session taken to follow an event (calls).",
    )
