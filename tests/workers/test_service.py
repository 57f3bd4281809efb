"""`pinch serve` with several workers: real processes, killed, replaced and stopped."""

import json
import os
import re
import signal
import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest

from bench.running_server import RunningServer, running_server
from bench.scrape import scrape, series
from pinch import Limits, PinchClient
from tests.cli.commands import environment, run
from tests.rpc.conversations import body
from tests.workers.processes import children, is_running, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes in /proc")

SMALL = Limits(budget_tokens=2_000, keep_last_turns=1)
STARTED = 'grpc_server_started_total{grpc_method="Prune",grpc_service="pinch.v1.PruneService"}'


def prune(address: str, times: int = 1) -> list[str]:
    """Prunes a body some times; the decisions' ids."""
    with PinchClient(address, strict=True, timeout=20) as client:
        pruned = [client.prune_openai(body(), limits=SMALL) for _ in range(times)]
    assert all(one.pruned and one.persisted for one in pruned)
    return [one.decision_id for one in pruned]


def stored(running: RunningServer) -> list[str]:
    """The ids in the database, each as often as it is there."""
    with closing(sqlite3.connect(running.database.removeprefix("sqlite:///"))) as connection:
        return [row[0] for row in connection.execute("SELECT decision_id FROM prune_decisions")]


def metric(running: RunningServer, name: str) -> float:
    return series(scrape(running.http))[name]


def worker_calls(log: Path) -> list[int]:
    """Which worker each call in the log went to."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line["worker"] for line in lines if line["event"] == "call"]


@contextmanager
def two_workers(state: Path, *options: str) -> Iterator[RunningServer]:
    with running_server(state, "--workers", "2", *options) as running:
        assert len(children(running.process.pid)) == 2
        yield running


def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    """After SIGKILL the ports answer as before, counts go on, and what was acknowledged is stored once."""
    with two_workers(tmp_path) as running:
        ids = [one for own in running.workers for one in prune(own, 10)]
        before = children(running.process.pid)
        assert metric(running, STARTED) == 20
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: metric(running, "pinch_worker_restarts_total") == 2)
        assert metric(running, STARTED) == 20
        until(lambda: len(set(children(running.process.pid)) - set(before)) == 2)
        until(lambda: answers(running.http) and all(map(is_there, running.workers)))
        ids += [one for own in (running.grpc, *running.workers) for one in prune(own, 5)]
        assert metric(running, STARTED) == 35
        # Of the rows, those in a dead worker's journal come by adoption, while the service runs.
        until(lambda: sorted(stored(running)) == sorted(ids))
        assert running.stop() == 0
    assert "was ended by signal 9" in running.log.read_text()
    assert sorted(stored(running)) == sorted(ids)
    assert list((tmp_path / "journal").iterdir()) == []


def answers(http: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{http}/healthz", timeout=5) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError:
        return False


def is_there(address: str) -> bool:
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(5)
        except grpc.FutureTimeoutError:
            return False
    return True


def test_the_port_answers_while_a_worker_is_away(tmp_path: Path) -> None:
    """With one worker gone, new connections to the shared port go to the other, and readiness stays."""
    with two_workers(tmp_path) as running:
        os.kill(children(running.process.pid)[0], signal.SIGKILL)
        until(lambda: metric(running, "pinch_worker_restarts_total") == 1)
        assert answers(running.http)
        prune(running.grpc, 5)


def test_one_channel_spreads_calls_over_the_own_ports(tmp_path: Path) -> None:
    """Round robin over the workers' own ports gives each worker half of the calls of one channel."""
    with two_workers(tmp_path) as running:
        prune(f"ipv4:{','.join(running.workers)}", 20)
        assert metric(running, STARTED) == 20
        assert running.stop() == 0
    calls = worker_calls(running.log)
    assert len(calls) == 20
    assert abs(calls.count(0) - calls.count(1)) <= 2


def test_a_stop_under_load_finishes_the_calls(tmp_path: Path) -> None:
    """At SIGTERM no acknowledged decision is lost, the journals are emptied, and the exit status is 0."""
    acknowledged: list[str] = []
    enough = threading.Event()

    def call(address: str) -> None:
        with PinchClient(address, strict=True, timeout=20) as client:
            while True:
                try:
                    acknowledged.append(client.prune_openai(body(), limits=SMALL).decision_id)
                except Exception:  # noqa: BLE001 the service is gone, however that looks from here
                    return
                if len(acknowledged) > 100:
                    enough.set()

    with two_workers(tmp_path) as running:
        callers = [threading.Thread(target=call, args=(own,)) for own in running.workers * 2]
        for caller in callers:
            caller.start()
        assert enough.wait(60)
        assert running.stop() == 0
        for caller in callers:
            caller.join()
    assert set(acknowledged) <= set(stored(running))
    assert list((tmp_path / "journal").iterdir()) == []


def test_workers_go_when_their_parent_is_killed(tmp_path: Path) -> None:
    """Without the parent no worker stays behind, and each leaves its decisions in the database."""
    with two_workers(tmp_path) as running:
        ids = [one for own in running.workers for one in prune(own, 5)]
        workers = children(running.process.pid)
        running.process.kill()
        running.process.wait()
        until(lambda: not any(map(is_running, workers)))
    assert sorted(stored(running)) == sorted(ids)


def test_a_worker_that_is_asked_to_stop_is_replaced(tmp_path: Path) -> None:
    """SIGTERM to one worker drains it and brings a new one, as an operator's way to renew a process."""
    with two_workers(tmp_path) as running:
        ids = prune(running.workers[0], 5)
        first = children(running.process.pid)
        os.kill(first[0], signal.SIGTERM)
        until(lambda: len(set(children(running.process.pid)) - set(first)) == 1)
        until(lambda: is_there(running.workers[0]) and is_there(running.workers[1]))
        ids += prune(running.workers[0], 5) + prune(running.workers[1], 5)
        assert running.stop() == 0
    assert "ended with status 0" in running.log.read_text()
    assert sorted(stored(running)) == sorted(ids)


def test_own_ports_may_be_named(tmp_path: Path) -> None:
    """`server.worker_port` gives the first of the workers' own ports; the others follow."""
    with two_workers(tmp_path) as running:
        first = int(running.workers[0].rpartition(":")[2])
    (tmp_path / "pinch.toml").write_text(f"[server]\nworker_port = {first}\n")
    with two_workers(tmp_path, "--config", str(tmp_path / "pinch.toml")) as running:
        assert running.workers == (f"127.0.0.1:{first}", f"127.0.0.1:{first + 1}")


def test_two_services_do_not_share_a_port(tmp_path: Path) -> None:
    """A second service, of one process or of several, is refused the shared port and the own ones."""
    (tmp_path / "first").mkdir()
    with two_workers(tmp_path / "first") as running:
        for taken in (running.grpc, *running.workers):
            for count in ("1", "2"):
                done = run(
                    *("serve", "--listen", taken, "--http", "127.0.0.1:0", "--workers", count),
                    *("--state-dir", str(tmp_path / "second")),
                    home=tmp_path,
                )
                assert (done.returncode, done.stdout) == (1, b"")
                assert f"cannot listen on {taken}" in done.stderr.decode()
        prune(running.grpc)


def test_a_worker_that_cannot_start_ends_the_start(tmp_path: Path) -> None:
    """When the workers cannot start, the service says why in one line, status 1, and leaves no process."""
    done = run(
        *("serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "2"),
        *("--state-dir", str(tmp_path / "state")),
        home=tmp_path,
        variables={
            "PINCH_RELEVANCE__SCORING": "hybrid",
            "PYTHONPATH": os.pathsep.join(
                [str(_without_model(tmp_path)), environment(tmp_path)["PYTHONPATH"]]
            ),
        },
    )
    assert (done.returncode, done.stdout) == (1, b"")
    words = done.stderr.decode()
    assert "Traceback" not in words
    assert "relevance.scoring" in words
    assert not re.search(r"pinch_server\.(app\.)?worker", words)


def _without_model(directory: Path) -> Path:
    """A path on which the distribution with the embedded model has no files."""
    found = directory / "path" / "wordllama-0.4.0.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: wordllama\nVersion: 0.4.0\n")
    return found.parent


def test_a_unix_socket_has_one_process(tmp_path: Path) -> None:
    """Left to itself, a service on a unix socket runs in one process; more are refused with the mend."""
    with running_server(tmp_path, "--listen", f"unix:{tmp_path}/s", "--workers", "auto") as running:
        assert running.workers == ()
        prune(running.grpc)
    done = run(
        *("serve", "--listen", f"unix:{tmp_path}/s", "--http", "127.0.0.1:0", "--workers", "2"), home=tmp_path
    )
    assert done.returncode == 2
    assert "cannot share" in done.stderr.decode()
