"""Log lines: one JSON object a line on standard error, or readable text for a terminal; never content.

`log_call` takes named facts only, so a conversation has no way into a line about a call. What other packages
log through `logging` comes out in the same form, and an exception is told by its type and its frames: its
message may quote what it choked on.
"""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, BinaryIO, Final, Literal

import msgspec
import structlog

from pinch_server.faults import told

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


def configure(level: Level, format: Format, stream: BinaryIO | None = None) -> None:
    """Sets the form of every line this process logs; call it before anything logs.

    Args:
        level: The least severe level that is written.
        format: `json` for machines, `console` for people.
        stream: Where the lines go; standard error when None.
    """
    out = sys.stderr.buffer if stream is None else stream
    render = _json_line if format == "json" else _ConsoleLine(colours=out.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _exception_without_message,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [known for known in root.handlers if isinstance(known, _IntoStructlog)]:
        root.removeHandler(handler)
    root.addHandler(_IntoStructlog())
    # Below a warning, other packages speak of their own business.
    root.setLevel(max(_LEVELS[level], logging.WARNING))


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
    persisted: bool | None = None,
    labels: Mapping[str, str] | None = None,
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
        persisted: Whether the decision was recorded.
        labels: The caller's own words: the first 16 by name, names and values each cut at 128 characters and
            without control characters.
    """
    facts: dict[str, object] = {"method": method, "code": code, "milliseconds": round(seconds * 1000, 3)}
    optional = {
        "decision_id": decision_id,
        "request_id": request_id[:_CALLER_TEXT_CHARS] if request_id else None,
        "route": route,
        "result": result,
        "original_tokens": original_tokens,
        "final_tokens": final_tokens,
        "persisted": persisted,
        "labels": _bounded(labels) if labels else None,
    }
    facts.update((name, value) for name, value in optional.items() if value is not None)
    structlog.get_logger().info("call", **facts)


def _bounded(labels: Mapping[str, str]) -> dict[str, str]:
    return {_folded(name): _folded(labels[name]) for name in sorted(labels)[:_MOST_LABELS]}


def _folded(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text[:_CALLER_TEXT_CHARS])


class _IntoStructlog(logging.Handler):
    """Sends what other packages log through the same processors."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record; with an exception only its template, since the arguments may quote content."""
        event = str(record.msg) if record.exc_info else record.getMessage()
        structlog.get_logger().log(
            record.levelno,
            event,
            logger=record.name,
            **({"exc_info": record.exc_info} if record.exc_info else {}),
        )


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
