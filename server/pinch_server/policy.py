"""What the settings say about planning, in the terms of the use case."""

from decimal import Decimal

from pinch_server.core.counting import COUNTERS, Counter
from pinch_server.core.rates import read_rates
from pinch_server.core.savings import Objective
from pinch_server.decide import Policy, RankingPolicy
from pinch_server.settings import Settings, to_limits


def policy_of(settings: Settings, session_key: bytes) -> Policy:
    """The policy that `settings` describe.

    Args:
        settings: The settings in force.
        session_key: The key that session ids are hashed with.
    """
    return Policy(
        limits=to_limits(settings),
        is_enabled=settings.enabled,
        fingerprint=settings.fingerprint(),
        session_key=session_key,
        probes_prefix=settings.prefix_probe,
        keeps_receipts=settings.store.receipts,
    )


def ranking_policy_of(settings: Settings) -> RankingPolicy:
    """How `settings` have candidates ranked."""
    given = settings.relevance
    return RankingPolicy(given.scoring, given.timeout_seconds, given.min_candidates)


def objective_of(settings: Settings) -> Objective:
    """How `settings` price what is saved."""
    given = settings.objective
    return Objective(
        # By its shortest text: 0.9 is meant, not the binary fraction next to it.
        assumed_cache_rate=Decimal(repr(given.assumed_cache_rate)),
        rates=read_rates(given.prompt_rate, given.cached_rate, given.cache_write_rate),
        billing_reset_day=given.billing_reset_day,
    )


def counter_of(settings: Settings) -> Counter:
    """The token estimate that `settings` choose."""
    return COUNTERS[settings.counting]
