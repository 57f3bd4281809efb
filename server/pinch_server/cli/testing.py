"""`pinch serve --testing`: settings whose state is in a directory that goes away, and nobody else's data."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pinch_server.cli.console import EXIT_REFUSED, stop
from pinch_server.settings import Settings
from pinch_server.settings.checks import default_state_dir

FREE: Final = "127.0.0.1:0"
"""Where a server for tests listens unless it is told."""

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 a fresh directory of its owner alone is made in it
_SESSION_KEY: Final = "pinch-testing-pinch-testing-pinch-testing"
_JOURNAL_BYTES: Final = 16 * 1024 * 1024
_DRAIN_SECONDS: Final = 1.0


@contextmanager
def settings_for_tests(settings: Settings, environ: Mapping[str, str]) -> Iterator[Settings]:
    """The settings of a server for tests, whose state is gone when the block is left.

    Args:
        settings: What file, variables and options say; limits and the like stay as they are.
        environ: The environment, which says where the state directory would be.

    Raises:
        SystemExit: They name a database, a state directory or an address beyond this machine: status 2.
    """
    problems = []
    if settings.store.database_url:
        problems.append("a database (--database-url, PINCH_STORE__DATABASE_URL)")
    if settings.store.state_dir != default_state_dir(environ):
        problems.append("a state directory (--state-dir, PINCH_STORE__STATE_DIR)")
    if settings.store.migrate:
        problems.append("a migration (--migrate, PINCH_STORE__MIGRATE)")
    if settings.server.insecure:
        problems.append("an address beyond this machine (--insecure, PINCH_SERVER__INSECURE)")
    if problems:
        stop((f"--testing does not go with {problem}" for problem in problems), EXIT_REFUSED)
    with _directory() as directory:
        yield settings.model_copy(
            update={
                "session_hash_key": _SESSION_KEY,
                # Its clock stands still in the past; nothing may be too old.
                "retention_days": 0,
                "relevance": settings.relevance.model_copy(update={"provider": "embedded", "base_url": ""}),
                "server": settings.server.model_copy(update={"drain_seconds": _DRAIN_SECONDS}),
                "store": settings.store.model_copy(update={"state_dir": directory}),
                "journal": settings.journal.model_copy(update={"max_bytes": _JOURNAL_BYTES}),
            }
        )


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory in memory where the machine has such, else on its disk; gone at the end."""
    where = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="pinch-testing-", dir=where, ignore_cleanup_errors=True) as made:
        yield Path(made)
