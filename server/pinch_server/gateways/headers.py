"""What a gateway's request asks of Pinch in its headers, `x-pinch-*`; none of them reaches a provider."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pinch_server.core.limits import Stability, TrimStyle, Violation
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import CallContext
from pinch_server.formats.format import Format

PREFIX: Final = "x-pinch-"
"""What the names of all of them begin with."""
DECISION_ID: Final = "x-pinch-decision-id"
"""In an answer: the decision's id."""
TOKENS_SAVED: Final = "x-pinch-tokens-saved"
"""In an answer: what the decision saved (tokens)."""
UNCHANGED: Final = "x-pinch-unchanged-reason"
"""In an answer: why nothing changed, as a slug."""
_REQUEST_ID: Final = "x-request-id"
_SHOWN_CHARS: Final = 60
_MOST_TOLD: Final = 20
"""Headers that are told to be wrong; with one the request is left alone already."""
_NOTHING_KNOWN: Final = CallContext()


def _boolean(text: str) -> bool:
    try:
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except KeyError:
        raise ValueError("true or false") from None


def _whole(text: str) -> int:
    if len(text) > 20:
        raise ValueError("a whole number")
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _count(text: str) -> int:
    count = _whole(text)
    if not 0 <= count < 2**31:
        raise ValueError("a whole number from 0 on")
    return count


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number such as 0.25") from None


def _globs(text: str) -> tuple[str, ...]:
    return tuple(glob.strip() for glob in text.split(",")) if text.strip() else ()


def _choice(kind: type[Stability | TrimStyle | Format | CacheState]) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            return kind(text.lower())
        except ValueError:
            raise ValueError(f"one of {', '.join(kind)}") from None

    return read


def _route(text: str) -> str:
    route = text.upper()
    if route not in ("ROUTED", "PASSTHROUGH"):
        raise ValueError("routed or passthrough")
    return route


_LIMITS: Final[Mapping[str, Callable[[str], object]]] = {
    "budget_tokens": _whole,
    "keep_last_turns": _whole,
    "max_summarize_chars": _whole,
    "protected_max_chars": _whole,
    "extra_fixed_tokens": _whole,
    "keep_last_rounds": _whole,
    "target_tokens": _whole,
    "min_tokens_saved": _whole,
    "min_gain": _share,
    "protected_tools": _globs,
    "relevance": _boolean,
    "stability": _choice(Stability),
    "trim_style": _choice(TrimStyle),
}
_OTHERS: Final[Mapping[str, Callable[[str], object]]] = {
    "bypass": _boolean,
    "dry_run": _boolean,
    "format": _choice(Format),
    "route": _route,
    "session_id": str,
    "model": str,
    "prompt_rate": str,
    "cached_rate": str,
    "cache_write_rate": str,
    "cache_state": _choice(CacheState),
    "cache_ttl_seconds": _count,
    "expected_further_calls": _count,
}
NAMES: Final = tuple(f"{PREFIX}{name.replace('_', '-')}" for name in (*_LIMITS, *_OTHERS))
"""Every header that is understood."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the headers ask for.

    Attributes:
        limits: Limits for this call, by the core's names.
        context: What the gateway knows of the call.
        format: The body's dialect; None to find out.
        dry_run: Whether to plan and count but change nothing.
        bypass: Whether to leave the request alone.
        violations: What is wrong with them.
    """

    limits: Mapping[str, Any] = field(default_factory=dict)
    context: CallContext = _NOTHING_KNOWN
    format: Format | None = None
    dry_run: bool = False
    bypass: bool = False
    violations: tuple[Violation, ...] = ()


def by_name(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header fields by their names in lower case; one that was sent several times is a list (RFC 9110, 5.3).

    Args:
        fields: The fields as they came.
    """
    found: dict[str, list[str]] = {}
    for name, text in fields:
        found.setdefault(name.lower(), []).append(text)
    return {name: ", ".join(texts) for name, texts in found.items()}


def read_headers(headers: Mapping[str, str]) -> Asked:
    """Reads the headers of a request.

    Args:
        headers: All of its headers, by their names in lower case.
    """
    read: dict[str, Any] = {}
    problems: list[Violation] = []
    for name, text in headers.items():
        if not name.startswith(PREFIX):
            continue
        if len(problems) == _MOST_TOLD:
            # A guardrail's body may name millions.
            break
        key = name.removeprefix(PREFIX).replace("-", "_")
        reader = _LIMITS.get(key) or _OTHERS.get(key)
        if reader is None:
            problems.append(Violation(name[:_SHOWN_CHARS], f"is not known; known: {', '.join(NAMES)}"))
            continue
        try:
            read[key] = reader(text.strip())
        except ValueError as error:
            problems.append(Violation(name, f"{text[:_SHOWN_CHARS]!r} is none; give {error}"))
    return Asked(
        limits={key: value for key, value in read.items() if key in _LIMITS},
        context=CallContext(
            request_id=headers.get(_REQUEST_ID, ""),
            session_id=read.get("session_id", ""),
            route=read.get("route", "UNSPECIFIED"),
            model=read.get("model", ""),
            prompt_rate=read.get("prompt_rate", ""),
            cached_rate=read.get("cached_rate", ""),
            cache_write_rate=read.get("cache_write_rate", ""),
            cache=CacheContext(
                state=read.get("cache_state"),
                ttl_seconds=read.get("cache_ttl_seconds"),
                further_calls=read.get("expected_further_calls"),
            ),
        ),
        format=read.get("format"),
        dry_run=read.get("dry_run", False),
        bypass=read.get("bypass", False),
        violations=tuple(problems),
    )
