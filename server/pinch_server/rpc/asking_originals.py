"""An original asked of a running service, for the command line."""

import grpc

from pinch import Tls
from pinch.connection import connection
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from pinch_server.rpc.asking import nobody_answers


class NoOriginalToldError(Exception):
    """There is no original, or nobody answered; the text says which, and what to do."""


def ask_original(
    address: str, reference: str, timeout: float, *, token: str | None = None, tls: Tls | None = None
) -> str:
    """The original of a trimmed result.

    Args:
        address: `HOST:PORT` or `unix:PATH`.
        reference: Names the original.
        timeout: Time the service has to answer (seconds).
        token: The token to send; None where none is needed.
        tls: How to speak TLS; None: plain text.

    Raises:
        NoOriginalToldError: There is none, or nobody answers.
        ValueError: The address, the timeout or the token cannot be used.
    """
    to = connection(address, timeout=timeout, token=token, tls=tls)
    credentials = to.credentials()
    options = [*to.options(), ("grpc.max_receive_message_length", -1)]
    channel = (
        grpc.insecure_channel(to.target, options)
        if credentials is None
        else grpc.secure_channel(to.target, credentials, options)
    )
    # What no text can hold, as a shell gives bytes that are no UTF-8, is no reference that was given out.
    asked = pb.ExpandRequest(reference=reference.encode("utf-8", "replace").decode())
    with channel:
        try:
            reply = PruneServiceStub(channel).Expand(asked, timeout=timeout, metadata=to.metadata)
        except grpc.RpcError as error:
            told = nobody_answers(address, error)
            raise NoOriginalToldError(told or f"{address}: {error.code().name}: {error.details()}") from error
    return str(reply.text)
