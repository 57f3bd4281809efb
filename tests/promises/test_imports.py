"""Imports follow the house's directions, and stay within what the distribution declares."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pinch_server import entry
from pinch_server.extract.sandbox import MODULES
from tests.promises.declared import CLIENT, ROOT, SERVER, declared, imported_modules, providers

# Never imported: SQLAlchemy loads its driver by name, and of wordllama only the files are read.
LOADED_BY_NAME = {"psycopg", "wordllama"}
# Packages that do no I/O and may therefore be used by the core.
PURE = {"imagesize", "numpy", "regex", "toktok"}
OWN = {"pinch", "pinch_server"}


def third_party(folder: Path) -> dict[str, Path]:
    """The dotted names below a folder that neither Python nor this project provides, each with one file."""
    found: dict[str, Path] = {}
    for path, module in imported_modules(folder):
        top = module.partition(".")[0]
        if top not in OWN and top not in sys.stdlib_module_names and top != "__future__":
            found[module] = path
    return found


def undeclared(folder: Path, allowed: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)} imports {module}"
        for module, path in third_party(folder).items()
        if not providers(module) & allowed
    ]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    script = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    environment = {"PYTHONPATH": f"{root / 'server'}:{root / 'clients' / 'python'}", "PATH": ""}
    return subprocess.run(
        [sys.executable, "-P", "-c", script, "--no-cache"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of both packages and their contracts, to break them in."""
    root = tmp_path_factory.mktemp("tree")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SERVER, root / "server" / "pinch_server", ignore=ignore)
    shutil.copytree(CLIENT, root / "clients" / "python" / "pinch", ignore=ignore)
    shutil.copy(ROOT / ".importlinter", root)
    return root


def test_every_contract_is_kept() -> None:
    """The import contracts hold on the tree as it is."""
    run = lint_imports(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("server/pinch_server/core/limits.py", "import time"),
        ("server/pinch_server/core/limits.py", "import pinch_server.settings"),
        ("server/pinch_server/decide/decider.py", "import pinch_server.store.tables"),
        ("server/pinch_server/decide/decider.py", "import grpc"),
        ("server/pinch_server/app/service.py", "import sqlalchemy"),
        ("server/pinch_server/app/service.py", "import pydantic"),
        ("server/pinch_server/store/tables.py", "import pinch_server.decide"),
        ("clients/python/pinch/__init__.py", "import pinch_server.core"),
        ("server/pinch_server/a_new_room.py", "import enum"),
    ],
)
def test_a_wrong_import_breaks_a_contract(copied_tree: Path, file: str, line: str) -> None:
    """One import against the directions, or a room without a place in them, fails the check."""
    path = copied_tree / file
    before = path.read_text() if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        run = lint_imports(copied_tree)
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "BROKEN" in run.stdout


def test_the_client_needs_the_base_alone() -> None:
    """The client imports nothing but the standard library and the base's declared dependencies."""
    # The stubs' package, whose modules are named only in the generated .pyi files, is none of them.
    assert [one for one in undeclared(CLIENT, declared()) if "pinch/integrations/" not in one] == []


def test_each_integration_needs_what_its_extra_names() -> None:
    """A module of pinch.integrations imports the base and the software it is named for, nothing else."""
    found = [one for one in undeclared(CLIENT, declared()) if "pinch/integrations/" in one]
    assert found
    for one in found:
        path, _, module = one.partition(" imports ")
        assert module.partition(".")[0].removesuffix("_core") == Path(path).stem, one


def test_the_server_needs_what_its_extra_declares() -> None:
    """Imports are of the base, [server] or [otel]; the sandbox's of [extract], the live view's of [top]."""
    wanted = declared() | declared("server") | declared("otel")
    found = undeclared(SERVER, wanted)
    optional = (
        "server/pinch_server/extract/dialect.py imports ",
        "server/pinch_server/cli/top_screen.py imports textual",
    )
    assert [line for line in found if not line.startswith(optional)] == []
    assert undeclared(SERVER, wanted | declared("extract") | declared("top")) == []


def test_the_sandbox_looks_for_each_of_its_extras_distributions() -> None:
    """The modules whose absence keeps the sandbox from starting stand one for one for [extract]."""
    looked_for = [providers(module) for module in MODULES]
    assert {name for names in looked_for for name in names} == declared("extract")
    assert len(MODULES) == len(declared("extract"))


def test_every_declared_dependency_is_used() -> None:
    """No distribution is asked of a user that no file imports."""
    used = {name for module in third_party(SERVER) | third_party(CLIENT) for name in providers(module)}
    used |= {name for path, module in imported_modules(ROOT / "migrations") for name in providers(module)}
    wanted = set().union(declared(), *map(declared, ("server", "postgres", "otel", "extract")))
    assert wanted - used - LOADED_BY_NAME == set()


def test_the_command_looks_for_each_of_the_extras_distributions() -> None:
    """The modules whose absence makes `pinch` print the install line stand one for one for [server]."""
    looked_for = [providers(module) for module in entry.SERVER_MODULES]
    assert {name for names in looked_for for name in names} == declared("server")
    assert len(entry.SERVER_MODULES) == len(declared("server"))


def test_the_core_uses_only_packages_without_io() -> None:
    """Third-party packages of the core are on the short list of those that do no I/O."""
    assert {module.partition(".")[0] for module in third_party(SERVER / "core")} <= PURE


def test_status_codes_are_known_in_one_file() -> None:
    """Only rpc/errors.py names a gRPC status code, beside the faults that a test asks for by such a name."""
    code = re.compile(
        r"\bStatusCode\.[A-Z]|[\"'](?:INVALID_ARGUMENT|RESOURCE_EXHAUSTED|DEADLINE_EXCEEDED)[\"']"
    )
    naming = {path for path in SERVER.rglob("*.py") if code.search(path.read_text())}
    # The label's values are codes; the faults stand outside of all that maps errors.
    others = {SERVER / "observe" / "labels.py", SERVER / "rpc" / "asked_faults.py"}
    assert naming == {SERVER / "rpc" / "errors.py"} | others
