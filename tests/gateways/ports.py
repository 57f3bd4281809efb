"""Mouths on a free loopback port, with everything real but the database."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.counting import Chars3, Counter
from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.limits import Limits
from pinch_server.decide import Decided, Decider, Lanes, Policy
from pinch_server.doors.tokens import Tokens
from pinch_server.doors.watched import Watched as WatchedFile
from pinch_server.gateways.http_port import MouthPort, MouthRules
from pinch_server.gateways.in_time import InTime
from pinch_server.gateways.mouth import Mouth
from pinch_server.gateways.mouths.compact import Compact
from pinch_server.gateways.mouths.headroom import Headroom
from pinch_server.gateways.mouths.litellm_guardrail import LitellmGuardrail
from pinch_server.gateways.mouths.portkey import Portkey
from pinch_server.gateways.mouths.prune_json import PruneJson
from pinch_server.ports import Recorder
from pinch_server.rpc.json_form import read_json
from tests.rpc.service import SMALL, Kept
from tests.test_decide import Watched

MIB = 1024 * 1024


@dataclass
class Held:
    """A recorder that holds whoever records until it is let go."""

    kept: Kept = field(default_factory=Kept)
    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    reported: threading.Event = field(default_factory=threading.Event)

    def record(self, decision: Decision) -> bool:
        self.reached.set()
        self.let_go.wait(30)
        return self.kept.record(decision)

    def report(self, outcome: Outcome) -> bool:
        is_kept = self.kept.report(outcome)
        self.reported.set()
        return is_kept

    def close(self) -> None:
        return


@dataclass(frozen=True)
class Stuck:
    """A counter that holds whoever counts until it is let go."""

    reached: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    inner: Counter = field(default_factory=Chars3)

    @property
    def method(self) -> str:
        return self.inner.method

    def error_bound(self, texts: Iterable[str]) -> float:
        return self.inner.error_bound(texts)

    def units(self, texts: Sequence[str]) -> list[int]:
        self.reached.set()
        self.let_go.wait(30)
        return self.inner.units(texts)

    def tokens(self, units: int) -> int:
        return self.inner.tokens(units)


@dataclass(frozen=True)
class Reply:
    """What a mouth answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Port:
    """Mouths that answer, and what they left behind."""

    address: str
    kept: Kept
    in_time: InTime
    accounts: list[tuple[str, str, Decided | None]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        with closing(http.client.HTTPConnection(self.address, timeout=30)) as connection:
            connection.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return Reply(
                answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
            )


@contextmanager
def opened(
    *,
    limits: Limits = SMALL,
    recorder: Recorder | None = None,
    counter: Counter | None = None,
    seconds: float = 30.0,
    max_bytes: int = MIB,
    most: int = 64,
    threads: int = 4,
    tokens: WatchedFile[Tokens] | None = None,
    most_connections: int = 512,
    hosts: tuple[str, ...] = (),
    listen: str = "127.0.0.1:0",
    lanes: Lanes | None = None,
) -> Iterator[Port]:
    """Opens a port with every mouth."""
    kept, clock = Kept(), SystemClock()
    decider = Decider(
        Policy(limits, True, "fingerprint", b"key"),
        counter or Chars3(),
        recorder or kept,
        Watched(),
        clock,
        Uuid7Ids(),
    )
    in_time = InTime(decider, lanes or Lanes(clock), clock, threads, most)
    mouths: list[Mouth] = [
        Compact(),
        LitellmGuardrail(),
        Headroom(),
        Portkey(),
        PruneJson(lambda body: read_json(body, decider.recent)),
    ]
    port = Port("", kept, in_time)
    listener = MouthPort(
        mouths,
        MouthRules(seconds, max_bytes, most, tokens, most_connections=most_connections, hosts=hosts),
        in_time,
        lambda _gateway, path, result, _seconds, decided, _request_id: port.accounts.append(
            (path, result, decided)
        ),
        port.refused.append,
    )
    port.address = listener.start(listen)
    try:
        yield port
    finally:
        listener.close()
        in_time.close(30)
