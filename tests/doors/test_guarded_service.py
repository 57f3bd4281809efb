"""`pinch serve` with TLS, tokens and two workers: what reaches every process, and what nothing gives away."""

import json
import sqlite3
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from bench.running_server import RunningServer, running_server
from pinch import CallError, Limits, PinchClient, Tls
from pinch.v1 import admin_pb2, prune_pb2
from pinch.v1.admin_pb2_grpc import AdminServiceStub
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from tests.cli.commands import command, environment, invoke, run
from tests.promises.test_privacy import PLANTED, planted
from tests.services.certificates import Authority, Pair
from tests.workers.processes import until

SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)
SECRETS = {role: f"planted-{role}-tellnoone-token" for role in ("prune", "insight", "admin")}
WRONG = "planted-wrong-tellnoone-token"


def write_tokens(path: Path, **more: str) -> None:
    """Puts the tokens above and others into the file, at once."""
    lines = [f"{role}er {role} plain:{token}" for role, token in (SECRETS | more).items()]
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines))
    part.chmod(0o600)
    part.replace(path)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory, pair: Pair) -> Pair:
    folder = tmp_path_factory.mktemp("guarded")
    at = Pair(folder / "cert.pem", folder / "key.pem")
    pair.copy_to(at)
    write_tokens(folder / "tokens")
    (folder / "pinch.toml").write_text(
        f'[server]\ntokens = "{folder}/tokens"\nchannelz = true\n'
        f'[server.tls]\ncert = "{at.chain}"\nkey = "{at.key}"\nhttp = true\n[log]\nlevel = "debug"\n'
    )
    return at


@pytest.fixture(scope="module")
def service(at: Pair) -> Iterator[RunningServer]:
    """A guarded service of two workers, for all tests of this file."""
    config = str(at.chain.parent / "pinch.toml")
    with running_server(at.chain.parent, "--config", config, "--workers", "2") as running:
        yield running


@pytest.fixture
def tls(authority: Authority) -> Tls:
    return Tls(root_certificates=authority.roots.read_bytes())


def channel(address: str, authority: Authority) -> grpc.Channel:
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority.roots.read_bytes()))


def bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")]


def read_page(service: RunningServer, authority: Authority, path: str, token: str | None) -> str:
    sent = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"https://{service.http}{path}", headers=sent)
    context = ssl.create_default_context(cafile=str(authority.roots))
    with urllib.request.urlopen(request, timeout=20, context=context) as reply:  # noqa: S310 https alone
        text: str = reply.read().decode()
        return text


def metric(service: RunningServer, authority: Authority, name: str) -> float:
    page = read_page(service, authority, "/metrics", SECRETS["insight"])
    return float(next(line for line in page.splitlines() if line.startswith(f"{name} ")).rsplit(" ", 1)[1])


def prunes(address: str, tls: Tls, token: str) -> grpc.StatusCode | None:
    """None when a call goes through, else its status."""
    with PinchClient(address, strict=True, timeout=20, tls=tls, token=token) as client:
        try:
            assert client.prune_openai(planted(), limits=SMALL).pruned
        except CallError as error:
            return error.code
    return None


def test_the_command_line_reaches_a_guarded_service(
    service: RunningServer, authority: Authority, at: Pair, tmp_path: Path
) -> None:
    """`healthcheck` needs TLS and no token, `prune --server` both; without them each says what is wrong."""
    roots, token = str(authority.roots), tmp_path / "token"
    token.write_text(f"{SECRETS['prune']}\n")
    assert invoke("healthcheck", "--server", service.grpc, "--tls-ca", roots).exit_code == 0
    assert invoke("healthcheck", "--server", service.grpc).exit_code == 1
    own = {
        "PINCH_SERVER__LISTEN": service.grpc,
        "PINCH_SERVER__TLS__CERT": str(at.chain),
        "PINCH_SERVER__TLS__KEY": str(at.key),
    }
    assert run("healthcheck", home=tmp_path, variables=own).returncode == 0
    through = ("prune", "--server", service.grpc, "--tls-ca", roots, "--limit", "budget_tokens=2000")
    pruned = invoke(*through, "--token-file", str(token), stdin=planted())
    assert (pruned.exit_code, len(pruned.stdout_bytes) < len(planted())) == (0, True)
    refused = invoke(*through, stdin=planted())
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "needs a token" in refused.stderr
    for options in (("--tls-name", "x"), ("--tls", "--tls-cert", roots), ("--token-file", "/dev/null")):
        assert invoke("prune", "--server", service.grpc, *options, stdin=b"{}").exit_code == 2
    assert invoke("prune", "--token-file", str(token), stdin=b"{}").exit_code == 2


def test_a_change_of_a_knob_is_written_down_with_the_tokens_name(
    service: RunningServer, authority: Authority
) -> None:
    """The log has the request id, the peer, the name of the token and its roles, and not the token."""
    with channel(service.grpc, authority) as to:
        AdminServiceStub(to).UpdateSettings(
            admin_pb2.UpdateSettingsRequest(runtime=admin_pb2.RuntimeSettings(pinch_prefix_probe=False)),
            metadata=[*bearer(SECRETS["admin"]), ("x-request-id", "audited")],
        )

    def changes() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if line.get("event") == "settings changed"]

    # The line is on its way when the answer is.
    until(lambda: bool(changes()))
    (line,) = changes()
    assert (line["request_id"], line["token"], line["roles"]) == ("audited", "adminer", ["admin"])
    assert line["peer"].startswith("ipv4:127.0.0.1:")


def test_new_tokens_reach_every_process(service: RunningServer, at: Pair, tls: Tls) -> None:
    """After the file has changed, each worker and the HTTP port take the new token and not the old one."""
    path = at.chain.parent / "tokens"
    old = "planted-leaving-tellnoone-token"
    write_tokens(path, prune=old)
    for own in service.workers:
        until(lambda own=own: prunes(own, tls, old) is None)
    write_tokens(path)
    for own in service.workers:
        until(lambda own=own: prunes(own, tls, old) is grpc.StatusCode.UNAUTHENTICATED)
        assert prunes(own, tls, SECRETS["prune"]) is None


def test_a_new_certificate_reaches_every_worker_under_load(
    service: RunningServer, authority: Authority, at: Pair, tls: Tls
) -> None:
    """Under calls on new connections a broken and good pairs come: no call fails, and their end is told."""
    stop, failed, calls = threading.Event(), [], [0, 0]

    def keep_calling(index: int) -> None:
        while not stop.is_set():
            code = prunes(service.workers[index], tls, SECRETS["prune"])
            if code is not None:
                failed.append(code)
            calls[index] += 1

    def two_more() -> None:
        before = list(calls)
        until(lambda: bool(failed) or all(now >= then + 2 for now, then in zip(calls, before, strict=True)))

    callers = [threading.Thread(target=keep_calling, args=(index,)) for index in range(2)]
    for caller in callers:
        caller.start()
    try:
        two_more()
        kept = 'pinch_door_files_changed_total{kind="certificate",result="kept"}'
        taken = 'pinch_door_files_changed_total{kind="certificate",result="taken"}'
        at.key.write_text("planted-key-tellnoone\n")
        two_more()
        # Both workers, and the HTTP port in the process above them.
        until(lambda: metric(service, authority, kept) >= 3)
        before = metric(service, authority, taken)
        authority.issue("next").copy_to(at)
        two_more()
        until(lambda: metric(service, authority, taken) >= before + 3)
        two_more()
        authority.issue("shorter", ends="20980101000000Z").copy_to(at)
        until(lambda: metric(service, authority, taken) >= before + 6)
        ends = datetime(2098, 1, 1, tzinfo=UTC).timestamp()
        assert metric(service, authority, "pinch_certificate_expires_timestamp_seconds") == ends
    finally:
        stop.set()
        for caller in callers:
            caller.join()
    assert failed == []
    assert service.log.read_text().count("the certificates stay as they were") >= 3


def test_nothing_gives_a_token_or_a_word_away(service: RunningServer, authority: Authority, at: Pair) -> None:
    """After calls of every kind over both doors, no planted token or word is in an error, a log or a row."""
    said: list[str] = []
    for token in (SECRETS["prune"], SECRETS["insight"], WRONG):
        for scheme in ("Bearer ", "Basic ", "Bearer  ", ""):
            with channel(service.grpc, authority) as to:
                for json_bytes in (planted(), planted()[:-40]):
                    request = prune_pb2.PruneRequest(body=prune_pb2.RequestBody(json=json_bytes))
                    try:
                        PruneServiceStub(to).Prune(request, metadata=[("authorization", scheme + token)])
                    except grpc.RpcError as error:
                        said += [repr(error), str(error.trailing_metadata())]
                try:
                    to.unary_unary("/no.Such/Method")(b"", metadata=[("authorization", scheme + token)])
                except grpc.RpcError as error:
                    said += [repr(error), str(error.trailing_metadata())]
        try:
            said.append(read_page(service, authority, "/metrics", token))
        except urllib.error.HTTPError as error:
            said += [error.read().decode(), str(error.headers)]
    tokens = at.chain.parent / "tokens"
    tokens.write_text(f"{WRONG} prune {SECRETS['prune']}\n")
    kept = 'pinch_door_files_changed_total{kind="tokens",result="kept"}'
    until(lambda: metric(service, authority, kept) >= 1)
    write_tokens(tokens)
    said += [read_page(service, authority, "/metrics", SECRETS["insight"])]
    settings = {"PINCH_CONFIG": str(at.chain.parent / "pinch.toml")}
    shown = subprocess.run(
        command("config", "show"),
        env=environment(at.chain.parent, **settings),
        capture_output=True,
        text=True,
        check=True,
    )
    said += [shown.stdout, shown.stderr, service.log.read_text()]
    with closing(sqlite3.connect(service.database.removeprefix("sqlite:///"))) as connection:
        said += list(connection.iterdump())
    whole = "\n".join(said)
    assert "NO_VALID_TOKEN" in whole
    assert "NO_SUCH_ROLE" in whole
    for secret in (*PLANTED, "tellnoone"):
        assert secret not in whole


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda at: at.key.write_text("tellnoone"), "hold no certificate and key in PEM"),
        (lambda at: at.key.chmod(0o604), "has mode 0604"),
        (lambda at: at.chain.unlink(), "cert.pem cannot be read: No such file or directory"),
        (lambda at: (at.chain.parent / "tokens").write_text("tellnoone"), "tokens, line 1: has not the form"),
        (lambda at: (at.chain.parent / "tokens").unlink(), "tokens cannot be read: No such file"),
    ],
)
def test_a_start_with_a_bad_file_is_refused(
    place: Pair, tmp_path: Path, break_it: object, words: str
) -> None:
    """A certificate, key or file of tokens that cannot be used stops the start with one line and status 1."""
    write_tokens(tmp_path / "tokens")
    break_it(place)  # type: ignore[operator]
    done = run(
        *("serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "1"),
        *("--tls-cert", str(place.chain), "--tls-key", str(place.key), "--tokens", str(tmp_path / "tokens")),
        home=tmp_path,
    )
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert words in line
    assert "tellnoone" not in line


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_door_open_to_all_is_told(tmp_path: Path, is_guarded: bool) -> None:
    """A service that other machines reach and that asks nobody who they are says so at its start."""
    write_tokens(tmp_path / "tokens")
    options = ["--tokens", str(tmp_path / "tokens")] if is_guarded else []
    with running_server(tmp_path, "--insecure", "--listen", "0.0.0.0:0", *options) as running:
        assert running.stop() == 0
        log = running.log.read_text()
    assert ("may call every method" in log) is not is_guarded
    assert ("in plain text (server.insecure)" in log) is is_guarded
