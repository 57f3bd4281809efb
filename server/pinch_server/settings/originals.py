"""Originals of trimmed results, kept so that they can be asked for again."""

from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, Field

from pinch_server.core.limits import Bound
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within

_MIB: Final = 1024 * 1024


class OriginalsSettings(BaseModel, frozen=True, extra="forbid"):
    """They are conversation text, encrypted before they reach the database. See docs/extraction.md."""

    enabled: bool = Field(
        default=False, description="Whether originals of trimmed results are kept for Expand."
    )
    key: Annotated[
        str,
        AfterValidator(checks.hash_key),
        Told(f"{checks.KEY_CHARS} characters or more, or empty", "", lambda _: checks.HIDDEN),
    ] = Field(
        default="", repr=False, description="Secret they are encrypted with; from the environment, best."
    )
    ttl_seconds: Annotated[int, Within(Bound(60, 31_536_000))] = Field(
        default=86_400, description="How long an original is kept (seconds)."
    )
    max_chars: Annotated[int, Within(Bound(1, 2**31 - 1))] = Field(
        default=2_000_000, description="Longest original that is kept (characters)."
    )
    max_bytes: Annotated[int, Within(Bound(_MIB, 2**50))] = Field(
        default=1024 * _MIB, description="Most that all of them may take; the oldest go first (bytes)."
    )
