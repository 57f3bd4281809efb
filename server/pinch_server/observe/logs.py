"""Log lines: one JSON object a line on standard error, or readable text for a terminal; never content.

`log_call` takes named facts only, so a conversation has no way into a line about a call. What other packages
log through `logging` comes out in the same form, and an exception is told by its type and its frames: its
message may quote what it choked on. Logging never waits for the stream and never raises: a line that cannot
be made or written is dropped and counted.
"""

import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final, Literal

import msgspec
import structlog

from pinch_server.core.extraction.record import FilterRecord
from pinch_server.faults import told
from pinch_server.observe.line_queue import LineQueue

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["json", "console"]

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_CALLER_TEXT_CHARS: Final = 128
_MOST_LABELS: Final = 16
# Controls, line separators, and halves of surrogate pairs, which no encoding has.
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def configure(
    level: Level, format: Format, stream: BinaryIO | None = None, *, worker: int | None = None
) -> LineQueue:
    """Sets the form of every line this process logs; call it before anything logs.

    Args:
        level: The least severe level that is written.
        format: `json` for machines, `console` for people.
        stream: Where the lines go; standard error when None.
        worker: Which of the service's workers this process is, told in every line; None where it is none.

    Returns:
        The queue that the lines go through; flush it before the process ends.
    """
    # A process that was started with standard error closed has none.
    error_stream = sys.stderr.buffer if sys.stderr is not None else None
    out = error_stream if stream is None else stream
    render = _json_line if format == "json" else _ConsoleLine(colours=out is not None and out.isatty())
    # Unbuffered: what a buffer could not write would make the end of the process fail or hang.
    queue = LineQueue(getattr(out, "raw", out))
    _replace_queue(queue)
    _STATE.direct = queue if format == "json" else None
    _STATE.worker = worker
    _STATE.takes_calls = _LEVELS[level] <= logging.INFO
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            *([] if worker is None else [_told_by(worker)]),
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _exception_without_message,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: _QueueLogger(queue),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [known for known in root.handlers if isinstance(known, _IntoStructlog)]:
        root.removeHandler(handler)
    root.addHandler(_IntoStructlog(queue))
    # Below a warning, other packages speak of their own business.
    root.setLevel(max(_LEVELS[level], logging.WARNING))
    return queue


def count_dropped(by: Callable[[], None]) -> None:
    """Sets what is called for each line that is lost, now and after the next `configure`."""
    _STATE.by = by
    if _STATE.queue is not None:
        _STATE.queue.count_dropped(by)


def flush(seconds: float) -> bool:
    """Waits until what was logged is written; False when the time (seconds) is over first."""
    return _STATE.queue is None or _STATE.queue.flush(seconds)


class _State:
    """What this process logs through, and who counts what is lost."""

    queue: LineQueue | None = None
    direct: LineQueue | None = None
    """Where lines about calls go without a logger: the same queue, when the form is JSON."""
    worker: int | None = None
    """Which of the service's workers this process is."""
    takes_calls: bool = True
    """Whether a line about a call is severe enough to be written."""
    by: Callable[[], None] | None = None


_STATE: Final = _State()


def _replace_queue(queue: LineQueue) -> None:
    before, _STATE.queue = _STATE.queue, queue
    if before is not None:
        before.close()
    if _STATE.by is not None:
        queue.count_dropped(_STATE.by)


def log_call(
    *,
    method: str,
    code: str,
    seconds: float,
    decision_id: str | None = None,
    request_id: str | None = None,
    route: str | None = None,
    result: str | None = None,
    original_tokens: int | None = None,
    final_tokens: int | None = None,
    budget_tokens: int | None = None,
    budget_met: bool | None = None,
    format: str | None = None,
    persisted: bool | None = None,
    labels: Mapping[str, str] | None = None,
    trace_id: str | None = None,
) -> None:
    """Writes the one line a finished call leaves.

    Args:
        method: Full name of the method, `/pinch.v1.PruneService/Prune`.
        code: Name of the status code.
        seconds: Time the call took.
        decision_id: The decision's id, when one was taken.
        request_id: The caller's own id; cut at 128 characters.
        route: What the router meant to do with the conversation.
        result: How the decision came out.
        original_tokens: Estimate before pruning (tokens).
        final_tokens: Estimate of what ships (tokens).
        budget_tokens: What may ship (tokens).
        budget_met: Whether what ships is within it.
        format: The dialect the body was read in.
        persisted: Whether the decision was recorded.
        labels: The caller's own words: the first 16 by name, names and values each cut at 128 characters and
            without control characters.
        trace_id: The trace that the call's span belongs to.
    """
    if not _STATE.takes_calls:
        return
    facts: dict[str, object] = {"method": method, "code": code, "milliseconds": round(seconds * 1000, 3)}
    optional = {
        "decision_id": decision_id,
        "request_id": request_id[:_CALLER_TEXT_CHARS] if request_id else None,
        "route": route,
        "result": result,
        "original_tokens": original_tokens,
        "final_tokens": final_tokens,
        "budget_tokens": budget_tokens,
        "budget_met": budget_met,
        "format": format,
        "persisted": persisted,
        "labels": _bounded(labels) if labels else None,
        "trace_id": trace_id,
    }
    facts.update((name, value) for name, value in optional.items() if value is not None)
    queue = _STATE.direct
    if queue is None:
        structlog.get_logger().info("call", **facts)
        return
    # What the processors would make of it, in their order; a call is not worth building a logger for.
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    told_by = {} if _STATE.worker is None else {"worker": _STATE.worker}
    event = {**facts, "event": "call", "level": "info", **told_by, "time": now}
    queue.put(_json_line(None, "info", event) + b"\n")


def log_change(
    *,
    request_id: str | None,
    peer: str,
    token: str | None,
    roles: Sequence[str],
    changes: Mapping[str, tuple[bool, bool]],
    persist: bool,
) -> None:
    """Writes down that runtime knobs were turned.

    Args:
        request_id: The call that did it.
        peer: Where the call came from.
        token: The name of the caller's token, never the token; None where none was needed.
        roles: What that token is for.
        changes: Each knob that was asked for, with its old and its new value.
        persist: Whether the change was to outlive the service.
    """
    structlog.get_logger().warning(
        "settings changed",
        request_id=request_id,
        peer=peer,
        token=token,
        roles=list(roles),
        changes={key: {"old": old, "new": new} for key, (old, new) in changes.items()},
        persist=persist,
    )


def log_filter(record: FilterRecord) -> None:
    """Writes the one line that a filter of extraction leaves, its calls to the model in it."""
    structlog.get_logger().info("filter", **asdict(record), cost_usd=record.cost_usd)


def _bounded(labels: Mapping[str, str]) -> dict[str, str]:
    return {_folded(name): _folded(labels[name]) for name in sorted(labels)[:_MOST_LABELS]}


def _folded(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text[:_CALLER_TEXT_CHARS])


class _QueueLogger:
    """What structlog hands finished lines to."""

    def __init__(self, queue: LineQueue) -> None:
        self._queue = queue

    def msg(self, line: bytes) -> None:
        """Puts a line into the queue."""
        self._queue.put(line + b"\n")

    log = debug = info = warning = error = critical = exception = msg


class _IntoStructlog(logging.Handler):
    """Sends what other packages log through the same processors."""

    def __init__(self, queue: LineQueue) -> None:
        super().__init__()
        self._queue = queue

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record; with an exception only its template, since the arguments may quote content.

        Nothing is raised, whatever the record is like: libraries log in the middle of answering a call.
        """
        try:
            event = str(record.msg) if record.exc_info else record.getMessage()
            structlog.get_logger().log(
                record.levelno,
                event,
                logger=record.name,
                **({"exc_info": record.exc_info} if record.exc_info else {}),
            )
        except Exception:  # noqa: BLE001 the call that logs is worth more than its line
            self._queue.drop()


class _ConsoleLine:
    """structlog's console form as bytes, which is what the loggers take."""

    def __init__(self, *, colours: bool) -> None:
        self._render = structlog.dev.ConsoleRenderer(colors=colours)

    def __call__(self, logger: object, name: str, event: MutableMapping[str, Any]) -> bytes:
        return self._render(logger, name, event).encode("utf-8", "backslashreplace")


def _json_line(_logger: object, _name: str, event: MutableMapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(event, enc_hook=str)
    except UnicodeEncodeError:
        # A lone surrogate in a caller's id must not cost the line.
        return msgspec.json.encode({key: _encodable(value) for key, value in event.items()}, enc_hook=str)


def _told_by(worker: int) -> Callable[[object, str, MutableMapping[str, Any]], MutableMapping[str, Any]]:
    def tell(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["worker"] = worker
        return event

    return tell


def _encodable(value: object) -> object:
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _exception_without_message(
    _logger: object, _name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    found = event.pop("exc_info", None)
    error = found[1] if isinstance(found, tuple) else sys.exc_info()[1] if found is True else found
    if isinstance(error, BaseException):
        event["exception"] = told(error)
    return event
