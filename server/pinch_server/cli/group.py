"""The `pinch` command itself: what it is for, and where its commands are."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import click

from pinch_server import __version__
from pinch_server.cli.help import epilog, lines
from pinch_server.loading import loading


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command is, so that the list of commands imports none of them.

    Attributes:
        module: The module that defines it under its own name, followed by `_command`.
        summary: What it does, in one line.
    """

    module: str
    summary: str


COMMANDS: Final[Mapping[str, Place]] = {
    "serve": Place("pinch_server.cli.serve", "Run the service until it is told to stop."),
    "prune": Place("pinch_server.cli.prune", "Shorten request bodies, here or through a running service."),
    "replay": Place("pinch_server.cli.replay", "Show what pruning would have saved on your own transcripts."),
    "migrate": Place("pinch_server.cli.migrate", "Bring the database's schema up to date, or look at it."),
    "savings": Place("pinch_server.cli.savings", "Show what pruning saved: calls, tokens, money."),
    "decisions": Place("pinch_server.cli.decisions", "Show the newest decisions."),
    "explain": Place("pinch_server.cli.explain", "Show what one decision trimmed, and why."),
    "top": Place("pinch_server.cli.top", "Watch a running service: calls, savings, latency, decisions."),
    "expand": Place("pinch_server.cli.expand", "Print the original of a trimmed tool result."),
    "embed": Place("pinch_server.cli.embed", "Check where the embeddings for ranking come from."),
    "config": Place("pinch_server.cli.config", "Check the settings, show them, or print their schema."),
    "token": Place("pinch_server.cli.token", "Make tokens for the service's callers."),
    "healthcheck": Place("pinch_server.cli.healthcheck", "Ask a running service whether it takes calls."),
}
"""Every command, in the order in which an operator meets them."""


_EPILOG: Final = epilog(
    lines(
        "Try it on one body, without a server",
        "pinch prune body.json --limit budget_tokens=20000 > smaller.json",
    ),
    lines("Run the service: gRPC on 50051, metrics on 9464, SQLite in the state directory", "pinch serve"),
    "`pinch COMMAND --help` has examples. Exit status: 0 done, 1 failed, 2 asked for in the wrong way.",
)


class LazyGroup(click.Group):
    """A group that imports a command when it is run, and not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        del ctx
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        with loading():
            command = getattr(import_module(place.module), f"{cmd_name}_command")
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands from the table above."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.summary) for name, place in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="pinch")
def main() -> None:
    """Pinch shortens agent conversations before a router sends them to a model.

    A router sends a request body (OpenAI, Anthropic, Gemini, Bedrock) over gRPC and gets the same body back,
    with old tool results cut down until it fits a token budget. Nothing is added, removed or reordered, every
    other byte stays as it was, and each decision is kept in a database, so that the saving can be shown.
    """
