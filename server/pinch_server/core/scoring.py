"""What may rank a candidate, by the name of the setting that chooses it."""

from enum import StrEnum

from pinch_server.core.limits import Stability
from pinch_server.core.plan import Ranking


class Scoring(StrEnum):
    """What ranks a candidate."""

    AUTO = "auto"
    """Both words and embeddings where each call is decided by itself; age under replay."""
    AGE = "age"
    """How long ago it came: the oldest are trimmed first, whatever they say."""
    LEXICAL = "lexical"
    """The words it shares with what was said last."""
    COSINE = "cosine"
    """The cosine of its embedding with that of what was said last: the original's ranking."""
    HYBRID = "hybrid"
    """Both."""

    @property
    def needs_vectors(self) -> bool:
        """Whether embeddings may be asked for."""
        return self in (Scoring.AUTO, Scoring.COSINE, Scoring.HYBRID)

    def under(self, stability: Stability) -> "Scoring":
        """What ranks under this stability.

        A replay trims to two fifths of the budget at each event, so that nearly all it may trim is trimmed in
        any order: bench/recall finds no difference. Age needs no vectors that an outage could take away, and
        each event then changes the history later than the one before.
        """
        if self is not Scoring.AUTO:
            return self
        return Scoring.AGE if stability is Stability.REPLAY else Scoring.HYBRID

    @property
    def ranking(self) -> Ranking:
        """What a reply calls an order made by this."""
        return Ranking.UNIFORM if self in (Scoring.AUTO, Scoring.AGE) else Ranking[self.name]
