"""The log lines: one a call, machine-readable, and never a word of content."""

import errno
import io
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict

import pytest
import structlog
from typing_extensions import Buffer

from pinch_server.core.extraction.record import CallRecord, FilterRecord, Repair
from pinch_server.core.pricing import CacheState
from pinch_server.observe import logs
from pinch_server.observe.line_queue import LineQueue

WAIT = 20.0
CONTENT = "the planted words of a conversation"


class Written(io.BytesIO):
    """A stream that is read once all lines are in it."""

    def getvalue(self) -> bytes:
        assert logs.flush(WAIT)
        return super().getvalue()


@pytest.fixture
def stream() -> Iterator[io.BytesIO]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield Written()
    structlog.reset_defaults()
    root.setLevel(level)
    root.handlers[:] = handlers


def lines(stream: io.BytesIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail() -> None:
    """Raises an error whose message and whose cause's message quote content."""
    try:
        dict[str, int]()[CONTENT]
    except KeyError as error:
        raise ValueError(CONTENT) from error


def test_a_call_leaves_one_line(stream: io.BytesIO) -> None:
    """A finished call is one JSON object with the decision id and only the facts that were given."""
    logs.configure("info", "json", stream)
    logs.log_call(
        method="/pinch.v1.PruneService/Prune",
        code="OK",
        seconds=0.0125,
        decision_id="0190",
        result="pruned",
        original_tokens=9,
        final_tokens=4,
        persisted=False,
    )
    (line,) = lines(stream)
    assert str(line.pop("time")).endswith("Z")
    assert line == {
        "event": "call",
        "level": "info",
        "method": "/pinch.v1.PruneService/Prune",
        "code": "OK",
        "milliseconds": 12.5,
        "decision_id": "0190",
        "result": "pruned",
        "original_tokens": 9,
        "final_tokens": 4,
        "persisted": False,
    }


def test_a_filter_leaves_one_line(stream: io.BytesIO) -> None:
    """A filter is one JSON object: what came of it, why it was written, and each call's bill."""
    logs.configure("info", "json", stream)
    call = CallRecord("code", "filter", "answered", 6_000, 180, 3_000, 0, 0.0042, 1_830.0)
    logs.log_filter(
        FilterRecord(
            result="accepted",
            model="small",
            strategy="code",
            aggressiveness="high",
            cache_state=CacheState.COLD,
            content_class="ls_listing",
            gate_reason="cold cache",
            tokens=5_000,
            after_tokens=900,
            repair=Repair.NONE,
            calls=(call, call),
        )
    )
    (line,) = lines(stream)
    assert (line["event"], line["result"], line["cost_usd"]) == ("filter", "accepted", 0.0084)
    assert (line["cache_state"], line["gate_reason"], line["repair"]) == ("cold", "cold cache", "none")
    assert (line["tokens"], line["after_tokens"]) == (5_000, 900)
    assert line["calls"] == 2 * [asdict(call)]


def test_every_line_of_a_worker_tells_which_it_is(stream: io.BytesIO) -> None:
    """A worker's lines about calls, changes and anything else carry its number; those of one process none."""
    for worker in (1, None):
        logs.configure("info", "json", stream, worker=worker)
        logs.log_call(method="/m", code="OK", seconds=0.1)
        logs.log_change(
            request_id="r", peer="p", token=None, roles=(), changes={"enabled": (True, False)}, persist=False
        )
        logging.getLogger("other").warning("word")
        logs.flush(5)
    assert [line.get("worker") for line in lines(stream)] == [1, 1, 1, None, None, None]


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_callers_id_cannot_break_a_line(stream: io.BytesIO, form: logs.Format) -> None:
    """Line breaks, control sequences, surrogates and length in a request id stay inside one short line."""
    logs.configure("info", form, stream)
    logs.log_call(method="m", code="OK", seconds=0, request_id="\n\x1b[2J\ud800" + "x" * 10_000)
    written = stream.getvalue()
    assert written.count(b"\n") == 1
    assert b"\x1b[2J" not in written
    assert len(written) < 600


def test_labels_are_bounded(stream: io.BytesIO) -> None:
    """Of a caller's labels 16 are written, names and values cut at 128 and without control characters."""
    logs.configure("info", "json", stream)
    labels = {f"name-{number:03}": "v" for number in range(50)}
    labels |= {"a\x1b[2J\nb": "\r\n\u2028c\ud800d", "b" * 500: "\x00" + "x" * 500}
    logs.log_call(method="m", code="OK", seconds=0, labels=labels)
    (line,) = lines(stream)
    written = line["labels"]
    assert isinstance(written, dict)
    assert len(written) == 16
    assert written["a [2J b"] == " c d"
    assert written["b" * 128] == " " + "x" * 127
    assert "name-013" in written
    assert "name-014" not in written


def test_a_call_without_labels_has_none(stream: io.BytesIO) -> None:
    """A call whose caller gave no labels leaves a line without that fact."""
    logs.configure("info", "json", stream)
    logs.log_call(method="m", code="OK", seconds=0, labels={})
    assert "labels" not in lines(stream)[0]


@pytest.mark.parametrize("form", ["json", "console"])
def test_an_exception_is_told_without_its_message(stream: io.BytesIO, form: logs.Format) -> None:
    """An exception shows its types and frames, and neither its message nor its local variables."""
    logs.configure("info", form, stream)
    try:
        fail()
    except ValueError as error:
        logging.getLogger("elsewhere").log(logging.ERROR, "failed on %s", error, exc_info=error)
        structlog.get_logger().exception("failed")
    written = stream.getvalue().decode()
    assert CONTENT not in written
    assert written.count("builtins.ValueError") == written.count("builtins.KeyError") == 2
    assert "in fail" in written


def test_other_packages_speak_the_same_form(stream: io.BytesIO) -> None:
    """A warning logged through `logging` comes out as a JSON line; its everyday chatter does not."""
    logs.configure("debug", "json", stream)
    logging.getLogger("alembic").info("chatter")
    logging.getLogger("alembic").warning("took %d s", 3)
    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == ("took 3 s", "warning", "alembic")


def test_the_level_is_the_least_written(stream: io.BytesIO) -> None:
    """At level error, a call leaves no line and a warning of another package none either."""
    logs.configure("error", "json", stream)
    logs.log_call(method="m", code="OK", seconds=0)
    logging.getLogger("alembic").warning("hidden")
    assert stream.getvalue() == b""


def test_configuring_again_replaces_the_form(stream: io.BytesIO) -> None:
    """A second `configure` writes each line once, in the new form."""
    logs.configure("info", "json", stream)
    logs.configure("info", "console", stream)
    logging.getLogger("x").warning("once")
    assert stream.getvalue().count(b"once") == 1
    assert b"{" not in stream.getvalue()


def test_nothing_is_written_to_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes], stream: io.BytesIO
) -> None:
    """Without a stream, lines go to standard error: standard output belongs to the pruned body."""
    del stream
    logs.configure("info", "json")
    logs.log_call(method="m", code="OK", seconds=0)
    assert logs.flush(WAIT)
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err.count(b"\n") == 1


class Refusing(io.BytesIO):
    """A stream on a disk that is full after a number of bytes."""

    room = 0

    def write(self, data: Buffer, /) -> int:
        piece = bytes(data)[: self.room]
        if not piece:
            raise OSError(errno.ENOSPC, "no space")
        self.room -= len(piece)
        return super().write(piece)


def test_a_stream_that_takes_nothing_costs_lines_and_nothing_else(stream: io.BytesIO) -> None:
    """On a full disk nobody who logs gets an error; each lost line is counted; later ones are whole again."""
    del stream
    full, lost = Refusing(), []
    logs.configure("info", "json", full)
    logs.count_dropped(lambda: lost.append(1))
    full.room = 9
    logs.log_call(method="cut in two", code="OK", seconds=0)
    logging.getLogger("grpc").error("failed")
    assert logs.flush(WAIT)
    assert len(lost) == 2
    full.room = 10_000
    logs.log_call(method="m", code="OK", seconds=0)
    assert logs.flush(WAIT)
    torn, whole = full.getvalue().splitlines()
    assert len(torn) == 9
    assert json.loads(whole)["method"] == "m"


def test_a_record_that_cannot_be_made_a_line_is_lost(stream: io.BytesIO) -> None:
    """A record whose arguments do not fit its text raises nothing where it is logged, and is counted."""
    lost: list[int] = []
    logs.configure("info", "json", stream)
    logs.count_dropped(lambda: lost.append(1))
    record = logging.makeLogRecord({"msg": "%d", "args": ("no number",), "levelno": logging.ERROR})
    logging.getLogger().handlers[-1].handle(record)
    assert stream.getvalue() == b""
    assert lost == [1]


def test_a_stuck_stream_holds_nobody_up() -> None:
    """While the reader of a pipe takes nothing, lines wait up to a bound, then are dropped and counted."""
    reader, writer = os.pipe()
    lost: list[int] = []
    with os.fdopen(reader, "rb") as end, os.fdopen(writer, "wb", buffering=0) as pipe:
        queue = LineQueue(pipe, most_bytes=1_000_000)
        queue.count_dropped(lambda: lost.append(1))
        for _ in range(300):
            queue.put(b"x" * 9_999 + b"\n")
        assert not queue.flush(0)
        assert len(lost) >= 190
        kept = 300 - len(lost)
        assert end.read(kept * 10_000).count(b"\n") == kept
        assert queue.flush(WAIT)
        queue.close()


def test_without_standard_error_lines_are_dropped(
    monkeypatch: pytest.MonkeyPatch, stream: io.BytesIO
) -> None:
    """A process that was started with standard error closed logs into nothing."""
    del stream
    lost: list[int] = []
    monkeypatch.setattr("sys.stderr", None)
    logs.configure("info", "console")
    logs.count_dropped(lambda: lost.append(1))
    logs.log_call(method="m", code="OK", seconds=0)
    assert logs.flush(WAIT)
    assert lost == [1]
