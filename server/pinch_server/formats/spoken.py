"""The dialect of a body of which nothing else is known, from its own shape.

`formats.body` takes its callers' word that a body is a request to a model, and finds the likeliest dialect.
Here any JSON may come, so nothing is likely: only tool results tell, in what has a request's members.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pinch_server.formats.body import fitting
from pinch_server.formats.errors import BodyError, NotUnderstoodError
from pinch_server.formats.format import Format
from pinch_server.formats.json_body import decode

_REQUEST: Final = frozenset(
    {"model", "modelId", "tools", "functions", "toolConfig", "anthropic_version", "generationConfig"}
)
"""Members of requests. A history that is stored or shown somewhere has the same messages, without these."""


class Unspoken(StrEnum):
    """Why a body has no dialect that could be told."""

    NO_CONVERSATION = "no_conversation"
    """It is no JSON object with a history of messages."""
    NO_REQUEST = "no_request"
    """It has messages, but names neither a model nor tools, as what a model is asked does."""
    NOTHING_TO_TRIM = "nothing_to_trim"
    """It has no tool result in the form of any dialect."""
    AMBIGUOUS = "ambiguous_format"
    """It has tool results in the forms of several dialects, which would be edited differently."""
    NOT_UNDERSTOOD = "not_understood"
    """It is nested too deeply to be read."""


def spoken_in(body: bytes) -> Format | Unspoken:
    """The one dialect in which a body has tool results, or why there is none.

    Args:
        body: Any bytes.
    """
    try:
        decoded = decode(body)
        dialects = fitting(decoded) if isinstance(decoded, Mapping) else []
        if not dialects:
            return Unspoken.NO_CONVERSATION
        if _REQUEST.isdisjoint(decoded):
            return Unspoken.NO_REQUEST
        spoken = [dialect.format for dialect in dialects if dialect.has_results(decoded)]
    except BodyError:
        return Unspoken.NO_CONVERSATION
    except (NotUnderstoodError, RecursionError):
        return Unspoken.NOT_UNDERSTOOD
    if len(spoken) > 1:
        return Unspoken.AMBIGUOUS
    return spoken[0] if spoken else Unspoken.NOTHING_TO_TRIM
