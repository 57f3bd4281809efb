"""Originals over the wire: by an edit's reference, for the tenant alone, and a miss that ends the asking."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
import sqlalchemy

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.app import App
from pinch_server.settings import (
    JournalSettings,
    OriginalsSettings,
    ServerSettings,
    Settings,
    StoreSettings,
)
from pinch_server.store import migrate
from pinch_server.store.engine import open_engine
from tests.cli.commands import invoke, run
from tests.rpc.conversations import body, messages
from tests.rpc.service import refusal

FREE = "127.0.0.1:0"
SECRET = "a secret of the tests"
LIMITS = pb.Limits(budget_tokens=2_000, keep_last_turns=1)


@contextmanager
def serving(
    directory: Path,
    *,
    tokens: Path | None = None,
    originals: OriginalsSettings,
    url: str = "",
    threads: int = 16,
) -> Iterator[str]:
    app = App(
        Settings(
            server=ServerSettings(listen=FREE, http_listen=FREE, workers=1, tokens=tokens, threads=threads),
            store=StoreSettings(state_dir=directory, database_url=url),
            journal=JournalSettings(),
            originals=originals,
        )
    )
    app.start()
    try:
        yield app.addresses.grpc
    finally:
        app.stop()


def bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")] if token else []


def pruned(address: str, token: str = "", sent: bytes | None = None) -> pb.PruneResponse:
    with grpc.insecure_channel(address) as channel:
        request = pb.PruneRequest(body=pb.RequestBody(json=sent or body()), limits=LIMITS)
        return PruneServiceStub(channel).Prune(request, timeout=30, metadata=bearer(token))


def expanded(address: str, reference: str, token: str = "") -> str:
    with grpc.insecure_channel(address) as channel:
        request = pb.ExpandRequest(reference=reference)
        reply = PruneServiceStub(channel).Expand(request, timeout=30, metadata=bearer(token))
        return str(reply.text)


KEPT = OriginalsSettings(enabled=True, key=SECRET)


def test_every_trimmed_text_can_be_had_again(tmp_path: Path) -> None:
    """Each edit's reference gives the very text that it replaced, also after a restart."""
    with serving(tmp_path, originals=KEPT) as address:
        edits = pruned(address).edits
    assert edits
    whole = body()
    with serving(tmp_path, originals=KEPT) as address:
        for edit in edits:
            assert edit.reference
            replaced = json.loads(whole[edit.offset : edit.offset + edit.length])
            assert expanded(address, edit.reference) == replaced
        assert [edit.reference for edit in pruned(address).edits] == [edit.reference for edit in edits]


def test_a_miss_ends_the_asking(tmp_path: Path) -> None:
    """A reference that was never given out is NOT_FOUND, and the message says what to do instead."""
    with serving(tmp_path, originals=KEPT) as address:
        for reference in ("", "x", "a" * 24, "../../etc/passwd", "a" * 100_000):
            with pytest.raises(grpc.RpcError) as caught:
                expanded(address, reference)
            found = refusal(caught.value)
            assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "NO_ORIGINAL")
            assert "do not ask again, run the tool again" in found.message


def test_tenants_are_apart(tmp_path: Path) -> None:
    """A token's name is its tenant: another one's reference is a miss, and its own are others."""
    blue, red = "b" * 40, "r" * 40
    tokens = tmp_path / "tokens"
    tokens.write_text(f"blue prune plain:{blue}\nred prune plain:{red}\n")
    tokens.chmod(0o600)
    with serving(tmp_path, tokens=tokens, originals=KEPT) as address:
        first, second = pruned(address, blue).edits[0], pruned(address, red).edits[0]
        assert first.reference != second.reference
        with pytest.raises(grpc.RpcError) as caught:
            expanded(address, first.reference, red)
        assert refusal(caught.value).code is grpc.StatusCode.NOT_FOUND
    with serving(tmp_path, tokens=tokens, originals=KEPT) as address:
        assert expanded(address, first.reference, blue) == expanded(address, second.reference, red)


def test_nothing_is_kept_unasked(tmp_path: Path) -> None:
    """Off by default: edits have no reference, and the edits are otherwise the same."""
    with serving(tmp_path / "off", originals=OriginalsSettings()) as address:
        without = pruned(address).edits
    with serving(tmp_path / "on", originals=KEPT) as address:
        given = pruned(address).edits
    assert [edit.reference for edit in without] == [""] * len(without)
    assert [edit.replacement for edit in given] == [edit.replacement for edit in without]


def test_the_command_prints_the_original(tmp_path: Path) -> None:
    """`pinch expand` prints the text alone, or as JSON; without one it says what to do and fails."""
    with serving(tmp_path, originals=KEPT) as address:
        edit = pruned(address).edits[0]
    text = json.loads(body()[edit.offset : edit.offset + edit.length])
    with serving(tmp_path, originals=KEPT) as address:
        plain = invoke("expand", edit.reference, "--server", address)
        assert plain.exit_code == 0
        # The service in this process writes its log lines to the same place.
        assert plain.output.endswith(text)
        shown = invoke("expand", edit.reference, "--server", address, "--json")
        assert json.loads(shown.output.splitlines()[-1]) == {"reference": edit.reference, "text": text}
        missed = invoke("expand", "nothing", "--server", address)
        assert missed.exit_code == 1
        assert "run the tool again" in missed.output


def test_the_command_prints_the_original_to_the_byte(tmp_path: Path) -> None:
    """Escape sequences and letters that the locale does not have come out of a pipe as they went in."""
    said = messages()
    for message in said:
        if message["role"] == "tool":
            message["content"] = f"\x1b[31mred\x1b[0m \x00 {message['content']}"
    coloured = body(said)
    with serving(tmp_path / "state", originals=KEPT) as address:
        edit = pruned(address, sent=coloured).edits[0]
    text = json.loads(coloured[edit.offset : edit.offset + edit.length])
    assert "\x1b[31m" in text
    with serving(tmp_path / "state", originals=KEPT) as address:
        done = run(
            "expand",
            edit.reference,
            "--server",
            address,
            home=tmp_path,
            variables={"PYTHONIOENCODING": "ascii"},
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == text.encode()


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("x", "--timeout", "nan"), 2, b"timeout must be a number of seconds above 0"),
        (("x", "--token-file", "odd.token"), 2, b"token must be printable ASCII"),
        ((b"\xff\xfe".decode("utf-8", "surrogateescape"),), 1, b"nobody answers at 127.0.0.1:1"),
    ],
    ids=["timeout", "token", "reference"],
)
def test_the_command_takes_no_nonsense_for_a_fault(
    tmp_path: Path, options: tuple[str, ...], status: int, words: bytes
) -> None:
    """What cannot be sent ends with words and a status, never with a traceback."""
    (tmp_path / "odd.token").write_text("tök\n")
    options = tuple(str(tmp_path / one) if one.endswith(".token") else one for one in options)
    done = run("expand", *options, "--server", "127.0.0.1:1", home=tmp_path)
    assert (done.returncode, done.stdout) == (status, b"")
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_conversation_waits_behind_originals(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the table hangs and more ask for originals than calls have threads, conversations are pruned."""
    monkeypatch.setattr("pinch_server.store.originals._EXPAND_SECONDS", 60.0)
    migrate.up(postgres_url)
    with serving(tmp_path, originals=KEPT, url=postgres_url) as address:
        edit = pruned(address).edits[0]
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    engine = open_engine(postgres_url)
    with (
        serving(tmp_path, originals=KEPT, url=postgres_url, threads=2) as address,
        grpc.insecure_channel(address) as channel,
    ):
        stub = PruneServiceStub(channel)
        with engine.connect() as connection, engine.connect() as other:
            connection.execute(sqlalchemy.text("LOCK TABLE originals IN ACCESS EXCLUSIVE MODE"))
            asked = [
                stub.Expand.future(pb.ExpandRequest(reference=edit.reference), timeout=60) for _ in range(8)
            ]
            while other.execute(sqlalchemy.text(waiting)).scalar_one() < 2:
                other.rollback()
            assert pruned(address).edits[0].reference == edit.reference
            assert not any(one.done() for one in asked)
        assert len({one.result().text for one in asked}) == 1
    engine.dispose()
