"""What travels between the service and a sandboxed job: a kind and two texts, each with its length."""

import socket
import struct
from time import monotonic
from typing import Final

from pinch_server.extract.program import MOST_INPUT_BYTES, FaultKind, ProgramFault, Ran

_HEADER: Final = struct.Struct("!cII")
_JOB: Final = b"J"
_RAN: Final = b"R"
_FAULT: Final = b"F"
_DIED: Final = b"D"
_MOST: Final = MOST_INPUT_BYTES + 65_536
"""Longest text of a frame (bytes); more is no frame of ours."""


NEVER_BORN: Final = 0
"""In the place of a signal: no process could be forked."""
EXITED: Final = 255
"""In the place of a signal: the process ended by itself, without a result."""


class BrokenFrameError(Exception):
    """The other side went away, or sent what is no frame."""


def pack_job(program: str, text: str) -> bytes:
    """A job as it is sent.

    Raises:
        UnicodeEncodeError: A text holds a lone surrogate.
    """
    return _pack(_JOB, program, text)


def pack_result(result: Ran | ProgramFault) -> bytes:
    """A result as it is sent."""
    if isinstance(result, Ran):
        return _pack(_RAN, result.output, result.summary)
    return _pack(_FAULT, result.kind, result.detail)


def pack_death(signal: int) -> bytes:
    """The news that a job's process died, and of which signal."""
    return _HEADER.pack(_DIED, signal, 0)


def receive_job(source: socket.socket, seconds: float) -> tuple[str, str]:
    """Reads one job.

    Raises:
        BrokenFrameError: There is none.
        TimeoutError: It did not come in time.
    """
    kind, first, second = _receive(source, seconds)
    if kind != _JOB:
        raise BrokenFrameError
    return first, second


def receive_result(source: socket.socket, seconds: float) -> Ran | ProgramFault | int:
    """Reads one result, or the signal that its process died of.

    Raises:
        BrokenFrameError: There is none.
        TimeoutError: It did not come in time.
    """
    kind, first, second = _receive(source, seconds)
    if kind == _RAN and first:
        return Ran(first, second)
    if kind == _FAULT:
        try:
            return ProgramFault(FaultKind(first), second)
        except ValueError:
            raise BrokenFrameError from None
    if kind == _DIED:
        return int(first)
    raise BrokenFrameError


def _pack(kind: bytes, first: str, second: str) -> bytes:
    one, two = first.encode(), second.encode()
    return b"".join((_HEADER.pack(kind, len(one), len(two)), one, two))


def _receive(source: socket.socket, seconds: float) -> tuple[bytes, str, str]:
    until = monotonic() + seconds
    kind, first, second = _HEADER.unpack(_exactly(source, _HEADER.size, until))
    if kind == _DIED:
        return kind, str(first), ""
    if first > _MOST or second > _MOST:
        raise BrokenFrameError
    body = memoryview(_exactly(source, first + second, until))
    try:
        return kind, str(body[:first], "utf-8"), str(body[first:], "utf-8")
    except UnicodeDecodeError:
        raise BrokenFrameError from None


def _exactly(source: socket.socket, size: int, until: float) -> bytearray:
    body = bytearray(size)
    rest = memoryview(body)
    while rest:
        source.settimeout(max(until - monotonic(), 0.001))
        try:
            received = source.recv_into(rest)
        except ConnectionError:
            raise BrokenFrameError from None
        if not received:
            raise BrokenFrameError
        rest = rest[received:]
    return body
