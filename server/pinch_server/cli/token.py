"""`pinch token`: tokens for the service's callers, and their lines for its file of tokens."""

import os
import sys
from pathlib import Path
from typing import Final

import click

from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, say, stop
from pinch_server.cli.help import lines
from pinch_server.doors.access import Role
from pinch_server.doors.tokens import hashed_line, new_token

_EPILOG: Final = lines(
    "Examples",
    "pinch token new router --role prune --add-to tokens.txt > router.token",
    "pinch token new grafana --role insight             the line for the file goes to standard error",
    "pinch token hash router --role prune < router.token    the line of a token that is there already",
    "PINCH_SERVER__TOKENS=tokens.txt pinch serve",
)
_role: Final = click.option(
    "--role",
    "roles",
    type=click.Choice([role.value for role in Role]),
    multiple=True,
    required=True,
    help="What the token is for; repeatable.",
)


@click.group("token", epilog=_EPILOG)
def token_command() -> None:
    """Make tokens, and the lines by which a service knows them.

    A service keeps hashes alone. It reads its file anew within a second of a change.
    """


@token_command.command("new")
@click.argument("name")
@_role
@click.option(
    "--add-to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add the line to this file, which is made when it is not there.",
)
def new_command(name: str, roles: tuple[str, ...], add_to: Path | None) -> None:
    """Make a token: it goes to standard output, and is kept nowhere."""
    token = new_token()
    line = _line(name, roles, token)
    if add_to is None:
        say(line)
    else:
        try:
            _add(add_to, line)
        except OSError as error:
            stop([f"{add_to}: {error.strerror or error}"], EXIT_FAILED)
    click.echo(token)


@token_command.command("hash")
@click.argument("name")
@_role
def hash_command(name: str, roles: tuple[str, ...]) -> None:
    """Print the line of a token that is read from standard input."""
    click.echo(_line(name, roles, sys.stdin.readline().strip()))


def _line(name: str, roles: tuple[str, ...], token: str) -> str:
    try:
        return hashed_line(name, frozenset(map(Role, roles)), token)
    except ValueError as error:
        stop([str(error)], EXIT_REFUSED)


def _add(path: Path, line: str) -> None:
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b") as file:  # noqa: PTH123 with a mode
        before = file.read()
        file.write((b"\n" if before and not before.endswith(b"\n") else b"") + f"{line}\n".encode())
