"""Reads and checks single values, each refusal saying what to give instead; secrets are never quoted."""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from pinch_server.core.limits import Limits, limit_violations
from pinch_server.core.money import is_amount
from pinch_server.listen import HOST_NAME, parse_listen

HIDDEN: Final = "********"
KEY_CHARS: Final = 16
"""The least length of a key that is given."""

_DATABASES: Final = ("sqlite", "postgresql", "postgres")
_SHOWN_CHARS: Final = 60
_LAST_PORT: Final = 65_535
# The account may hold anything but an `@`; the host is a name, an address, or an IPv6 address in brackets.
_PORT: Final = re.compile(r"(?:[^@]*@)?+(?:\[[^/?]*\]|[^/?:@]*):([^/?@]{1,20})")


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """The user's own directory for state: `$XDG_STATE_HOME/pinch`, else `~/.local/state/pinch`."""
    base = environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):
        return Path(base, "pinch")
    return Path(environ.get("HOME") or Path.home(), ".local", "state", "pinch")


def shown(value: object) -> str:
    """A value as a message quotes it: short, on one line."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
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


def optional_file(value: object) -> object:
    """A path with `~` resolved, or None for nothing."""
    if isinstance(value, str):
        return Path(value).expanduser() if value.strip() else None
    return value


def database_url(url: str) -> str:
    """A URL of a database that decisions can be kept in, or nothing.

    Raises:
        ValueError: It is of another database, or has a port that is none or a zero byte.
    """
    scheme, colon, rest = url.partition("://")
    if url and not (colon and scheme.partition("+")[0] in _DATABASES and _can_be_read(rest)):
        raise ValueError(
            "the URL (not shown) is not legal; give sqlite:////PATH, postgresql://USER@HOST/NAME or nothing"
        )
    return url


def http_url(url: str) -> str:
    """An address that HTTP requests can be sent to, or nothing.

    Raises:
        ValueError: It is none.
    """
    scheme, colon, host = url.partition("://")
    if url and not (colon and scheme in ("http", "https") and host.strip("/")):
        raise ValueError("the URL (not shown) is not legal; give http://HOST/v1, https://HOST/v1 or nothing")
    return url


def collector_url(url: str) -> str:
    """An address that spans can be sent to.

    Raises:
        ValueError: It is none.
    """
    if not url:
        raise ValueError("an empty text is no URL; give http://HOST:PORT or https://HOST:PORT")
    try:
        return http_url(url)
    except ValueError:
        raise ValueError(
            "the URL (not shown) is not legal; give http://HOST:PORT or https://HOST:PORT"
        ) from None


def _can_be_read(rest: str) -> bool:
    """Whether what follows `://` has a numeric port or none, and nothing that no database can take."""
    if "\0" in unquote(rest) or not rest.isprintable():
        return False
    port = _PORT.match(rest)
    return port is None or (port[1].isascii() and port[1].isdecimal() and int(port[1]) <= _LAST_PORT)


def header_key(key: str) -> str:
    """A key that can stand in a header, without the line break that files of secrets end in.

    Raises:
        ValueError: It has characters that no header takes.
    """
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise ValueError("the key (not shown) is not legal; give printable ASCII characters, or nothing")
    return key


def hash_key(key: str) -> str:
    """A key that is long enough, or empty.

    Raises:
        ValueError: It is shorter than `KEY_CHARS`, or is not UTF-8.
    """
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ValueError("the key (not shown) is not UTF-8; give printable characters, or nothing") from None
    if 0 < len(key) < KEY_CHARS:
        raise ValueError(f"the key (not shown) is too short; give {KEY_CHARS} characters or more, or nothing")
    return key


def without_password(url: str) -> str:
    """A URL without its password and its query, which may hold one too; of an unclear one, the kind alone."""
    scheme, colon, rest = url.partition("://")
    place, mark, _ = rest.partition("?")
    authority, slash, path = place.partition("/")
    if "@" in rest.replace(authority, "", 1) and ":" in rest and not scheme.startswith("sqlite"):
        # A password with a `/`, `?` or `@` that was not escaped: nobody can tell where it ends.
        return f"{scheme}{colon}{HIDDEN}"
    account, at, host = authority.rpartition("@")
    name, separator, _ = account.partition(":")
    account = f"{name}:{HIDDEN}" if separator else account
    server = f"{account}{at}{_without_words_for_port(host)}"
    return f"{scheme}{colon}{server}{slash}{path}{mark}{HIDDEN if mark else ''}"


def _without_words_for_port(host: str) -> str:
    """A host as it is, unless what stands in the port's place may be a password whose `@` was forgotten."""
    name, colon, port = host.rpartition(":")
    return host if not colon or not port or port.isdecimal() or "]" in port else f"{name}:{HIDDEN}"


def rate(value: object) -> object:
    """A price as decimal text, or nothing; a file may spell it as a number.

    Raises:
        ValueError: It is no price.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        # As digits: the shortest text of a small number has an exponent.
        value = f"{Decimal(str(value)):f}"
    if isinstance(value, str) and value and not is_amount(value):
        raise ValueError(f"{shown(value)} is not a price; give USD per million tokens such as 0.30")
    return value


def globs(value: object) -> object:
    """A list as it is, or the parts of a comma-separated text."""
    if isinstance(value, str):
        return tuple(glob.strip() for glob in value.split(",")) if value.strip() else ()
    return value


def host_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of hosts, in small letters.

    Raises:
        ValueError: One of them is none.
    """
    for name in names:
        if HOST_NAME.fullmatch(name) is None:
            raise ValueError(f"{shown(name)} is no host name; give it without a port, such as pinch.internal")
    return tuple(name.lower() for name in names)


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
