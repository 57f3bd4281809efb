"""The use case: read, count, plan, write, record. Whatever fails on the way is a value in the reply."""

from pinch_server.decide.call import (
    Body,
    CallContext,
    Decided,
    InvalidCallError,
    Measured,
    Patience,
    PruneCall,
)
from pinch_server.decide.decider import Decider
from pinch_server.decide.extracting import Extracting
from pinch_server.decide.lanes import Lanes, NobodyWaitsError, NoTimeError
from pinch_server.decide.newcomers import Newcomers
from pinch_server.decide.ranking import Ranker, RankingPolicy
from pinch_server.decide.reading import limits_of, read_call
from pinch_server.decide.row import STORED_CHARS, Policy, stored_text

__all__ = [
    "STORED_CHARS",
    "Body",
    "CallContext",
    "Decided",
    "Decider",
    "Extracting",
    "InvalidCallError",
    "Lanes",
    "Measured",
    "Newcomers",
    "NoTimeError",
    "NobodyWaitsError",
    "Patience",
    "Policy",
    "PruneCall",
    "Ranker",
    "RankingPolicy",
    "limits_of",
    "read_call",
    "stored_text",
]
