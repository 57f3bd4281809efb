"""What the settings say about planning, in the terms of the use case."""

from pinch_server.core.counting import COUNTERS, Counter
from pinch_server.decide import Policy
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
    )


def counter_of(settings: Settings) -> Counter:
    """The token estimate that `settings` choose."""
    return COUNTERS[settings.counting]
