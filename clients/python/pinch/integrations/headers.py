"""What a request asks of Pinch in its headers `x-pinch-*`, for gateways that run in Python.

They are those that the service itself understands where a gateway calls it, with the same meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from pinch import CacheState, Format, Limits, Rates, RequestContext, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "x-pinch-"
"""What the names of all of them begin with."""
DECISION_ID: Final = "x-pinch-decision-id"
"""In an answer: the decision's id."""
TOKENS_SAVED: Final = "x-pinch-tokens-saved"
"""In an answer: what the decision saved (tokens)."""
UNCHANGED: Final = "x-pinch-unchanged-reason"
"""In an answer: why nothing changed, as a slug."""

_FORMATS: Final[Mapping[str, Format.ValueType]] = {
    "openai-chat": Format.FORMAT_OPENAI_CHAT,
    "anthropic": Format.FORMAT_ANTHROPIC_MESSAGES,
    "openai-responses": Format.FORMAT_OPENAI_RESPONSES,
    "gemini": Format.FORMAT_GEMINI,
    "bedrock": Format.FORMAT_BEDROCK_CONVERSE,
}
_ROUTES: Final = {"routed": Route.ROUTE_ROUTED, "passthrough": Route.ROUTE_PASSTHROUGH}
_RATES: Final = {"prompt_rate": "prompt", "cached_rate": "cached_prompt", "cache_write_rate": "cache_write"}
_CACHE_STATES: Final = {
    "warm": CacheState.CACHE_STATE_WARM,
    "cold": CacheState.CACHE_STATE_COLD,
    "none": CacheState.CACHE_STATE_NONE,
}
_CACHE_COUNTS: Final = {
    "cache_ttl_seconds": "ttl_seconds",
    "expected_further_calls": "expected_further_calls",
}
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}
_NUMBER_CHARS: Final = 32
_SHOWN_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """What the headers ask for.

    Attributes:
        limits: Limits for this call; those that no header names are absent.
        context: What they say of the call.
        format: The body's dialect; unspecified where none says it.
        dry_run: Whether to plan and count but change nothing.
        bypass: Whether to leave the request alone.
        problems: What is wrong with them, a line each; what was wanted is then not known.
    """

    limits: Limits
    context: RequestContext
    format: Format.ValueType = Format.FORMAT_UNSPECIFIED
    dry_run: bool = False
    bypass: bool = False
    problems: tuple[str, ...] = ()

    def over(self, given: Limits | None) -> Limits | None:
        """Limits of a call: the given ones, and over them those of the headers; None when there are none."""
        if not self.limits.ListFields():
            return given
        merged = Limits()
        if given is not None:
            merged.CopyFrom(given)
        if self.limits.HasField("protected_tools"):
            # Merging would append to the others.
            merged.ClearField("protected_tools")
        merged.MergeFrom(self.limits)
        return merged


@dataclass(slots=True)
class _Reading:
    limits: Limits = field(default_factory=Limits)
    context: RequestContext = field(default_factory=RequestContext)
    rest: dict[str, Any] = field(default_factory=dict)

    def take(self, key: str, text: str) -> None:
        """Takes one header; ValueError says what it should be, KeyError that it is not known."""
        if key in ("bypass", "dry_run"):
            self.rest[key] = _boolean(text)
        elif key == "format":
            self.rest[key] = _one_of(_FORMATS, text)
        elif key == "route":
            self.context.route = _one_of(_ROUTES, text)
        elif key in ("session_id", "model"):
            setattr(self.context, key, text)
        elif key in _RATES:
            self.context.rates.MergeFrom(Rates(**{_RATES[key]: text}))
        elif key == "cache_state":
            self.context.cache.state = _one_of(_CACHE_STATES, text)
        elif key in _CACHE_COUNTS:
            setattr(self.context.cache, _CACHE_COUNTS[key], _count(text))
        else:
            self._limit(Limits.DESCRIPTOR.fields_by_name[key], text)

    def _limit(self, limit: FieldDescriptor, text: str) -> None:
        kind = limit.type
        if kind == FieldDescriptor.TYPE_MESSAGE:
            self.limits.protected_tools.globs[:] = [part.strip() for part in text.split(",") if text.strip()]
            self.limits.protected_tools.SetInParent()
        elif kind == FieldDescriptor.TYPE_BOOL:
            setattr(self.limits, limit.name, _boolean(text))
        elif limit.enum_type is not None:
            values = {value.name: value.number for value in limit.enum_type.values if value.number}
            prefix = limit.enum_type.values[0].name.removesuffix("UNSPECIFIED")
            names = {name.removeprefix(prefix).lower(): number for name, number in values.items()}
            setattr(self.limits, limit.name, _one_of(names, text))
        else:
            read = float if kind == FieldDescriptor.TYPE_DOUBLE else int
            expected = "a number such as 0.25" if read is float else "a whole number"
            if len(text) > _NUMBER_CHARS:
                raise ValueError(expected)
            try:
                setattr(self.limits, limit.name, read(text))
            except ValueError:
                raise ValueError(expected) from None


def read_headers(headers: Mapping[str, str]) -> Asked:
    """Reads the headers of a request.

    Args:
        headers: All of its headers, by their names in lower case.
    """
    reading, problems = _Reading(), []
    reading.context.request_id = headers.get("x-request-id", "")
    for name, text in headers.items():
        if not name.startswith(PREFIX):
            continue
        try:
            reading.take(name.removeprefix(PREFIX).replace("-", "_"), text.strip())
        except KeyError:
            problems.append(f"{name[:_SHOWN_CHARS]} is not known")
        except ValueError as error:
            problems.append(f"{name}: {text[:_SHOWN_CHARS]!r} is none; give {error}")
    return Asked(reading.limits, reading.context, **reading.rest, problems=tuple(problems))


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError("true or false") from None


def _count(text: str) -> int:
    expected = "a whole number from 0 on"
    try:
        count = int(text[:_NUMBER_CHARS])
    except ValueError:
        raise ValueError(expected) from None
    if len(text) > _NUMBER_CHARS or not 0 <= count < 2**31:
        raise ValueError(expected)
    return count


def _one_of(values: Mapping[str, Any], text: str) -> Any:
    try:
        return values[text.lower()]
    except KeyError:
        raise ValueError(f"one of {', '.join(values)}") from None
