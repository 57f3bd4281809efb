"""Bearer tokens: their file, how one is found, and what is wrong with a caller who has none.

A line of the file is `NAME ROLES TOKEN`, its roles separated by commas, and the token either
`sha256:` with the 64 hexadecimal digits of its hash, or `plain:` with the token itself. Blank lines and lines
that begin with `#` say nothing. Two lines may have one name, as they do while a token is replaced.

A token is found by its SHA-256, compared with every line of the file in constant time. A fast hash is enough:
tokens are long and made by chance, so that nobody can try them all.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pinch_server.doors.access import Role
from pinch_server.doors.watched import DoorFileError, Watched, read_secret

TOKEN_CHARS: Final = 20
"""The least length of a token."""
_MADE_BYTES: Final = 32
_LOOK_SECONDS: Final = 1.0
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_BEARER: Final = "bearer "

Problem = Literal["no_token", "unknown_token", "wrong_role", "foreign"]
"""Why a caller is refused, as metrics call it."""


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the file.

    Attributes:
        name: Whose it is.
        roles: What it is for.
        digest: SHA-256 of the token.
    """

    name: str
    roles: frozenset[Role]
    digest: bytes = field(repr=False)


Tokens = tuple[Token, ...]


class Refused(Exception):
    """A caller may not do what it asked for; the text is for the caller.

    Attributes:
        problem: Why.
    """

    def __init__(self, problem: Problem, text: str) -> None:
        self.problem: Final = problem
        super().__init__(text)


def watched_tokens(path: Path, clock: Callable[[], float]) -> Watched[Tokens]:
    """The tokens of a file, read anew within a second of its change.

    Raises:
        DoorFileError: It cannot be used.
    """
    return Watched("tokens", [path], lambda: read_tokens(path), clock, every=_LOOK_SECONDS)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file.

    Raises:
        DoorFileError: It cannot be used; a line is named by its number and never quoted.
        OSError: It cannot be read.
    """
    try:
        lines = read_secret(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DoorFileError(f"{path} is not UTF-8") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(_token(line.split()))
        except ValueError as error:
            raise DoorFileError(f"{path}, line {number}: {error}") from None
    if not found:
        raise DoorFileError(f"{path} holds no token; pinch token new NAME --role prune makes a line of one")
    return tuple(found)


def admitted(tokens: Tokens, header: str | None, allowed: frozenset[Role], what: str) -> Token:
    """The token of a caller who may do what it asks for.

    Args:
        tokens: All that are valid.
        header: What the caller sent as `authorization`; None when it sent nothing.
        allowed: The roles of which one is needed.
        what: What it asks for, in words for the caller.

    Raises:
        Refused: It may not.
    """
    if header is None or header[: len(_BEARER)].lower() != _BEARER:
        raise Refused("no_token", f"{what} needs a token: send authorization: Bearer TOKEN")
    return admitted_by(tokens, digest_of(header[len(_BEARER) :].strip()), allowed, what)


def admitted_by(tokens: Tokens, digest: bytes, allowed: frozenset[Role], what: str) -> Token:
    """The token of a caller who is known by the SHA-256 of a token, and may do what it asks for.

    Args:
        tokens: All that are valid.
        digest: SHA-256 of the caller's token.
        allowed: The roles of which one is needed.
        what: What it asks for, in words for the caller.

    Raises:
        Refused: It may not.
    """
    found = None
    for token in tokens:
        # To the last line, whichever fits: the time tells nothing about the others.
        if hmac.compare_digest(token.digest, digest):
            found = token
    if found is None:
        raise Refused("unknown_token", "the token is not known here")
    if not found.roles & allowed:
        needed = " or ".join(sorted(allowed))
        raise Refused("wrong_role", f"{what} needs a token of the role {needed}")
    return found


def new_token() -> str:
    """A token that nobody has had or can guess."""
    return secrets.token_urlsafe(_MADE_BYTES)


def hashed_line(name: str, roles: frozenset[Role], token: str) -> str:
    """The line of a token for the file, hashed.

    Raises:
        ValueError: The name or the token is not legal.
    """
    _check_name(name)
    _check_token(token)
    return f"{name} {','.join(sorted(roles))} sha256:{digest_of(token).hex()}"


def digest_of(token: str) -> bytes:
    """SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _token(words: list[str]) -> Token:
    if len(words) != 3:
        raise ValueError("has not the form NAME ROLES TOKEN")
    name, roles, secret = words
    _check_name(name)
    kind, _, text = secret.partition(":")
    if kind == "sha256" and _HASH.fullmatch(text):
        digest = bytes.fromhex(text)
    elif kind == "plain":
        _check_token(text)
        digest = digest_of(text)
    else:
        raise ValueError("the third word is neither plain:TOKEN nor sha256: with 64 hexadecimal digits")
    return Token(name, frozenset(map(_role, roles.split(","))), digest)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        # Not quoted: words in the wrong order would have the token here.
        raise ValueError(f"a role is none of {', '.join(Role)}") from None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 64 of the characters A-Z a-z 0-9 . _ -")


def _check_token(token: str) -> None:
    if len(token) < TOKEN_CHARS or not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError(f"a token has {TOKEN_CHARS} printable ASCII characters or more, and no space")
