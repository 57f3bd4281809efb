"""The wheel holds what it must and nothing else, and its command says how to get the server."""

import os
import subprocess
import sys
import venv
import zipfile
from email.message import Message
from email.parser import BytesParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pinch_server import __version__
from pinch_server.entry import INSTALL_COMMAND
from tests.promises.declared import ROOT, closure, wanted


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree with the locked build backend."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = folder.glob("*.whl")
    return built


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return BytesParser().parsebytes(archive.read(f"pinch_grpc-{__version__}.dist-info/METADATA"))


def install(wheel: Path, folder: Path, extras: set[str]) -> Path:
    """Installs the wheel into an empty environment with what it declares for `extras`, and nothing more.

    The wheel goes in through pip. Its dependencies are linked from the running environment, file by file,
    along the declared requirements, so that no test needs a network.

    Returns:
        The environment's bin folder.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)

    (site,) = folder.glob("lib/python*/site-packages")
    for name in closure(wanted(metadata_of(wheel).get_all("Requires-Dist", []), extras)):
        for file in distribution(name).files or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                link = site / file
                link.parent.mkdir(parents=True, exist_ok=True)
                if not link.exists():
                    link.symlink_to(Path(file.locate()).resolve())
    return folder / "bin"


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder after `pip install .`."""
    return install(wheel, tmp_path_factory.mktemp("base"), set())


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder after `pip install '.[server]'`."""
    return install(wheel, tmp_path_factory.mktemp("full"), {"server"})


def run(
    command: list[str | Path], folder: Path, settings: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder outside the checkout, with these settings and none of the suite's."""
    hidden = ("PYTHON", "PINCH_", "COVERAGE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment |= settings or {}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_holds_the_client_the_server_and_the_migrations(wheel: Path) -> None:
    """Client, generated code, type marker, server and database revisions are all in the wheel."""
    names = names_in(wheel)
    assert {
        "pinch/__init__.py",
        "pinch/py.typed",
        "pinch/v1/prune_pb2.py",
        "pinch/v1/prune_pb2.pyi",
        "pinch/v1/prune_pb2_grpc.py",
        "pinch_server/entry.py",
        "pinch_server/migrations/env.py",
    } <= names
    revisions = {
        f"pinch_server/migrations/versions/{path.name}"
        for path in (ROOT / "migrations/versions").glob("*.py")
    }
    assert revisions
    assert revisions <= names


def test_holds_every_module_of_the_source(wheel: Path) -> None:
    """No file of either package is left out of the wheel."""
    expected = {
        path.relative_to(root).as_posix()
        for root, package in ((ROOT / "server", "pinch_server"), (ROOT / "clients" / "python", "pinch"))
        for path in (root / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert expected - names_in(wheel) == set()


def test_holds_nothing_else(wheel: Path) -> None:
    """The wheel installs two packages and its metadata: no tests, no benches, no shared top-level folder."""
    tops = {name.split("/")[0] for name in names_in(wheel)}
    assert tops == {"pinch", "pinch_server", f"pinch_grpc-{__version__}.dist-info"}
    assert not [
        name for name in names_in(wheel) if "test_" in name or "__pycache__" in name or name.endswith(".pyc")
    ]


def test_the_base_is_the_client(wheel: Path) -> None:
    """Without an extra, the wheel asks for grpcio and protobuf only."""
    base = wanted(metadata_of(wheel).get_all("Requires-Dist", []), set())
    assert {Requirement(str(requirement)).name for requirement in base} == {"grpcio", "protobuf"}


def test_the_client_works_on_the_base(base: Path, tmp_path: Path) -> None:
    """After `pip install .` the client and its generated code can be imported."""
    done = run([base / "python", "-W", "error", "-c", "import pinch, pinch.v1.prune_pb2_grpc"], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"], ["serve"], ["prune", "-"]])
def test_the_command_on_the_base_tells_how_to_install_the_server(
    base: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """Without the server's dependencies `pinch` prints the install line to standard error and exits 2."""
    done = run([base / "pinch", *arguments], tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert INSTALL_COMMAND in done.stderr
    assert "missing" not in done.stderr, "an install of the client alone misses nothing"
    assert done.stderr.count("\n") == 1


def test_the_extra_brings_the_whole_command(full: Path, tmp_path: Path) -> None:
    """After `pip install '.[server]'` the command helps with each of its verbs."""
    done = run([full / "pinch", "--help"], tmp_path)
    assert done.returncode == 0, done.stderr
    for verb in ("serve", "prune", "migrate", "config"):
        assert verb in done.stdout


def test_migrates_from_the_wheel(full: Path, tmp_path: Path) -> None:
    """`pinch migrate up` finds its revisions inside the wheel, and `check` then agrees."""
    database = tmp_path / "decisions.sqlite3"
    settings = {"PINCH_STORE__DATABASE_URL": f"sqlite:///{database}"}
    done = run([full / "pinch", "migrate", "up"], tmp_path, settings)
    assert done.returncode == 0, done.stderr
    assert database.is_file()
    checked = run([full / "pinch", "migrate", "check"], tmp_path, settings)
    assert checked.returncode == 0, checked.stderr
