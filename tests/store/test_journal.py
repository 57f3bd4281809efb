"""The journal: acknowledged means kept, bounded means bounded, and the dead are inherited from."""

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from pinch_server.store.journal import Journal
from pinch_server.store.lines import encode_record
from pinch_server.store.segment import Segment
from tests.store.samples import a_decision, an_id, an_outcome

_MIB = 1024 * 1024


def _journal(
    directory: Path, *, max_bytes: int = _MIB, segment_bytes: int = _MIB, fsync: bool = False
) -> Journal:
    return Journal(
        directory, max_bytes=max_bytes, segment_bytes=segment_bytes, fsync=fsync, monotonic=count().__next__
    )


def _drain(journal: Journal, limit: int = 100) -> list[str]:
    """Confirm everything, and return the ids in their order."""
    ids: list[str] = []
    while batch := journal.next_batch(limit):
        ids += [record.decision_id for record in batch.decisions]
        ids += [outcome.decision_id for outcome in batch.outcomes]
        journal.confirm(batch)
    return ids


def _files(directory: Path, suffix: str = ".journal") -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.name.endswith(suffix))


@contextmanager
def _disk_full_at(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk would not: the last write is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    """What was appended comes back once, in batches no larger than asked for, until it is confirmed."""
    journal = _journal(tmp_path)
    assert all(journal.append(a_decision(number)) for number in range(5))
    assert journal.append(an_outcome(0))
    assert journal.pending == 6
    first = journal.next_batch(4)
    assert first is not None
    assert first == journal.next_batch(4)
    assert first.decisions == tuple(a_decision(number) for number in range(4))
    journal.confirm(first)
    assert journal.pending == 2
    assert _drain(journal) == [an_id(4), an_id(0)]
    assert journal.pending == 0
    assert journal.next_batch(4) is None
    journal.close()


def test_nothing_is_left_after_all_was_confirmed(tmp_path: Path) -> None:
    """A journal that is closed when drained leaves no file behind."""
    journal = _journal(tmp_path)
    journal.append(a_decision())
    _drain(journal)
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_journal_takes_nothing(tmp_path: Path) -> None:
    """After closing, an append is refused instead of acknowledged."""
    journal = _journal(tmp_path)
    journal.close()
    assert not journal.append(a_decision())


@pytest.mark.parametrize("fsync", [False, True])
def test_threads_do_not_tear_each_others_lines(tmp_path: Path, fsync: bool) -> None:
    """What many threads append at once is all there, whole, across several files."""
    journal = _journal(tmp_path, segment_bytes=16 * 1024, fsync=fsync)
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda number: journal.append(a_decision(number)), range(400)))
    assert len(_files(tmp_path)) > 5
    assert sorted(_drain(journal)) == [an_id(number) for number in range(400)]
    assert len(_files(tmp_path)) == 1
    journal.close()


@pytest.mark.parametrize("left", [0, 100, 400])
@pytest.mark.parametrize("more", [0, 3])
def test_a_journal_that_was_cut_while_in_use_costs_what_was_cut_alone(
    tmp_path: Path, left: int, more: int
) -> None:
    """Nothing is written behind a cut, what comes later is all there, and nobody waits for what is gone."""
    journal = _journal(tmp_path)
    for number in range(3):
        assert journal.append(a_decision(number))
    (path,) = tmp_path.glob("*.journal")
    os.truncate(path, left)
    for number in range(10, 10 + more):
        assert journal.append(a_decision(number))
    found = []
    while (batch := journal.next_batch(100)) is not None:
        found += batch.decisions
        journal.confirm(batch)
    assert [one for one in found if one.decision_id >= an_id(10)] == [
        a_decision(number) for number in range(10, 10 + more)
    ]
    assert journal.pending == 0
    journal.close()
    assert [one.suffix for one in tmp_path.iterdir()] == [".damaged"]


@pytest.mark.parametrize("harm", [b"", b"what is this?", b"two\nlines\n", None])
def test_what_is_appended_before_the_next_look_is_all_there(tmp_path: Path, harm: bytes | None) -> None:
    """Lines that follow a deletion, or what somebody else appended, are read, noticed yet or not."""
    seconds = [0.0]
    journal = Journal(tmp_path, max_bytes=_MIB, monotonic=lambda: seconds[0])
    assert journal.append(a_decision(100))
    assert journal.append(a_decision(101))
    (path,) = _files(tmp_path)
    if harm is None:
        path.unlink()
    else:
        with path.open("ab") as file:
            file.write(harm)
    assert journal.append(a_decision(102))
    assert _files(tmp_path) == ([path] if harm is not None else [])
    seconds[0] += 1
    assert journal.append(a_decision(103))
    assert len(_files(tmp_path)) == (2 if harm else 1)
    assert _drain(journal) == [an_id(number) for number in range(100, 104)]
    assert journal.pending == 0
    journal.close()
    assert [one.suffix for one in tmp_path.iterdir()] == ([".damaged"] if harm else [])


@pytest.mark.parametrize("harm", [b"half a line", b"two\nlines\n", b"x" * 700 + b"\n"])
def test_whoever_appends_meanwhile_costs_no_record(tmp_path: Path, harm: bytes) -> None:
    """While threads append and one drains, somebody else appends to every file: each record is read once."""
    journal = Journal(tmp_path, max_bytes=_MIB, segment_bytes=16 * 1024, monotonic=lambda: 0.0)
    found: list[str] = []

    def append(first: int) -> list[str]:
        numbers = range(first, first + 250)
        return [an_id(number) for number in numbers if journal.append(a_decision(number))]

    with ThreadPoolExecutor(3) as pool:
        appending = [pool.submit(append, 1_000 * thread) for thread in range(3)]
        for turn in count():
            if all(one.done() for one in appending):
                break
            for path in _files(tmp_path):
                with suppress(FileNotFoundError):
                    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
                    os.write(descriptor, harm)
                    os.close(descriptor)
            if turn % 4 == 0:
                found += _drain(journal)
                assert journal.pending >= 0
    found += _drain(journal)
    assert sorted(found) == sorted(one for thread in appending for one in thread.result())
    assert journal.pending == 0
    journal.close()


def test_a_line_that_is_taken_back_takes_no_other_with_it(tmp_path: Path) -> None:
    """Where the disk is full behind what somebody else appended, the lines that follow it are not cut."""
    journal = Journal(tmp_path, max_bytes=_MIB, monotonic=lambda: 0.0)
    assert journal.append(a_decision(100))
    assert journal.append(a_decision(101))
    (path,) = _files(tmp_path)
    with path.open("ab") as file:
        file.write(b"x" * 300 + b"\n")
    assert journal.append(a_decision(102))
    with _disk_full_at(path.stat().st_size + 10):
        assert not journal.append(a_decision(103))
    assert journal.append(a_decision(104))
    assert _drain(journal) == [an_id(number) for number in (100, 101, 102, 104)]
    assert journal.pending == 0
    journal.close()


def test_a_full_journal_refuses_and_recovers(tmp_path: Path) -> None:
    """At the bound appends are refused, nothing acknowledged is lost, and draining makes room again."""
    bound = 20 * len(encode_record(a_decision()))
    journal = _journal(tmp_path, max_bytes=bound)
    taken = [number for number in range(100, 140) if journal.append(a_decision(number))]
    assert 10 < len(taken) < 20
    assert sum(path.stat().st_size for path in _files(tmp_path)) <= bound
    assert _drain(journal) == [an_id(number) for number in taken]
    assert journal.append(a_decision(150))
    journal.close()


@pytest.mark.parametrize("refuses", [False, True])
def test_a_line_that_a_stop_overtakes_is_synced_or_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    """With `fsync`, a call between its write and its sync when the journal closes is told what is true."""
    synced: list[int] = []

    def fdatasync(descriptor: int) -> None:
        if refuses:
            raise OSError("the disk is gone")
        synced.append(descriptor)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    journal, overtaken = _journal(tmp_path, fsync=True), []
    sync = Segment.sync

    def overtake(segment: Segment, end: int) -> None:
        if not overtaken:
            overtaken.append(end)
            journal.close()
        sync(segment, end)

    monkeypatch.setattr(Segment, "sync", overtake)
    assert journal.append(a_decision(100)) is not refuses
    assert len(synced) == (0 if refuses else 1)


def test_a_dead_workers_journal_is_adopted_from_its_checkpoint(tmp_path: Path) -> None:
    """What a worker left behind is taken over once, without what it had confirmed."""
    dead = _journal(tmp_path)
    for number in range(10):
        dead.append(a_decision(number))
    batch = dead.next_batch(4)
    assert batch is not None
    dead.confirm(batch)
    heir, other = _journal(tmp_path), _journal(tmp_path)
    assert heir.adopt() == 0
    dead.close()
    assert (heir.adopt(), other.adopt(), heir.adopt()) == (6, 0, 0)
    assert heir.append(a_decision(99))
    assert heir.pending == 7
    assert _drain(heir) == [an_id(number) for number in (*range(4, 10), 99)]
    heir.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("checkpoint", [b"", b"garbage", b"0" * 30, None])
def test_a_lost_checkpoint_offers_everything_again(tmp_path: Path, checkpoint: bytes | None) -> None:
    """Without a sound checkpoint the whole file is read again, since the database ignores what it has."""
    dead = _journal(tmp_path)
    for number in range(4):
        dead.append(a_decision(number))
    batch = dead.next_batch(3)
    assert batch is not None
    dead.confirm(batch)
    dead.close()
    (path,) = _files(tmp_path, ".checkpoint")
    if checkpoint is None:
        path.unlink()
    else:
        path.write_bytes(checkpoint)
    heir = _journal(tmp_path)
    assert heir.adopt() == 4
    assert _drain(heir) == [an_id(number) for number in range(4)]
    heir.close()


def test_adopted_files_count_towards_the_bound(tmp_path: Path) -> None:
    """A worker that inherits a full journal takes nothing more until that is drained."""
    bound = 20 * len(encode_record(a_decision()))
    dead = _journal(tmp_path, max_bytes=bound)
    while dead.append(a_decision()):
        pass
    dead.close()
    heir = _journal(tmp_path, max_bytes=bound)
    heir.adopt()
    assert not heir.append(a_decision())
    _drain(heir)
    assert heir.append(a_decision())
    heir.close()


def test_a_torn_tail_is_dropped(tmp_path: Path) -> None:
    """A last line that was never whole does not keep its file from being drained and deleted."""
    dead = _journal(tmp_path)
    dead.append(a_decision(1))
    dead.close()
    (path,) = _files(tmp_path)
    with path.open("ab") as file:
        file.write(encode_record(a_decision(2))[:-1])
    heir = _journal(tmp_path)
    assert heir.adopt() == 1
    assert _drain(heir) == [an_id(1)]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """The sound lines of a damaged file are drained, and the file is kept under another name."""
    dead = _journal(tmp_path)
    for number in range(3):
        dead.append(a_decision(number))
    dead.close()
    (path,) = _files(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"request-1", b"request-7"))
    heir = _journal(tmp_path)
    heir.adopt()
    assert _drain(heir) == [an_id(0), an_id(2)]
    assert [path.name + ".damaged"] == [left.name for left in tmp_path.iterdir()]
    assert heir.pending == 0


@pytest.mark.parametrize(
    ("content", "left"),
    [
        (b"", None),
        (b"pinch-jour", None),
        (b"pinch-journal 1", None),
        (b"pinch-journal 2\nwhatever\n", "x.journal"),
        (b"pinch-journal 10\n", "x.journal"),
        (b"shopping list\n", "x.journal.damaged"),
    ],
)
def test_a_file_that_is_no_journal_of_this_version(tmp_path: Path, content: bytes, left: str | None) -> None:
    """A header that was torn is deleted, another version's file is left alone, anything else is set aside."""
    (tmp_path / "x.journal").write_bytes(content)
    journal = _journal(tmp_path)
    assert (journal.adopt(), journal.adopt()) == (0, 0)
    assert [path.name for path in tmp_path.iterdir()] == ([left] if left else [])


def test_leftovers_are_tidied_up(tmp_path: Path) -> None:
    """A file that never got its name and a checkpoint without its journal are deleted."""
    (tmp_path / "x.unborn").write_bytes(b"pinch-journal 1\n")
    (tmp_path / "y.checkpoint").write_bytes(b"")
    assert _journal(tmp_path).adopt() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_refuses(tmp_path: Path) -> None:
    """When the directory cannot be made, appends are refused, and work once it can."""
    (tmp_path / "journal").write_text("a file where the directory should be")
    journal = _journal(tmp_path / "journal")
    assert not journal.append(a_decision())
    assert journal.adopt() == 0
    assert journal.next_batch(1) is None
    (tmp_path / "journal").unlink()
    assert journal.append(a_decision())
    journal.close()


def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    """A write that the disk cuts short is taken back; what was acknowledged before and after it is there."""
    line = len(encode_record(a_decision(100)))
    journal = _journal(tmp_path, max_bytes=100 * line, segment_bytes=20 * line)
    with _disk_full_at(10 * line):
        first = [number for number in range(100, 120) if journal.append(a_decision(number))]
    assert len(first) == 9
    assert journal.append(a_decision(130))
    (path,) = _files(tmp_path)
    assert path.read_bytes().count(b"\n") == 11
    assert _drain(journal) == [an_id(number) for number in (*first, 130)]
    journal.close()


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """Neither the directory nor its files can be read by others."""
    journal = _journal(tmp_path / "journal")
    journal.append(a_decision())
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "journal").iterdir())
    journal.close()


def test_a_disk_that_the_journal_filled_does_not_stay_full(tmp_path: Path) -> None:
    """A file that had no room for a line is deleted once it is drained, and another one is begun."""
    journal = _journal(tmp_path)
    kept = 0
    with _disk_full_at(5_000):
        while journal.append(a_decision(kept)):
            kept += 1
    assert _drain(journal) == [an_id(number) for number in range(kept)]
    assert list(tmp_path.iterdir()) == []
    assert journal.append(a_decision())
    journal.close()
