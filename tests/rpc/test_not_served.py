"""What this version refuses, and how it says so."""

from collections.abc import Callable

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from tests.rpc.service import Service, refusal

CALLS: dict[str, Callable[[grpc.Channel], object]] = {
    "pinch.v1.PruneService/Guess": lambda channel: channel.unary_unary("/pinch.v1.PruneService/Guess")(b""),
    "no.Such/Stream": lambda channel: list(channel.stream_stream("/no.Such/Stream")(iter(()))),
}


@pytest.mark.parametrize("method", CALLS)
def test_what_is_not_served_is_unimplemented_by_name(service: Service, method: str) -> None:
    """A method that is not built, or that nobody knows, is UNIMPLEMENTED and the message names it."""
    with pytest.raises(grpc.RpcError) as caught:
        CALLS[method](service.channel)
    found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.UNIMPLEMENTED, "NOT_SERVED")
    assert method in found.message


def test_expand_ends_a_retry_loop(service: Service) -> None:
    """No original is kept, and NOT_FOUND tells the model what to do instead of asking again."""
    with pytest.raises(grpc.RpcError) as caught:
        service.prune.Expand(pb.ExpandRequest(reference="x"))
    found = refusal(caught.value)
    assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "NO_ORIGINAL")
    assert found.message == "no original is kept under this reference; do not ask again, run the tool again"
