"""The package's public surface, and what importing it costs."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pinch
from pinch import AsyncPinchClient, PinchClient

PACKAGE = Path(pinch.__file__).parent


def public_methods(client: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(client, inspect.isfunction)
        if not name.startswith("_")
    }


def test_all_names_are_there_and_sorted_by_kind() -> None:
    """Every name of __all__ exists, once."""
    assert len(set(pinch.__all__)) == len(pinch.__all__)
    assert all(hasattr(pinch, name) for name in pinch.__all__)


def test_every_own_name_is_documented() -> None:
    """Classes and methods of the client say what they are for."""
    own = [value for value in map(vars(pinch).get, pinch.__all__) if inspect.isclass(value)]
    for item in own:
        if item.__module__.startswith("pinch.v1"):
            continue
        assert inspect.getdoc(item), item
        for name, method in inspect.getmembers(item, inspect.isfunction):
            if not name.startswith("_"):
                assert inspect.getdoc(method), f"{item.__name__}.{name}"


def test_both_clients_have_the_same_methods() -> None:
    """The asyncio client has the synchronous one's methods, with the same arguments and results."""
    assert public_methods(PinchClient) == public_methods(AsyncPinchClient)
    for name in public_methods(AsyncPinchClient):
        assert inspect.iscoroutinefunction(getattr(AsyncPinchClient, name)), name


def test_the_package_is_typed() -> None:
    """The marker of typed packages is shipped."""
    assert (PACKAGE / "py.typed").exists()


def test_the_client_imports_only_grpc_and_protobuf() -> None:
    """Beside the standard library, the package names nothing but grpc and protobuf, integrations apart."""
    imported: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        # Each of these is for those who have what it plugs into.
        if path.parent.name == "integrations":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    roots = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    assert roots == {"pinch", "grpc", "google"}
    assert all(name.startswith("google.protobuf") for name in imported if name.startswith("google"))


def test_importing_the_client_does_not_import_the_server() -> None:
    """The client stands alone: importing it loads no module of the server."""
    script = "import sys, pinch; print(any(name.startswith('pinch_server') for name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
