"""A worker to be killed: records from four threads and prints each acknowledged id, until its end.

Usage: recorder_process.py DATABASE_URL JOURNAL_DIRECTORY ROUND
"""

import os
import sys
import threading
from itertools import count
from pathlib import Path

from pinch_server.store.drain import Pace
from pinch_server.store.engine import open_engine
from pinch_server.store.recorder import JournalRecorder
from tests.store.samples import CountingObserver, a_decision


def _record(recorder: JournalRecorder, numbers: "count[int]") -> None:
    for number in numbers:
        decision = a_decision(number)
        if recorder.record(decision):
            os.write(1, decision.decision_id.encode() + b"\n")


def _main(url: str, directory: str, turn: int) -> None:
    pace = Pace(batch_rows=100, housekeeping_seconds=0.1, last_retry_seconds=0.2)
    recorder = JournalRecorder(
        open_engine(url),
        Path(directory),
        CountingObserver(),
        max_bytes=64 * 1024 * 1024,
        segment_bytes=256 * 1024,
        pace=pace,
    )
    for thread in range(4):
        numbers = count(turn * 10**8 + thread * 10**7)
        threading.Thread(target=_record, args=(recorder, numbers)).start()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
