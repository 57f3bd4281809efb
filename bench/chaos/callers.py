"""A process of callers: calls Prune without a pause, or at a rate, and tells what became of each call."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal

import grpc

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub

Kind = Literal["small", "ranked", "large"]
"""A body with nothing to trim, one with results to be ranked, and one of a megabyte to be trimmed."""
_OPTIONS: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
    # As the Python client has it.
    ("grpc.initial_reconnect_backoff_ms", 100),
)
_END_SECONDS: Final = 60.0
_STEADY_CALLS: Final = 10
"""As many calls in a row must be answered and kept before a service counts as well again."""


def request_of(kind: Kind, request_id: str = "") -> pb.PruneRequest:
    """A call of a kind."""
    results, lines = {"small": (1, 60), "ranked": (8, 200), "large": (60, 600)}[kind]
    # Of one length whatever the id, and first: no call goes on from what another one has read.
    said: list[dict[str, Any]] = [{"role": "system", "content": f"Session {request_id[-12:]:>12}"}]
    for number in range(results):
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/part_{number}.py"})}
        text = "\n".join(f"line {line} of part {number}: value_{line * 7 % 31}" for line in range(lines))
        said += [
            {"role": "user", "content": f"Look at part {number}."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
        ]
    said.append({"role": "user", "content": "And now?"})
    limits = pb.Limits(budget_tokens=4_000, keep_last_turns=1)
    if kind == "ranked":
        limits.stability = pb.STABILITY_PER_CALL
    return pb.PruneRequest(
        body=pb.RequestBody(json=json.dumps({"model": "m", "messages": said}).encode()),
        limits=limits,
        context=pb.RequestContext(request_id=request_id),
        reply_form=pb.REPLY_FORM_EDITS,
    )


def digest_of(reply: pb.PruneResponse) -> str:
    """What a reply says, without what differs from call to call."""
    bare = pb.PruneResponse()
    bare.CopyFrom(reply)
    bare.ClearField("decision_id")
    bare.ClearField("persisted")
    return hashlib.sha256(bare.SerializeToString(deterministic=True)).hexdigest()[:16]


@dataclass(slots=True)
class Seen:
    """What callers saw.

    Attributes:
        codes: Calls by the name of their status.
        acknowledged: Ids of the decisions that a reply called persisted.
        unpersisted: Replies that said a decision was not kept.
        digests: Replies by what they say.
        milliseconds: Time of each answered call.
    """

    codes: Counter[str] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)
    unpersisted: int = 0
    digests: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)

    def wrong(self, right: Iterable[str]) -> int:
        """How many replies say something else than any of these."""
        known = set(right)
        return sum(number for digest, number in self.digests.items() if digest not in known)


class Callers:
    """Callers in a process of their own; what they see is in `seen`.

    Args:
        kind: What they call with.
        threads: How many call at once, each on a connection of its own.
        rate: Calls a second in all, whatever becomes of them; 0: each thread has one call at a time.
        deadline: Of each call (seconds).
    """

    def __init__(
        self, kind: Kind = "small", *, threads: int = 4, rate: float = 0.0, deadline: float = 5.0
    ) -> None:
        self.seen = Seen()
        self._arguments = [kind, str(threads), str(rate), str(deadline)]
        self._changed = threading.Condition()
        self._last: deque[bool] = deque(maxlen=_STEADY_CALLS)

    @contextmanager
    def calling(self, address: str, name: str) -> Iterator[None]:
        """Calls a service until the block ends; calls under way are waited for."""
        command = [sys.executable, "-m", "bench.chaos.callers", address, name, *self._arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        ) as process:
            reader = threading.Thread(target=self._read, args=(process.stdout,))
            reader.start()
            try:
                yield
                if process.stdin is not None:
                    process.stdin.close()
                process.wait(_END_SECONDS)
            finally:
                process.kill()
                reader.join()

    def wait_for(self, ended: int = 0, *, unpersisted: int = 0, seconds: float = 60.0) -> None:
        """Waits until so many calls have ended, and so many were answered as not kept.

        Raises:
            TimeoutError: They have not.
        """
        seen = self.seen
        with self._changed:
            if not self._changed.wait_for(
                lambda: seen.codes.total() >= ended and seen.unpersisted >= unpersisted, seconds
            ):
                raise TimeoutError(
                    f"{seen.codes.total()} of {ended} calls ended in {seconds:g} s, and {seen.unpersisted} of"
                    f" {unpersisted} were answered as not kept"
                )

    def recovery(self, seconds: float = 120.0) -> float:
        """Waits until calls in a row are answered and kept; how long that took from now (seconds).

        Raises:
            TimeoutError: They never were.
        """
        began = time.monotonic()
        with self._changed:
            self._last.clear()
            if not self._changed.wait_for(lambda: sum(self._last) == _STEADY_CALLS, seconds):
                raise TimeoutError(f"no {_STEADY_CALLS} calls in a row were answered in {seconds:g} s")
        return time.monotonic() - began

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            code, milliseconds, persisted, digest, decision_id = line.split()
            with self._changed:
                seen = self.seen
                seen.codes[code] += 1
                if code == "OK":
                    seen.digests[digest] += 1
                    seen.milliseconds.append(float(milliseconds))
                    if persisted == "True":
                        seen.acknowledged.append(decision_id)
                    else:
                        seen.unpersisted += 1
                self._last.append(code == "OK" and persisted == "True")
                self._changed.notify_all()


def _tell(call: Any, began: float) -> None:
    """Writes one line about a call that has ended, in one write: threads must not tear each other's."""
    milliseconds = (time.monotonic() - began) * 1000
    code = call.code()
    said = "False - -"
    if code is grpc.StatusCode.OK:
        reply = call.result()
        said = f"{reply.persisted} {digest_of(reply)} {reply.decision_id}"
    os.write(1, f"{code.name} {milliseconds:.1f} {said}\n".encode())


def _call(address: str, name: str, kind: Kind, pause: float, deadline: float, stop: threading.Event) -> None:
    request = request_of(kind)
    # Of a large body only the id is written anew: building one takes longer than pruning it.
    before, _, after = request.body.json.partition(b" " * 12)
    ended = threading.Semaphore(0)
    begun = 0
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        prune = PruneServiceStub(channel).Prune
        due = time.monotonic()
        for number in count():
            if stop.is_set():
                break
            request.context.request_id = f"{name}-{number}"
            if kind == "large":
                named = f"{request.context.request_id[-12:]:>12}".encode()
                request.body.json = before + named + after
            began = time.monotonic()
            call: Any = prune.future(request, timeout=deadline, wait_for_ready=False)
            begun += 1
            if pause:

                def tell(done: Any, began: float = began) -> None:
                    _tell(done, began)
                    ended.release()

                call.add_done_callback(tell)
                due += pause
                stop.wait(max(0.0, due - time.monotonic()))
                continue
            call.exception()
            _tell(call, began)
            if call.code() is not grpc.StatusCode.OK:
                # As a router would, and so that a service that is gone is not the loop's only work.
                stop.wait(0.02)
        for _ in range(begun if pause else 0):
            ended.acquire()


def _main(address: str, name: str, kind: Kind, threads: int, rate: float, deadline: float) -> None:
    stop = threading.Event()
    pause = threads / rate if rate else 0.0
    calling = [
        threading.Thread(target=_call, args=(address, f"{name}-{number}", kind, pause, deadline, stop))
        for number in range(threads)
    ]
    for thread in calling:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in calling:
        thread.join()


if __name__ == "__main__":
    _main(
        sys.argv[1],
        sys.argv[2],
        sys.argv[3],  # type: ignore[arg-type] # one of the kinds
        int(sys.argv[4]),
        float(sys.argv[5]),
        float(sys.argv[6]),
    )
