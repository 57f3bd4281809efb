"""The `pinch` command. Each file is one command; none is imported before it is asked for."""

from pinch_server.cli.group import main

__all__ = ["main"]
