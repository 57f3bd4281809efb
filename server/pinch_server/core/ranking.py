"""The order of candidates at an event: what they are held against, and how their scores become an order."""

from collections.abc import Iterator, Sequence
from typing import Final

from numpy.typing import ArrayLike

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.excerpts import excerpt
from pinch_server.core.lexical import Terms, lexical_scores
from pinch_server.core.relevance import blend, cosine_scores, least_first
from pinch_server.core.scoring import Scoring
from pinch_server.core.turn_frame import readable_text

QUERY_OUTPUTS: Final = 4
"""Newest messages of the model whose words say what it is at."""
QUERY_CHARS: Final = 8_000
"""Most of the last user turn, and most of the model's own words, that a query holds (characters each)."""
LENGTH_NORMALISATION: Final = 0.0
"""BM25's `b`: long results are needed as often as their length says, so they are not held to account."""


def ranking_query(messages: Sequence[Message], end: int) -> str:
    """What candidates are held against at an event.

    Args:
        messages: The whole history.
        end: The number of messages that stand before the event.

    Returns:
        The text of the last user turn before it, then the newest outputs of the model with the arguments of
        their calls, newest first; blank when nobody has said anything.
    """
    before = messages[:end]
    asked = next(_turns(before), "")
    said = "\n".join(_outputs(before))
    return "\n".join(part for part in (excerpt(asked, QUERY_CHARS), excerpt(said, QUERY_CHARS)) if part)


def _turns(before: Sequence[Message]) -> Iterator[str]:
    """The texts of the user turns, newest first."""
    for message in reversed(before):
        if message.speaker is Speaker.USER and message.is_turn and (text := readable_text(message)):
            yield text


def _outputs(before: Sequence[Message]) -> Iterator[str]:
    """The texts and arguments of the newest outputs of the model."""
    outputs = 0
    for message in reversed(before):
        if outputs >= QUERY_OUTPUTS:
            return
        if message.speaker is Speaker.MODEL:
            outputs += 1
            yield readable_text(message)
            yield from (call.arguments for call in message.calls)


def least_relevant_first(
    scoring: Scoring,
    query: Terms,
    candidates: Sequence[Terms],
    vectors: tuple[ArrayLike, ArrayLike] | None = None,
) -> list[int]:
    """Positions of the candidates, least relevant first, equal ones oldest first.

    Args:
        scoring: What ranks them.
        query: What they are held against.
        candidates: Each of them, in order of appearance.
        vectors: The embedding of the query and those of the candidates; None ranks by words alone where
            embeddings were wanted.
    """
    if scoring is Scoring.AGE:
        return list(range(len(candidates)))
    if scoring is Scoring.COSINE and vectors is not None:
        return least_first(cosine_scores(*vectors))
    lexical = lexical_scores(query, candidates, b=LENGTH_NORMALISATION)
    if scoring is Scoring.HYBRID and vectors is not None:
        return least_first(blend(lexical, cosine_scores(*vectors)))
    return least_first(lexical)
