"""When garbage is looked for around the loading of modules and the end of a process."""

import gc
from contextlib import suppress

import pytest

from pinch_server.loading import ending, loaded, loading


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_loading_leaves_the_collector_as_it_was(was_enabled: bool, fails: bool) -> None:
    """Within the block nothing is collected; after it, however it ends, that is as it was before."""
    before = gc.isenabled()
    try:
        gc.enable() if was_enabled else gc.disable()
        with suppress(ImportError), loading():
            assert not gc.isenabled()
            if fails:
                raise ImportError
        assert gc.isenabled() is was_enabled
    finally:
        gc.enable() if before else gc.disable()


def test_nothing_is_looked_through_at_the_end() -> None:
    """After the block the collector passes over all that was there, also when the block ended in an exit."""
    before = gc.get_freeze_count()
    try:
        with suppress(SystemExit), ending():
            assert gc.get_freeze_count() == before
            raise SystemExit
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_what_is_loaded_is_not_looked_through_again() -> None:
    """What was there is passed over from then on, and what comes afterwards is not."""
    before: list[object] = []
    try:
        loaded()
        after: list[object] = []
        tracked = gc.get_objects()
        assert not any(one is before for one in tracked)
        assert any(one is after for one in tracked)
    finally:
        gc.unfreeze()
