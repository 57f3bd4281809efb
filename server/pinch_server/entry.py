"""The `pinch` command before its dependencies are known to be there.

The distribution's base is the client, and a console script cannot belong to an extra. So the command
exists in every install, and this file, which imports the standard library alone, decides whether the
server's command line can be loaded.
"""

import sys
from importlib.util import find_spec

from pinch_server.loading import ending

INSTALL_COMMAND = "pip install '.[server]'"
EXIT_USAGE = 2

# One import name for each distribution of the [server] extra: tests/promises/test_imports.py compares them.
SERVER_MODULES = (
    "aiohttp",
    "alembic",
    "click",
    "cryptography",
    "google.rpc",
    "grpc_channelz",
    "grpc_health",
    "grpc_reflection",
    "grpc_status",
    "imagesize",
    "msgspec",
    "numpy",
    "prometheus_client",
    "pydantic",
    "pydantic_core",
    "pydantic_settings",
    "regex",
    "rich",
    "sqlalchemy",
    "structlog",
    "tokenizers",
    "toktok",
    "uuid_utils",
    "wordllama",
    "yaml",
)


def missing_modules() -> list[str]:
    """Name the modules of the server's dependencies that cannot be found, without loading any that can."""
    return [name for name in SERVER_MODULES if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package that a dotted name is in
        return False


def main() -> int:
    """Run the command line, or say how to install it.

    Returns:
        The exit status: 2 when the server's dependencies are missing, else what the command line decides.
    """
    missing = missing_modules()
    if missing:
        is_partial = len(missing) < len(SERVER_MODULES)
        holds = "a part of the server" if is_partial else "the client only"
        which = f" (missing: {', '.join(missing)})" if is_partial else ""
        print(
            f"pinch: this install holds {holds}; for the server, in the checkout: {INSTALL_COMMAND}{which}",
            file=sys.stderr,
        )
        return EXIT_USAGE
    # Only now: the command line imports what the check above looked for.
    from pinch_server.cli import main as command_line  # noqa: PLC0415

    with ending():
        command_line(prog_name="pinch")
    return 0
