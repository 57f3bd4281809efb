"""``python -m bench.unrecorded serve``: the service as it is, but that it keeps no decision at all."""

from __future__ import annotations

from pinch_server.core.decision import Decision
from pinch_server.entry import main
from pinch_server.store.recorder import JournalRecorder


def _forget(self: JournalRecorder, decision: Decision) -> bool:
    del self, decision
    return False


if __name__ == "__main__":
    JournalRecorder.record = _forget  # type: ignore[method-assign]
    main()
