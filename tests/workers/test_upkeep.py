"""A service of several workers keeps its database in order: once, whatever the number of its processes."""

import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from bench.running_server import running_server
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from pinch_server.store.periods import HOUR
from pinch_server.store.tables import prune_decisions, savings_periods
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import CountingObserver, a_decision
from tests.workers.processes import until
from tests.workers.test_service import prune

OLD, DAYS = 100, 3


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty, migrated database."""
    made = (
        f"sqlite:///{tmp_path / 'pinch.sqlite3'}"
        if request.param == "sqlite"
        else str(request.getfixturevalue("postgres_url"))
    )
    migrate.up(made)
    return made


def test_two_workers_forget_what_is_old_and_add_up_the_rest(tmp_path: Path, url: str) -> None:
    """Beside two workers, decisions past `retention_days` go and settled hours are added up, each once."""
    now = int(time.time() * 1e6)
    engine = open_engine(url)
    rows = [a_decision(each, created_at=now - each * HOUR) for each in range(OLD)]
    DecisionWriter(engine, CountingObserver()).write(rows, [], now)
    config = tmp_path / "pinch.toml"
    config.write_text(f"retention_days = {DAYS}\n")
    options = ("--config", str(config), "--database-url", url, "--workers", "2")

    def oldest() -> int:
        with engine.connect() as connection:
            return connection.execute(select(func.min(prune_decisions.c.created_at))).scalar_one()

    def hours() -> list[int]:
        with engine.connect() as connection:
            query = select(savings_periods.c.start).where(savings_periods.c.length == HOUR)
            return list(connection.execute(query).scalars())

    try:
        with running_server(tmp_path, *options) as server:
            ids = [one for own in server.workers for one in prune(own, 3)]
            until(lambda: oldest() >= now - DAYS * 24 * HOUR)
            until(lambda: len(set(hours())) >= DAYS * 24 - 2)
        with engine.connect() as connection:
            kept = set(connection.execute(select(prune_decisions.c.decision_id)).scalars())
        assert set(ids) <= kept
        assert DAYS * 24 <= len(kept) - len(ids) <= DAYS * 24 + 1
    finally:
        engine.dispose()
