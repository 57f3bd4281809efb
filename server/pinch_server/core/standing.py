"""Where the replay of a call ended, as it stood there: the next call of the session goes on from it.

Unlike a checkpoint it holds the conversation itself, so it lives only as long as somebody keeps that.
"""

from array import array
from dataclasses import dataclass

from pinch_server.core.checkpoint import Checkpoint
from pinch_server.core.draft_result import DraftResult
from pinch_server.core.heard import Heard
from pinch_server.core.ledger import Ledger
from pinch_server.core.plan import Edit
from pinch_server.core.pool import Pool
from pinch_server.core.window import WindowWalk


@dataclass(frozen=True, slots=True)
class Standing:
    """One such place. Nothing in it is ever changed: whoever goes on from it copies what it changes.

    Attributes:
        rules: Everything that the replay depended on beside the messages, in one text.
        end: The newest call point, as the number of messages that stood before it.
        total: What shipped of those messages, fixed tokens included (tokens).
        units: What each message counted, of those before `end` (units).
        images: What each message's images cost, of those before `end` (tokens).
        results: The results, those before `end` as far as they had been trimmed.
        outsized: The indices of the results above the cap.
        walk: The window.
        pool: What could still be removed.
        ledger: What the calls so far cost.
        heard: What was read of the texts up to the newest event; None before the first.
        edits: What had been changed, none of it as new.
        key: The key of the checkpoint.
        checkpoint: The newest one of the session: at `end`, or before it where nothing was trimmed since.
    """

    rules: str
    end: int
    total: int
    units: "array[int]"
    images: "array[int]"
    results: list[DraftResult]
    outsized: list[int]
    walk: WindowWalk
    pool: Pool
    ledger: Ledger
    heard: Heard | None
    edits: tuple[Edit, ...]
    key: bytes
    checkpoint: Checkpoint
