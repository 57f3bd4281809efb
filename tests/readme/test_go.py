"""The README's Go code compiles with the client, runs and keeps its word."""

import json
from pathlib import Path

import pytest

from tests.clients.go.toolchain import MODULE, needs_go
from tests.readme.snippets import (
    ADDRESS,
    Program,
    forwards_the_original,
    holds_its_promises,
    made,
    snippet,
)

AROUND = """package main

import (
	"context"
	"log"
	"os"
	"time"

	pinch "github.com/pinch-grpc/pinch/clients/go"
	"github.com/pinch-grpc/pinch/clients/go/pinchv1"
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
    needs_go()
    folder = tmp_path_factory.mktemp("go")
    code = snippet("go", (f'"{ADDRESS}"', "address"), ("2*time.Second", "patience"))
    (folder / "main.go").write_text(AROUND.replace("SNIPPET", code))
    # As if it lay in the client's module, whose locked dependencies it then has.
    overlay = {"Replace": {str(MODULE / "readme" / "main.go"): str(folder / "main.go")}}
    (folder / "overlay.json").write_text(json.dumps(overlay))
    build = ["go", "build", "-overlay", folder / "overlay.json", "-o", folder / "prune", "./readme"]
    made(build, MODULE, {"GOTOOLCHAIN": "local"})
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
