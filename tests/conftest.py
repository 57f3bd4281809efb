"""Fixtures and settings that every room of the tests shares."""

import os
import sys

from hypothesis import settings

from tests.services.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

# Where the environment forbids bytecode, each of the hundreds of processes that tests start would compile the
# whole server again, and each worker of pytest-xdist all of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test is timed: a slow machine must not fail one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
