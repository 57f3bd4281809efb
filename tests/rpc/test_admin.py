"""Settings and knobs over gRPC, on a service of one process and on one of two."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from bench.running_server import RunningServer, running_server
from pinch import Limits, PinchClient
from pinch.v1 import admin_pb2 as pb
from pinch.v1.admin_pb2_grpc import AdminServiceStub
from pinch_server.settings import knobs
from tests.cli.commands import run
from tests.rpc.conversations import body
from tests.rpc.service import Service, refusal

SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)


@contextmanager
def admin(address: str) -> Iterator[AdminServiceStub]:
    with grpc.insecure_channel(address) as channel:
        yield AdminServiceStub(channel)


def turn(address: str, *, persist: bool = False, **fields: bool) -> pb.UpdateSettingsResponse:
    request = pb.UpdateSettingsRequest(runtime=pb.RuntimeSettings(**fields), persist=persist)
    with admin(address) as stub:
        return stub.UpdateSettings(request, timeout=20)


def shown(address: str) -> pb.GetSettingsResponse:
    with admin(address) as stub:
        return stub.GetSettings(pb.GetSettingsRequest(), timeout=20)


def is_pruned(address: str) -> bool:
    with PinchClient(address, strict=True, timeout=20) as client:
        return client.prune_openai(body(), limits=SMALL).pruned


def everywhere(running: RunningServer) -> tuple[str, ...]:
    return running.workers or (running.grpc,)


@pytest.fixture(params=["1", "2"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, "--workers", request.param) as started:
        yield started


def test_a_knob_is_turned_in_every_process_before_the_reply(running: RunningServer) -> None:
    """Pruning is off everywhere once the reply is there, and on after the next; the log has who did it."""
    before = shown(running.grpc)
    assert all(is_pruned(one) for one in everywhere(running))
    off = turn(running.grpc, pinch_enabled=False)
    assert not any(is_pruned(one) for one in everywhere(running))
    assert [shown(one).runtime.pinch_enabled for one in everywhere(running)] == [False] * len(
        everywhere(running)
    )
    assert off.settings_fingerprint != before.settings_fingerprint
    assert off.runtime == pb.RuntimeSettings(
        pinch_enabled=False, pinch_prefix_probe=True, pinch_relevance_enabled=True
    )
    for one in everywhere(running):
        sources = {setting.name: setting.source for setting in shown(one).settings}
        assert sources["enabled"] == pb.SETTING_SOURCE_RUNTIME
        assert sources["server.listen"] == pb.SETTING_SOURCE_COMMAND_LINE
        assert sources["prefix_probe"] == pb.SETTING_SOURCE_DEFAULT
    on = turn(everywhere(running)[-1], pinch_enabled=True)
    assert on.settings_fingerprint == before.settings_fingerprint
    assert all(is_pruned(one) for one in everywhere(running))
    assert running.stop() == 0
    lines = [json.loads(line) for line in running.log.read_text().splitlines() if line.startswith("{")]
    changes = [line for line in lines if line["event"] == "settings changed"]
    assert [line["changes"] for line in changes] == [
        {"enabled": {"old": True, "new": False}},
        {"enabled": {"old": False, "new": True}},
    ]
    assert all(line["request_id"] and line["peer"].startswith("ipv4:127.0.0.1") for line in changes)


def test_only_what_is_to_persist_survives_a_restart(tmp_path: Path) -> None:
    """A change with `persist` stands after the next start, for any number of processes; another does not."""
    with running_server(tmp_path, "--workers", "2") as running:
        turn(running.grpc, persist=True, pinch_prefix_probe=False)
        turn(running.grpc, pinch_enabled=False)
    assert json.loads((tmp_path / "runtime.json").read_text()) == {"prefix_probe": False}
    for count in ("1", "2"):
        with running_server(tmp_path, "--workers", count) as running:
            for one in everywhere(running):
                standing = shown(one).runtime
                assert (standing.pinch_enabled, standing.pinch_prefix_probe) == (True, False)


def test_a_knob_file_that_cannot_be_understood_ends_the_start(tmp_path: Path) -> None:
    """A kept change is never silently left out: the start fails with the file's name and what to do."""
    for text in ("no json", '{"enabled": 1}', '{"budget_tokens": true}'):
        (tmp_path / "runtime.json").write_text(text)
        done = run(
            *("serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir", str(tmp_path)),
            home=tmp_path,
        )
        assert done.returncode == 1
        assert "runtime.json" in done.stderr.decode()


def test_a_change_that_cannot_be_kept_is_not_made(running: RunningServer, tmp_path: Path) -> None:
    """Where `persist` fails, the reply is UNAVAILABLE with the reason, and all go on as before."""
    (tmp_path / "runtime.json").mkdir()
    with pytest.raises(grpc.RpcError) as caught:
        turn(running.grpc, persist=True, pinch_enabled=False)
    found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_TURNED")
    assert "cannot be kept" in found.message
    assert all(shown(one).runtime.pinch_enabled for one in everywhere(running))


def test_a_request_that_turns_nothing_is_refused(service: Service) -> None:
    """Without a knob the request is INVALID_ARGUMENT and names the field."""
    with pytest.raises(grpc.RpcError) as caught:
        AdminServiceStub(service.channel).UpdateSettings(pb.UpdateSettingsRequest(persist=True))
    found = refusal(caught.value)
    assert (found.code, set(found.violations)) == (grpc.StatusCode.INVALID_ARGUMENT, {"runtime"})


def test_every_setting_is_shown_and_no_secret(service: Service) -> None:
    """All settings come by name with JSON values, and secrets are marked."""
    reply = AdminServiceStub(service.channel).GetSettings(pb.GetSettingsRequest())
    names = [setting.name for setting in reply.settings]
    assert names == sorted(knob.key for knob in knobs())
    assert all(json.loads(setting.value_json) is not ... for setting in reply.settings)
    assert {setting.name for setting in reply.settings if setting.is_secret} == {
        knob.key for knob in knobs() if knob.secret
    }


def test_a_secret_that_is_set_is_not_told(tmp_path: Path) -> None:
    """Of a key in the settings file the reply says that it is set and where, not what it is."""
    config = tmp_path / "pinch.toml"
    config.write_text('session_hash_key = "0123456789abcdef-key"\n')
    with running_server(tmp_path, "--config", str(config)) as running:
        reply = shown(running.grpc)
    (key,) = [setting for setting in reply.settings if setting.name == "session_hash_key"]
    assert (key.value_json, key.source, key.is_secret) == ('"[redacted]"', pb.SETTING_SOURCE_FILE, True)
    assert "abcdef-key" not in str(reply)
