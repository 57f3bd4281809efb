"""The README's Go code compiles with generated code, runs and keeps its word."""

import os
import shutil
from pathlib import Path

import pytest

from tests.readme.snippets import (
    ADDRESS,
    ROOT,
    Program,
    forwards_the_original,
    holds_its_promises,
    made,
    snippet,
)

MODULE = "github.com/pinch-grpc/pinch"
PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)
AROUND = """package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type send = func([]byte) error

func prune(ctx context.Context, address string, patience time.Duration, original []byte, forward send) error {
SNIPPET}

func main() {
	patience, err := time.ParseDuration(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	original, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	forward := func(body []byte) error { return os.WriteFile(os.Args[4], body, 0o600) }
	if err := prune(context.Background(), os.Args[1], patience, original, forward); err != nil {
		log.Fatal(err)
	}
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's code as a program that takes its address and its deadline."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    python = os.environ.get("PROTO_PYTHON", "")
    if not Path(python).is_file():
        pytest.skip("PROTO_PYTHON names no interpreter with grpcio-tools; `make test` sets it")
    folder = tmp_path_factory.mktemp("go")
    for file in (ROOT / "tests" / "readme" / "go").iterdir():
        shutil.copy(file, folder)
    tools = folder / "bin"
    for plugin in PLUGINS:
        made(["go", "install", plugin], folder, {"GOBIN": str(tools)})
    generate = [python, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}"]
    for name in ("go", "go-grpc"):
        generate += [f"--plugin=protoc-gen-{name}={tools / f'protoc-gen-{name}'}"]
        generate += [f"--{name}_out={folder}", f"--{name}_opt=module={MODULE}"]
    made([*generate, "pinch/v1/prune.proto"], folder)
    code = snippet("go", (f'"{ADDRESS}"', "address"), ("2*time.Second", "patience"))
    (folder / "main.go").write_text(AROUND.replace("SNIPPET", code))
    made(["go", "build", "-mod=readonly", "-o", "prune", "."], folder)
    return folder / "prune"


@pytest.fixture
def program(built: Path) -> Program:
    """The program's command line."""
    return lambda address, deadline: [built, address, f"{deadline}s"]


def test_what_is_forwarded_is_what_the_command_line_gives(program: Program, tmp_path: Path) -> None:
    """Bodies of any size, one over gRPC's own bound, come out as from `pinch prune`."""
    holds_its_promises(program, tmp_path)


def test_the_original_is_forwarded_when_nobody_answers(program: Program, tmp_path: Path) -> None:
    """A service that hangs, and one that is gone, cost the deadline and no request."""
    forwards_the_original(program, tmp_path)
