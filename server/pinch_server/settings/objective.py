"""What saved tokens are worth: prices, the share of cached ones, and when a month of billing begins."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from pinch_server.core.limits import Bound
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within

_Rate = Annotated[
    str, BeforeValidator(checks.rate), Told("USD per million tokens as a decimal such as 0.30, or empty")
]
_RESET_DAY = Bound(1, 31)


class ObjectiveSettings(BaseModel, frozen=True, extra="forbid"):
    """How saved tokens become money; set it as the router ranks its models."""

    assumed_cache_rate: Annotated[float, Within(Bound(0, 1))] = Field(
        default=0.0,
        description="Part of a prompt taken as read from the cache where no usage was reported (share).",
    )
    billing_reset_day: Annotated[
        int | None,
        Within(_RESET_DAY),
        BeforeValidator(checks.none_in_words),
        Told(f"{_RESET_DAY}, or none", "none"),
    ] = Field(
        default=None,
        description="Day of the month on which billing starts anew; in a shorter month, its last day.",
    )
    prompt_rate: _Rate = Field(
        default="",
        description="Price of prompt tokens where a request brings none (USD per million); empty: by model.",
    )
    cached_rate: _Rate = Field(
        default="",
        description="Price of cached prompt tokens beside that one (USD per million); empty: the same.",
    )
    cache_write_rate: _Rate = Field(
        default="",
        description="Price of tokens written to the cache beside it (USD per million); empty: the same.",
    )
