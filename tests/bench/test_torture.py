"""The torture in its short form: a real service is killed under load, and its disk takes nothing."""

from pathlib import Path

import pytest

from bench.databases import NoDatabaseError
from bench.torture.__main__ import disks
from bench.torture.disks import NoMountError
from bench.torture.kills import PHASES, survive
from bench.torture.outages import outage


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_acknowledged_decision_is_lost_or_doubled(kind: str, tmp_path: Path) -> None:
    """Killed with the database up, going, gone and coming back: each acknowledged id is stored once."""
    state = tmp_path / "state"
    state.mkdir()
    try:
        with outage(kind, tmp_path) as database:
            found = survive(kind, database, state, len(PHASES), calls=60)
    except NoDatabaseError as error:
        pytest.skip(str(error))
    assert found.acknowledged >= 60 * len(PHASES)
    assert (found.missing, found.doubled, found.left, found.unpersisted) == (0, 0, 0, 0)
    assert found.torn > 0


def test_a_disk_that_takes_nothing_harms_no_reply() -> None:
    """On a full and on a read-only disk replies are whole, say `persisted=false`, and are counted."""
    try:
        full, read_only = disks()
    except NoMountError as error:
        pytest.skip(str(error))
    for found in (full, read_only):
        assert found.unpersisted == found.counted == 100
        assert found.differing == 0
    assert full.persisted > 0
    assert full.recovers
    assert read_only.persisted == 0
