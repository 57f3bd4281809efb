"""Clients that call Prune without a pause and remember every decision they were told is safe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

import grpc

from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub

_THREADS: Final = 4
_CALL_SECONDS: Final = 10.0
_END_SECONDS: Final = 60.0
_OPTIONS: Final = (("grpc.use_local_subchannel_pool", 1),)
"""A connection for each thread, which a shared port may give to different workers."""
_REFUSED: Final = "-"
_REQUEST: Final = pb.PruneRequest(
    body=pb.RequestBody(
        json=json.dumps(
            {
                "model": "m",
                "messages": [
                    {"role": "user", "content": "Look."},
                    {
                        "role": "assistant",
                        "tool_calls": [
                            {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
                        ],
                    },
                    {"role": "tool", "tool_call_id": "c", "content": "line\n" * 400},
                    {"role": "user", "content": "And now?"},
                ],
            }
        ).encode()
    ),
    reply_form=pb.REPLY_FORM_EDITS,
)


def a_request(request_id: str = "") -> pb.PruneRequest:
    """A small call, with a result to look at and nothing to trim."""
    request = pb.PruneRequest()
    request.CopyFrom(_REQUEST)
    request.context.request_id = request_id
    return request


class Clients:
    """A process of callers; it ends when the service it calls is gone.

    Where one of several workers may go alone, they look for the service for `outlast_seconds` before that.

    It is a process of its own because starting processes, as the torture does all the time, is unsafe beside
    threads that are inside gRPC.
    """

    def __init__(self, name: str, *, outlast_seconds: float = 0.0) -> None:
        self.acknowledged: list[str] = []
        """Ids of the decisions that a reply called persisted."""
        self.refused = 0
        """Replies that said a decision was not kept."""
        self._name = name
        self._outlast_seconds = outlast_seconds
        self._changed = threading.Condition()

    def wait_for(self, number: int, timeout: float) -> bool:
        """Waits until so many are acknowledged in all; False when that took more than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.acknowledged) >= number, timeout)

    @contextmanager
    def calling(self, address: str) -> Iterator[None]:
        """Calls a service until it is gone, which it has to be when the block ends."""
        command = [sys.executable, "-m", "bench.torture.load", address, self._name]
        command += [str(self._outlast_seconds)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            reader = threading.Thread(target=self._read, args=(process.stdout,))
            reader.start()
            try:
                yield
                process.wait(_END_SECONDS)
            finally:
                process.kill()
                reader.join()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            with self._changed:
                if line.strip() == _REFUSED:
                    self.refused += 1
                else:
                    self.acknowledged.append(line.strip())
                self._changed.notify_all()


def _call(address: str, name: str, outlast_seconds: float) -> None:
    """Calls Prune until the service is gone for so long, and prints the id of each persisted decision."""
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        prune = PruneServiceStub(channel).Prune
        for number in count():
            try:
                reply = prune(a_request(f"{name}-{number}"), timeout=_CALL_SECONDS)
            except grpc.RpcError:
                if not _is_back(channel, outlast_seconds):
                    return
                continue
            # One write a line, so that threads do not tear each other's.
            os.write(1, f"{reply.decision_id if reply.persisted else _REFUSED}\n".encode())


def _is_back(channel: grpc.Channel, seconds: float) -> bool:
    if not seconds:
        return False
    try:
        grpc.channel_ready_future(channel).result(seconds)
    except grpc.FutureTimeoutError:
        return False
    return True


def _main(address: str, name: str, outlast_seconds: float) -> None:
    threads = [
        threading.Thread(target=_call, args=(address, f"{name}-{number}", outlast_seconds))
        for number in range(_THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
