"""What the commands say to people: always on standard error, so that standard output holds results alone."""

import os
import sys
from collections.abc import Iterable
from typing import Final, NoReturn

import click
from rich.console import Console, RenderableType

EXIT_FAILED: Final = 1
"""It was asked for rightly and did not work out."""
EXIT_REFUSED: Final = 2
"""What was asked for, or the input, is wrong."""

_UNBOUND: Final = 200


def console() -> Console:
    """Standard error, as it is now."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def show(shown: RenderableType) -> None:
    """Writes a table to standard error, as wide as the terminal at most, no line ending in blanks.

    A file or a pipe has no width of its own and gets lines that fold no name, unless COLUMNS gives one.
    """
    has_width = sys.stderr.isatty() or "COLUMNS" in os.environ
    screen = Console(file=sys.stderr, highlight=False, width=None if has_width else _UNBOUND)
    with screen.capture() as captured:
        screen.print(shown)
    for line in captured.get().splitlines():
        say(line.rstrip())


def say(line: str) -> None:
    """Writes one line to standard error."""
    click.echo(line, err=True)


def stop(problems: Iterable[str], status: int) -> NoReturn:
    """Writes each problem on a line of its own and ends the command.

    Raises:
        SystemExit: Always, with `status`.
    """
    for problem in problems:
        say(problem)
    raise SystemExit(status)
