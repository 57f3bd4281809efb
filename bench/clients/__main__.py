"""``python -m bench.clients``: the table of what each client adds to a bare call."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import grpc
from rich.console import Console
from rich.table import Table

from bench.conversations import generate_bytes
from bench.running_server import running_server
from pinch import MESSAGE_LIMIT_BYTES
from pinch.v1.prune_pb2 import Limits, PruneRequest, ReplyForm, RequestBody
from pinch.v1.prune_pb2_grpc import PruneServiceStub

SIZES = (3_000, 324_000, 1_000_000)
PYTHON = f"{shlex.quote(sys.executable)} -m bench.clients.python_driver"
_SECONDS = 600.0
_WIDTH = 110
_SEED = 1
# All that may be trimmed is trimmed, whatever the size: a small session, too, has edits to apply.
_BUDGET_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """One language's figures for one size and form, medians over the calls, in milliseconds.

    Attributes:
        language: Which client.
        form: `bytes` or `object`.
        tokens: Wanted size of the session.
        body_bytes: Its size on the wire.
        edits: How many edits the reply had.
        stub_cpu: CPU time of a bare call.
        own_cpu: What the client's call takes on top, pair by pair.
        ratio: CPU time of the client's call over that of the bare one.
        wall_ratio: The same for wall time.
    """

    language: str
    form: str
    tokens: int
    body_bytes: int
    edits: int
    stub_cpu: float
    own_cpu: float
    ratio: float
    wall_ratio: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the measurement; 1 when a driver failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.clients", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="tokens, separated by commas")
    parser.add_argument("--calls", type=int, default=40, help="pairs of calls for each size (default 40)")
    parser.add_argument("--driver", action="append", default=[], help="command of a further language")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args(argv)
    rows: list[Row] = []
    for tokens in map(int, given.sizes.split(",")):
        with TemporaryDirectory() as folder:
            try:
                rows += measure(tokens, given.calls, [PYTHON, *given.driver], Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{shlex.join(error.cmd)}: {error.stderr}", file=sys.stderr)
                return 1
    if given.json:
        print(json.dumps([{name: getattr(row, name) for name in Row.__slots__} for row in rows]))
    else:
        Console(width=_WIDTH).print(_table(rows))
    return 0


def measure(tokens: int, calls: int, drivers: Sequence[str], folder: Path) -> list[Row]:
    """The rows of one size.

    Raises:
        subprocess.CalledProcessError: A driver failed.
    """
    body = generate_bytes(_SEED, tokens=tokens, images=False)
    file, reply = folder / "body.json", folder / "reply"
    file.write_bytes(body)
    edits = _reply_of_a_service(body, tokens, folder, reply)
    rows = []
    with _repeating(reply) as address:
        for driver in drivers:
            command = [*shlex.split(driver), address, str(file), str(calls)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            told = json.loads(done.stdout)
            rows += [
                _row(told["language"], form, times, (tokens, len(body), edits))
                for form, times in told["forms"].items()
            ]
    return rows


def _row(language: str, form: str, times: dict[str, list[float]], about: tuple[int, int, int]) -> Row:
    stub, client = times["stub_cpu_ms"], times["client_cpu_ms"]
    tokens, body_bytes, edits = about
    return Row(
        language=language,
        form=form,
        tokens=tokens,
        body_bytes=body_bytes,
        edits=edits,
        stub_cpu=median(stub),
        own_cpu=median(with_client - bare for bare, with_client in zip(stub, client, strict=True)),
        ratio=median(client) / median(stub),
        wall_ratio=median(times["client_wall_ms"]) / median(times["stub_wall_ms"]),
    )


def _reply_of_a_service(body: bytes, tokens: int, folder: Path, reply: Path) -> int:
    """Writes down how a real service answers; how many edits that has."""
    request = PruneRequest(
        body=RequestBody(json=body),
        limits=Limits(
            budget_tokens=int(tokens * _BUDGET_SHARE),
            target_tokens=1,
            keep_last_turns=1,
            keep_last_rounds=1,
            min_tokens_saved=0,
            min_gain=0,
        ),
        reply_form=ReplyForm.REPLY_FORM_EDITS,
    )
    options = [("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES)]
    state = folder / "state"
    state.mkdir()
    with running_server(state) as server, grpc.insecure_channel(server.grpc, options) as channel:
        answer = PruneServiceStub(channel).Prune(request, timeout=_SECONDS)
    reply.write_bytes(answer.SerializeToString())
    return len(answer.edits)


@contextmanager
def _repeating(reply: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.clients.canned", str(reply)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip() if process.stdout else ""
        finally:
            process.kill()


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="What a client adds to a bare call (medians, CPU time of its process)")
    for name in ("tokens", "client", "body", "edits", "bare call", "client's own", "ratio", "ratio, wall"):
        table.add_column(name, justify="left" if name == "client" else "right")
    for row in rows:
        values: list[Any] = [
            f"{row.tokens:,}",
            f"{row.language}, {row.form}",
            f"{row.body_bytes / 1e6:.2f} MB",
            row.edits,
            f"{row.stub_cpu:.2f} ms",
            f"{row.own_cpu:.2f} ms",
            f"{row.ratio:.2f}",
            f"{row.wall_ratio:.2f}",
        ]
        table.add_row(*map(str, values))
    return table


if __name__ == "__main__":
    raise SystemExit(main())
