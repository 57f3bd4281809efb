"""`pinch prune --server` and `pinch healthcheck` against a real service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bench.running_server import RunningServer, running_server
from pinch_server.cli.pruning import wire_format
from pinch_server.formats.format import Format
from tests.cli.commands import invoke
from tests.rpc.conversations import body

SMALL = ("--limit", "budget_tokens=2000", "--limit", "keep_last_turns=1")
NOBODY = "127.0.0.1:1"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service for all tests of this file."""
    with running_server(tmp_path_factory.mktemp("service")) as running:
        yield running


def told(stats: Path) -> Any:
    account = json.loads(stats.read_bytes())
    assert account.pop("decision_id")
    return account


@pytest.mark.parametrize(
    "options",
    [
        [],
        SMALL,
        [*SMALL, "--dry-run"],
        [*SMALL, "--format", "openai-chat"],
        [*SMALL, "--limit", "protected_tools=", "--limit", "relevance=off", "--limit", "stability=per_call"],
    ],
)
def test_both_ways_give_the_same(service: RunningServer, options: list[str], tmp_path: Path) -> None:
    """Through a service or in process: the same bytes, and the same account but for the decision's id."""
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    in_process = invoke("prune", *options, "--stats", str(here), stdin=body())
    through = invoke("prune", *options, "--stats", str(there), "--server", service.grpc, stdin=body())
    assert in_process.exit_code == through.exit_code == 0
    assert through.stdout_bytes == in_process.stdout_bytes
    assert told(there) == told(here)


@pytest.mark.parametrize(
    ("stdin", "options"),
    [
        (b"nope", []),
        (b"[]", []),
        (b"{}", ["--format", "anthropic"]),
        (b"{}", ["--format", "openai-chat", "--limit", "budget_tokens=0", "--limit", "min_gain=-1"]),
        (body(), ["--limit", "keep_last_turns=99999999999"]),
        (body(), ["--limit", "protected_tools=a,,b"]),
        (body(), ["--limit", "budget_tokens=lots"]),
        (b"nope", ["--limit", "budget_tokens=lots", "--limit", "min_gain=-1", "--format", "nope"]),
        (b"nope", ["--limit", "keep_last_turns=99999999999", "--limit", "bugdet=1"]),
        ("守".encode("utf-16"), []),
    ],
)
def test_both_ways_refuse_in_the_same_words(service: RunningServer, stdin: bytes, options: list[str]) -> None:
    """Bad input ends with status 2, the same lines, and nothing on standard output, either way."""
    in_process = invoke("prune", *options, stdin=stdin)
    through = invoke("prune", *options, "--server", service.grpc, stdin=stdin)
    assert in_process.exit_code == through.exit_code == 2
    assert through.stdout_bytes == b""
    assert through.stderr == in_process.stderr != ""


def test_a_body_over_the_servers_message_limit_is_refused(tmp_path: Path) -> None:
    """A message that the service does not take is the caller's fault: status 2."""
    with running_server(
        tmp_path, "--config", str(_config(tmp_path, "[server]\nmax_message_bytes = 4096"))
    ) as small:
        result = invoke("prune", "--server", small.grpc, stdin=body())
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert result.stderr == "<stdin>: is longer than 4096 bytes, the most a message may have\n"


def test_what_no_request_holds_is_told_with_the_rest(service: RunningServer) -> None:
    """A setting of the service, a limit out of range and a bad body come in one report."""
    limits = ("--limit", "omit_images=false", "--limit", "budget_tokens=0")
    result = invoke("prune", "--server", service.grpc, *limits, stdin=b"nope")
    assert result.exit_code == 2
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        "limits.omit_images",
        "limits.budget_tokens",
        "<stdin>",
    ]


def test_a_limit_that_no_request_holds_is_named(service: RunningServer) -> None:
    """A limit that is a setting of the service alone is refused rather than left out in silence."""
    result = invoke("prune", "--server", service.grpc, "--limit", "omit_images=false", stdin=body())
    assert result.exit_code == 2
    assert "limits.omit_images" in result.stderr


@pytest.mark.parametrize(
    ("given", "gate"),
    [((), "economic_gate"), (("--cache", "warm"), "economic_gate"), (("--cache", "none"), "allowed")],
)
def test_what_the_cache_holds_is_told_to_the_service(
    given: tuple[str, ...], gate: str, tmp_path: Path
) -> None:
    """A service that extracts declines a provider that caches prompts, and one that nobody knows."""
    extract = "[extract]\nenabled = true\nmode = 'inline'\n[extract.model]\nbase_url = 'http://127.0.0.1:9'\n"
    with running_server(tmp_path, "--config", str(_config(tmp_path, extract))) as service:
        result = invoke("prune", *SMALL, *given, "--server", service.grpc, stdin=body())
        assert result.exit_code == 0
        page = urlopen(f"http://{service.http}/metrics").read().decode()
    gates = re.findall(r'pinch_extraction_considered_total\{gate="(\w+)"\} [1-9]', page)
    assert gate in gates
    assert not {"economic_gate", "allowed"} - {gate} & set(gates)


def test_the_cache_is_for_a_service() -> None:
    """In process nothing is extracted, so what the cache holds is refused rather than left out in silence."""
    result = invoke("prune", "--cache", "none", stdin=body())
    assert result.exit_code == 2
    assert "--cache is for --server" in result.stderr


def test_nobody_there_is_a_failure() -> None:
    """A service that does not answer ends with status 1, not with an unpruned body."""
    result = invoke("prune", "--server", NOBODY, stdin=body())
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert result.stderr == f"nobody answers at {NOBODY}: connection refused; is pinch serve running?\n"


@pytest.mark.parametrize(
    "address", [",", "http://127.0.0.1:50051", "localhost", "::1", "a:0", "a:b", "unix:", ""]
)
@pytest.mark.parametrize("command", [["prune"], ["healthcheck"]])
def test_an_address_that_is_none_is_refused(command: list[str], address: str) -> None:
    """What is neither HOST:PORT nor unix:PATH ends with status 2 and the forms, before anything is asked."""
    result = invoke(*command, "--server", address, stdin=body())
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "--server" in result.stderr
    assert "HOST:PORT" in " ".join(result.stderr.split())


@pytest.mark.parametrize("format", list(Format))
def test_every_dialect_has_its_number(format: Format) -> None:
    """Each dialect's own name leads to a number of the API that no other has."""
    numbers = [wire_format(one) for one in [None, *Format]]
    assert numbers.count(wire_format(format)) == 1


def test_healthcheck_of_a_service_that_takes_calls(
    service: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that takes calls gives status 0, by option or by the address of the settings."""
    assert invoke("healthcheck", "--server", service.grpc).exit_code == 0
    monkeypatch.setenv("PINCH_SERVER__LISTEN", service.grpc)
    result = invoke("healthcheck")
    assert (result.exit_code, result.stderr) == (0, f"{service.grpc}: SERVING\n")


def test_healthcheck_takes_a_time_that_ends() -> None:
    """A timeout that is no number of seconds is a wrong option, in words."""
    result = invoke("healthcheck", "--server", NOBODY, "--timeout", "nan")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "timeout must be a number of seconds above 0" in result.stderr


def test_healthcheck_where_nobody_answers() -> None:
    """Nobody at the address gives status 1 and says so."""
    result = invoke("healthcheck", "--server", NOBODY)
    assert result.exit_code == 1
    assert result.stderr == f"nobody answers at {NOBODY}: connection refused; is pinch serve running?\n"


def test_a_socket_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A unix socket that nobody made is told as a file that is not there."""
    result = invoke("healthcheck", "--server", f"unix:{tmp_path}/none.sock")
    assert result.exit_code == 1
    assert "no such file or directory; is pinch serve running?" in result.stderr


def test_a_decision_that_is_kept_is_named(service: RunningServer) -> None:
    """Through a service, people see the id under which the decision is stored."""
    result = invoke("prune", "--server", service.grpc, *SMALL, stdin=body())
    assert "\ndecision         " in result.stderr
    assert "budget           2,000: met" in result.stderr
    unknown = invoke("prune", "--server", service.grpc, stdin=body())
    assert "\nbudget           met\n" in unknown.stderr


def _config(folder: Path, text: str) -> Path:
    file = folder / "pinch.toml"
    file.write_text(text)
    return file
