"""`--limit NAME=VALUE`: reading limits from a command line, every problem at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from pinch_server.core.limits import BOUNDS, Limits, Violation
from pinch_server.settings import knobs

_TRUTH: Final = dict.fromkeys(("true", "on", "yes", "1"), True) | dict.fromkeys(
    ("false", "off", "no", "0"), False
)
_KINDS: Final = get_type_hints(Limits)

# Those that no setting stands for: default and meaning.
_NO_SETTINGS: Final = {
    "extra_fixed_tokens": (
        "",
        "Tokens that ship beside the messages; not given: counted from the body's tools.",
    ),
    "relevance": ("true", "Whether the order of trimming is worked out; false: the uniform order."),
}

NAMES: Final = tuple(field.name for field in fields(Limits))
"""The name of every limit, in the order of declaration."""


def read_limits(pairs: Iterable[str]) -> tuple[dict[str, Any], tuple[Violation, ...]]:
    """Reads limits as they stand on the command line.

    Args:
        pairs: `NAME=VALUE` each.

    Returns:
        The values by name, and what is wrong with those that could not be read. Whether a value lies within
        its bound is for the use case to say.
    """
    limits: dict[str, Any] = {}
    violations: list[Violation] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            violations.append(Violation("--limit", f"{pair!r} has no value; give NAME=VALUE"))
        elif name not in NAMES:
            violations.append(Violation(f"limits.{name}", f"is no limit; {_legal(name)}"))
        elif name in limits:
            violations.append(Violation(f"limits.{name}", "is given twice; give it once"))
        else:
            try:
                limits[name] = _value(name, text.strip())
            except ValueError as error:
                violations.append(Violation(f"limits.{name}", f"{text!r} {error}"))
    return limits, tuple(violations)


def describe(name: str) -> str:
    """What a limit may be, in words."""
    kind = _kind(name)
    if kind is bool:
        return "true or false"
    if issubclass(kind, StrEnum):
        return " or ".join(kind)
    if kind is tuple:
        return "a list, separated by commas"
    return f"a whole number {BOUNDS[name]}" if kind is int else f"a number {BOUNDS[name]}"


def explained() -> Iterator[str]:
    """A line for each limit: its name, its default and its meaning."""
    settings = {knob.key: (knob.default, knob.meaning) for knob in knobs()}
    for name in NAMES:
        key = name.replace("cache_", "cache.")
        default, meaning = settings.get(key) or _NO_SETTINGS.get(name) or ("", describe(name))
        shown = f"{name}={'' if default in ('[]', 'none') else default}"
        yield f"{shown:<27} {meaning}"


def nearest(name: str) -> str | None:
    """The limit that somebody may mean who gives another name; None when there is none."""
    begins = [known for known in NAMES if name and known.startswith(name)]
    return next(iter(begins or get_close_matches(name, NAMES, n=1, cutoff=0.7)), None)


def _legal(name: str) -> str:
    near = nearest(name)
    return f"{f'did you mean {near}? ' if near else ''}the limits are {', '.join(NAMES)}"


def _kind(name: str) -> type:
    """The type of a limit's values; None, which stands for "not given", is left out."""
    kind = _KINDS[name]
    if get_origin(kind) is tuple:
        return tuple
    return next(one for one in get_args(kind) or (kind,) if isinstance(one, type) and one is not NoneType)


def _value(name: str, text: str) -> Any:
    """A limit's value.

    Raises:
        ValueError: The text is none; its message says what to give.
    """
    kind = _kind(name)
    readers: Mapping[type, Callable[[str], Any]] = {bool: _truth, int: _integer, float: float, tuple: _list}
    try:
        return (readers.get(kind) or kind)(text)
    except ValueError:
        raise ValueError(f"cannot be read; give {describe(name)}") from None


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[text.lower()]


def _integer(text: str) -> int:
    # Spelt as people may write it: 50_000 and 50000, but no digits of other scripts.
    if not text.isascii():
        raise ValueError(text)
    return int(text)


def _list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",")) if text else ()
