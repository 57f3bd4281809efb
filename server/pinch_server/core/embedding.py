"""What asking for embeddings comes to: vectors, or the reason why there are none."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class Fault(StrEnum):
    """Why there are no vectors; a closed set, so that it can label a metric."""

    REFUSED = "embedder_refused"
    """No connection: nobody listens, the name is unknown, or TLS failed."""
    TIMEOUT = "embedder_timeout"
    """The time ran out before the whole answer was there."""
    CANCELLED = "embedder_cancelled"
    """The caller went away."""
    CLOSED = "embedder_closed"
    """The connection ended before the whole answer was there, twice."""
    BUSY = "embedder_busy"
    """Status 429."""
    FAILING = "embedder_failing"
    """A status from 500."""
    DENIED = "embedder_denied"
    """Status 401 or 403: the API key is missing or wrong."""
    REJECTED = "embedder_rejected"
    """Another status than 200, for example 404 for an unknown model or 400 for one that embeds nothing."""
    TOO_LONG = "embedder_too_long"
    """A text is too long for the model even after it was halved."""
    MALFORMED = "embedder_malformed"
    """The answer is not the JSON of an embeddings reply."""
    TOO_LARGE = "embedder_too_large"
    """The answer has more bytes than so many vectors can take."""
    WRONG_COUNT = "embedder_wrong_count"
    """The answer does not hold exactly one vector for each text."""
    WRONG_DIMENSION = "embedder_wrong_dimension"
    """The vectors differ in dimension from each other or from those known before."""
    NOT_FINITE = "embedder_not_finite"
    """A vector holds NaN or an infinity."""
    ZERO_VECTOR = "embedder_zero_vector"
    """A vector of a text that is not blank has no direction."""
    BREAKER_OPEN = "embedder_breaker_open"
    """The endpoint failed several times in a row and is left alone for a while."""
    INTERNAL = "embedder_internal"
    """Something unforeseen."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embeddings of some texts.

    Attributes:
        rows: One normalised row a text, in the order of the texts; a blank text's row is zero.
    """

    rows: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There are no embeddings.

    Attributes:
        fault: Why.
        detail: What was seen, in words for an operator; holds neither texts nor keys.
    """

    fault: Fault
    detail: str = ""
