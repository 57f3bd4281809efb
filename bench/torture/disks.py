"""A disk that is full, and one that cannot be written to: what replies say then, and are they whole."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from bench.torture.load import a_request
from bench.torture.outages import Outage
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub

_MOST_CALLS = 50_000


class NoMountError(Exception):
    """This process may not mount a file system; the text says why."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """What a service did on a disk that takes nothing.

    Attributes:
        disk: `full` or `read-only`.
        persisted: Calls acknowledged as persisted before it took no more.
        unpersisted: Calls answered as not persisted.
        counted: By how much the metric of dropped records rose.
        differing: Replies that differ from a healthy one in anything but their id and that word.
        recovers: Whether a call is persisted again once there is room; None where none is made.
    """

    disk: str
    persisted: int
    unpersisted: int
    counted: int
    differing: int
    recovers: bool | None

    @property
    def is_clean(self) -> bool:
        """Whether each unkept decision was told and counted, and no reply was harmed."""
        told = self.unpersisted > 0 and self.unpersisted == self.counted
        return told and self.differing == 0 and self.recovers is not False


@contextmanager
def small_disk(directory: Path, kibibytes: int) -> Iterator[None]:
    """Mounts an empty file system of that size on a directory.

    Raises:
        NoMountError: It cannot be mounted.
    """
    if os.geteuid() != 0:
        raise NoMountError("only root may mount a small disk")
    options = ["-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(directory)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)  # noqa: S607 root's own PATH
    if done.returncode != 0:
        raise NoMountError(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)  # noqa: S607 likewise


def on_a_full_disk(database: Outage, state: Path) -> Degraded:
    """Calls a service until the small disk of its journal is full, and then gives it room.

    Args:
        database: A database beyond that disk; it is down meanwhile, so that the journal fills.
        state: A directory on a disk of some hundred KiB.
    """
    database.down()
    log = state.parent / "full.log"
    with (
        running_server(state, "--database-url", database.url, log=log) as server,
        _stub(server) as prune,
    ):
        healthy = _bare(prune.Prune(a_request()))
        persisted, unpersisted, differing = 1, 0, 0
        while unpersisted < 100 and persisted < _MOST_CALLS:
            reply = prune.Prune(a_request())
            persisted, unpersisted = persisted + reply.persisted, unpersisted + (not reply.persisted)
            differing += _bare(reply) != healthy
        counted = _dropped(server)
        database.up()
        recovers = _is_persisted_again(prune)
    return Degraded("full", persisted, unpersisted, counted, differing, recovers)


def on_a_read_only_disk(database: Outage, state: Path) -> Degraded:
    """Calls a service whose state directory cannot be written to.

    Args:
        database: A database beyond that disk.
        state: A mount point; it is mounted anew, read-only, once the service has made what it needs.
    """
    with running_server(state, "--database-url", database.url) as server, _stub(server) as prune:
        healthy = _bare(prune.Prune(a_request()))
    subprocess.run(["mount", "-o", "remount,ro", str(state)], check=True)  # noqa: S607 root's own PATH
    log = state.parent / "read-only.log"
    with (
        running_server(state, "--database-url", database.url, log=log) as server,
        _stub(server) as prune,
    ):
        replies = [prune.Prune(a_request()) for _ in range(100)]
        counted = _dropped(server)
    persisted = sum(reply.persisted for reply in replies)
    differing = sum(_bare(reply) != healthy for reply in replies)
    return Degraded("read-only", persisted, len(replies) - persisted, counted, differing, None)


@contextmanager
def _stub(server: RunningServer) -> Iterator[PruneServiceStub]:
    with grpc.insecure_channel(server.grpc) as channel:
        yield PruneServiceStub(channel)


def _bare(reply: pb.PruneResponse) -> bytes:
    """A reply without what differs from call to call."""
    bare = pb.PruneResponse()
    bare.CopyFrom(reply)
    bare.ClearField("decision_id")
    bare.ClearField("persisted")
    return bare.SerializeToString(deterministic=True)


def _dropped(server: RunningServer) -> int:
    return int(series(scrape(server.http))["pinch_journal_dropped_total"])


def _is_persisted_again(prune: PruneServiceStub) -> bool:
    """Whether a call is kept before long, now that the journal can be emptied."""
    return any(prune.Prune(a_request()).persisted for _ in range(_MOST_CALLS))
