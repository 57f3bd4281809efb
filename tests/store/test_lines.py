"""The journal's format: what was written is read, and nothing else, whatever the bytes."""

import json
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store.lines import (
    encode_checkpoint,
    encode_record,
    parse_checkpoint,
    parse_lines,
)
from tests.store.samples import a_decision, an_outcome

_LINE = encode_record(a_decision())
_NEXT = encode_record(an_outcome())


def _sealed(text: bytes) -> bytes:
    return b"%08x %b\n" % (crc32(text), text)


@given(st.builds(Decision), st.builds(Outcome))
def test_every_record_is_read_as_it_was_written(decision: Decision, outcome: Outcome) -> None:
    """Any decision and any outcome come back equal, one line each."""
    data = encode_record(decision) + encode_record(outcome)
    assert data.count(b"\n") == 2
    parsed = parse_lines(data, 10)
    assert parsed.records == (decision, outcome)
    assert (parsed.lines, parsed.damaged, parsed.size) == (2, 0, len(data))


@pytest.mark.parametrize("kind", [_LINE, _NEXT])
def test_fields_of_another_version_do_no_harm(kind: bytes) -> None:
    """A record is read without the fields that a newer version added, and without those of an older's."""
    text = kind[9:-1]
    newer = _sealed(text[:-1] + b',"of_the_future":{"deep":[1]}}')
    assert parse_lines(newer, 1).records == parse_lines(kind, 1).records
    older = json.loads(text[2:])
    for name in ("tenant_hash", "cache_ttl_seconds", "trimmed_tools"):
        older.pop(name, None)
    assert (
        parse_lines(_sealed(text[:2] + json.dumps(older).encode()), 1).records == parse_lines(kind, 1).records
    )


def test_unpaired_surrogates_become_question_marks() -> None:
    """A text that is no Unicode is written down with question marks instead of being refused."""
    (read,) = parse_lines(encode_record(a_decision(model="a\ud800b")), 1).records
    assert read == a_decision(model="a?b")


def test_a_torn_last_line_is_not_read() -> None:
    """Wherever the last line is torn, the lines before it are read and it is not."""
    for cut in range(len(_NEXT)):
        parsed = parse_lines(_LINE + _NEXT[:cut], 10)
        assert parsed.records == (a_decision(),)
        assert (parsed.lines, parsed.damaged, parsed.size) == (1, 0, len(_LINE))


@given(st.integers(0, len(_LINE) - 2), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    """A line with one byte changed is never read as a record, and the line after it always is."""
    changed = bytearray(_LINE)
    changed[place] ^= change
    parsed = parse_lines(bytes(changed) + _NEXT, 10)
    assert parsed.records == (an_outcome(),)
    assert parsed.damaged == parsed.lines - 1 > 0


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"garbage\n",
        b"00000000 \n",
        b"\x00" * 4096 + b"\n",
        _sealed(b""),
        _sealed(b"X {}"),
        _sealed(b"D {}"),
        _sealed(b"D not json"),
        _sealed(b"D" + _LINE[11:-1]),
        _sealed(b'O {"decision_id":"a","reported_at":1,"outcome":"LOST"}'),
        _sealed(b'O {"decision_id":"a","reported_at":"soon","outcome":"FAILED"}'),
        _sealed(b'O {"decision_id":"\xff","reported_at":1,"outcome":"FAILED"}'),
        _LINE[:8].upper().replace(b"A", b"a") + b"  " + _LINE[9:],
    ],
)
def test_a_line_that_is_wrong_is_skipped(line: bytes) -> None:
    """A whole line that is no record is counted as damaged, and reading goes on behind it."""
    parsed = parse_lines(line + _NEXT, 10)
    assert parsed.records == (an_outcome(),)
    assert (parsed.lines, parsed.damaged) == (2, 1)


@pytest.mark.parametrize("half", [b"what is this?", b"abc", _LINE[:40], b"deadbeef D {", b"\x00" * 4096])
def test_a_record_behind_half_a_line_is_read(half: bytes) -> None:
    """What something else appended without an end is damage, and the record that follows it is none."""
    parsed = parse_lines(half + _LINE + _NEXT, 10)
    assert parsed.records == (a_decision(), an_outcome())
    assert (parsed.lines, parsed.damaged) == (2, 1)


def test_fields_that_are_not_known_are_ignored() -> None:
    """A line of a later version that only adds a field is read."""
    line = _sealed(b'O {"decision_id":"a","reported_at":1,"outcome":"FAILED","mood":"good"}')
    assert parse_lines(line, 1).records == (Outcome("a", 1, "FAILED"),)


@given(st.binary(max_size=300))
def test_garbage_never_raises(data: bytes) -> None:
    """Any bytes can be read; no record comes of them, and no more lines than there are."""
    parsed = parse_lines(data, 1000)
    assert parsed.records == ()
    assert parsed.lines == parsed.damaged == data.count(b"\n")


def test_no_more_lines_than_asked_for() -> None:
    """Reading stops at the limit and says where to go on."""
    parsed = parse_lines(_LINE * 3, 2)
    assert (parsed.lines, parsed.size) == (2, 2 * len(_LINE))


@given(st.integers(0, 10**20 - 1))
def test_a_checkpoint_is_read_as_it_was_written(offset: int) -> None:
    """Any offset comes back."""
    assert parse_checkpoint(encode_checkpoint(offset)) == offset


@given(st.binary(max_size=40))
def test_a_wrong_checkpoint_is_none(data: bytes) -> None:
    """Anything else than a checkpoint is none."""
    assert parse_checkpoint(data) is None
    assert parse_checkpoint(encode_checkpoint(7)[:29]) is None
    assert parse_checkpoint(encode_checkpoint(7).replace(b"7", b"8")) is None
