"""Reads and checks single values, each refusal saying what to give instead; secrets are never quoted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pinch_server.core.limits import Limits, limit_violations
from pinch_server.listen import parse_listen

HIDDEN: Final = "********"
KEY_CHARS: Final = 16
"""The least length of a key that is given."""

_DATABASES: Final = ("sqlite", "postgresql", "postgres")
_SHOWN_CHARS: Final = 60


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """The user's own directory for state: `$XDG_STATE_HOME/pinch`, else `~/.local/state/pinch`."""
    base = environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):
        return Path(base, "pinch")
    return Path(environ.get("HOME") or Path.home(), ".local", "state", "pinch")


def shown(value: object) -> str:
    """A value as a message quotes it: short, on one line."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def address(text: str) -> str:
    """An address a server can listen on, in its usual spelling.

    Raises:
        ValueError: It is none.
    """
    try:
        return str(parse_listen(text))
    except ValueError as error:
        raise ValueError(f"{shown(text)} {error}") from None


def tcp_address(text: str) -> str:
    """An address that is not a unix socket.

    Raises:
        ValueError: It is a unix socket, or no address.
    """
    if text.startswith("unix:"):
        raise ValueError(f"{shown(text)} is a unix socket; give HOST:PORT")
    return address(text)


def directory(value: object) -> object:
    """A path with `~` resolved.

    Raises:
        ValueError: It is blank, which Python would take for the current directory.
    """
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{shown(value)} names no directory; give a path, or leave it out")
    return Path(value).expanduser() if isinstance(value, str) else value


def database_url(url: str) -> str:
    """A URL of a database that decisions can be kept in, or nothing.

    Raises:
        ValueError: It is of another database.
    """
    scheme, colon, _ = url.partition("://")
    if url and not (colon and scheme.partition("+")[0] in _DATABASES):
        raise ValueError(
            "the URL (not shown) is not legal; give sqlite:////PATH, postgresql://USER@HOST/NAME or nothing"
        )
    return url


def hash_key(key: str) -> str:
    """A key that is long enough, or empty.

    Raises:
        ValueError: It is shorter than `KEY_CHARS`.
    """
    if 0 < len(key) < KEY_CHARS:
        raise ValueError(f"the key (not shown) is too short; give {KEY_CHARS} characters or more, or nothing")
    return key


def without_password(url: str) -> str:
    """A database's URL without its password and its query, which may hold one too."""
    scheme, colon, rest = url.partition("://")
    place, mark, _ = rest.partition("?")
    account, at, host = place.rpartition("@")
    name, separator, _ = account.partition(":")
    account = f"{name}:{HIDDEN}" if separator else account
    return f"{scheme}{colon}{account}{at}{host}{mark}{HIDDEN if mark else ''}"


def globs(value: object) -> object:
    """A list as it is, or the parts of a comma-separated text."""
    if isinstance(value, str):
        return tuple(glob.strip() for glob in value.split(",")) if value.strip() else ()
    return value


def legal_globs(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Globs that the core takes.

    Raises:
        ValueError: One of them is not legal.
    """
    violations = limit_violations(Limits(protected_tools=patterns))
    if violations:
        raise ValueError(violations[0].problem)
    return patterns


def none_is_zero(value: object) -> object:
    """0 for null, which a YAML file may say for "no cap"."""
    return 0 if value is None else value


def none_in_words(value: object) -> object:
    """None for `none` or nothing: the environment and TOML have no null."""
    return None if isinstance(value, str) and value.strip().lower() in ("", "none") else value
