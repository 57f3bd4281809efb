"""The `pinch` command itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from pinch_server import __version__
from pinch_server.cli import main
from pinch_server.cli.group import COMMANDS
from tests.cli.commands import environment, invoke, run


def test_help_tells_what_it_is_for() -> None:
    """`pinch --help` says what the service does, how to begin, and lists every command."""
    result = invoke("--help")
    assert result.exit_code == 0
    for text in ("token budget", "pinch prune body.json", "pinch serve", *COMMANDS):
        assert text in result.stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_teaches(name: str) -> None:
    """Each command has the name it is listed under, a first line, and examples of itself."""
    command = main.commands.get(name) or main.get_command(None, name)  # type: ignore[arg-type] # it takes no part
    assert command is not None
    assert command.name == name
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"    pinch {name}" in result.stdout


def test_an_unknown_command_is_named() -> None:
    """A command that does not exist ends with status 2 and its name."""
    result = invoke("prunne")
    assert result.exit_code == 2
    assert "prunne" in result.stderr


def test_version(tmp_path: Path) -> None:
    """`pinch --version` prints the version, as a process as well."""
    assert run("--version", home=tmp_path).stdout == f"pinch, version {__version__}\n".encode()


def test_the_list_of_commands_loads_none_of_them(tmp_path: Path) -> None:
    """`pinch --help` imports neither gRPC nor SQLAlchemy nor the settings."""
    heavy = ("grpc", "sqlalchemy", "pydantic", "numpy", "rich", "prometheus_client")
    script = f"""
import sys
from click.testing import CliRunner
from pinch_server.cli import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
print(sorted(set(sys.modules) & set({heavy!r})))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path), check=True
    )
    assert done.stdout == "[]\n"
