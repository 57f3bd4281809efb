"""Fixtures and settings that every room of the tests shares."""

from hypothesis import settings

from tests.services.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

# No test is timed: a slow machine must not fail one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
