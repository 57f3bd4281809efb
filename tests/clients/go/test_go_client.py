"""The Go client's own tests and linters, run from here so that one command covers every language."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path

import pytest

from bench.clients.__main__ import main as measure_clients
from tests.clients.go.toolchain import MODULE, ROOT, go, needs_go, server_variables

TOOLS = MODULE / "tools"
GATEWAYS = MODULE / "examples" / "gateways"
PAGE = ROOT / "docs" / "integrations.md"
GENERATED = MODULE / "pinchv1"
BUF = Path(sysconfig.get_path("scripts")) / "buf"


@pytest.fixture(autouse=True)
def _go() -> None:
    needs_go()


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with staticcheck and protoc's plugins, in the versions that the module of tools locks."""
    needs_go(TOOLS)
    folder = tmp_path_factory.mktemp("tools")
    go("go", "install", "tool", folder=TOOLS, variables={"GOBIN": str(folder)})
    return folder


def test_go_tests() -> None:
    """`go test` passes, with the race detector where there is a C compiler, against this very server."""
    race = ["-race"] if shutil.which("cc") or shutil.which("gcc") else []
    # Not from Go's cache of results, which does not know the server.
    go("go", "test", *race, "-count=1", "./...", variables=server_variables())


def test_the_examples_for_gateways() -> None:
    """The plugin for Bifrost and the step for llm-d prune, report and fail open against this very server."""
    needs_go(GATEWAYS)
    go("go", "test", "-count=1", "./...", folder=GATEWAYS, variables=server_variables())


@pytest.mark.parametrize("example", ["bifrost/main.go", "llmd/step.go"])
def test_the_page_shows_the_examples_for_gateways(example: str) -> None:
    """What docs/integrations.md says to paste for Bifrost and llm-d is what those tests run."""
    shown = f"```go\n{(GATEWAYS / example).read_text(encoding='utf-8')}```\n"
    assert shown in PAGE.read_text(encoding="utf-8")


def test_the_driver_is_one_of_bench_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bench.clients has a row for Go, of a call whose reply has edits."""
    go("go", "build", "-o", tmp_path / "driver", "./internal/overhead")
    given = ["--sizes", "3000", "--calls", "2", "--json", "--driver", str(tmp_path / "driver")]
    assert measure_clients(given) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out) if row["language"] == "Go"]
    assert (row["form"], row["tokens"]) == ("bytes", 3_000)
    assert row["edits"] > 0


def test_gofmt() -> None:
    """Every file is formatted as gofmt does."""
    assert go("gofmt", "-l", ".") == ""


@pytest.mark.parametrize("module", [MODULE, GATEWAYS], ids=["client", "gateways"])
def test_go_vet(module: Path) -> None:
    """`go vet` has no complaint."""
    go("go", "vet", "./...", folder=module)


@pytest.mark.parametrize("module", [MODULE, GATEWAYS], ids=["client", "gateways"])
def test_staticcheck(tools: Path, module: Path) -> None:
    """No check of staticcheck has a complaint, so each exported name of the client has its comment."""
    go(tools / "staticcheck", "./...", folder=module)


@pytest.mark.parametrize("module", [MODULE, TOOLS, GATEWAYS], ids=["client", "tools", "gateways"])
def test_go_mod_is_tidy(module: Path) -> None:
    """go.mod and go.sum have what is needed and nothing else."""
    needs_go(module)
    go("go", "mod", "tidy", "-diff", folder=module)


def test_the_client_needs_grpc_and_protobuf_alone() -> None:
    """The module requires grpc-go and protobuf, and what those need, and no more."""
    direct = go("go", "list", "-m", "-f", "{{if not .Indirect}}{{.Path}}{{end}}", "all").split()
    assert [path for path in direct if "pinch" not in path] == [
        "google.golang.org/grpc",
        "google.golang.org/protobuf",
    ]


def test_committed_code_equals_generated_code(tools: Path, tmp_path: Path) -> None:
    """Generating pinchv1 again gives exactly the committed files, none more and none fewer."""
    path = {"PATH": f"{tools}:/usr/bin:/bin"}
    template = ROOT / "proto" / "buf.gen.go.yaml"
    go(BUF, "generate", "--template", template, "--output", tmp_path, folder=ROOT, variables=path)
    fresh = {file.name: file.read_bytes() for file in (tmp_path / "clients/go/pinchv1").iterdir()}
    committed = {file.name: file.read_bytes() for file in GENERATED.glob("*.pb.go")}
    assert sorted(committed) == sorted(fresh)
    differing = [name for name in fresh if committed[name] != fresh[name]]
    assert not differing, f"run `make proto-go`: {', '.join(sorted(differing))}"
    assert {file.name for file in GENERATED.iterdir()} - set(committed) == {"doc.go"}
