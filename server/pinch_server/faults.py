"""How a failure is told in a log line: by type and frames, since its message may quote what it choked on."""

from collections.abc import Iterator
from traceback import extract_tb
from typing import Final

_MOST_CAUSES: Final = 5


def told(error: BaseException) -> str:
    """A failure and what it came from, the last one first, in one line and without a word of any message."""
    return " from ".join(map(_told_alone, _causes(error)))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _told_alone(error: BaseException) -> str:
    places = [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in extract_tb(error.__traceback__)]
    return f"{type(error).__module__}.{type(error).__qualname__} at {' > '.join(places)}"
