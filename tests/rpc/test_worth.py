"""Prices and the cache's state in, economics and the prefix probe out."""

from decimal import Decimal

import pytest

from pinch.v1 import prune_pb2 as pb
from tests.rpc.conversations import body, messages
from tests.rpc.service import Kept, Service

RATES = pb.Rates(prompt="3", cached_prompt="0.30", cache_write="3.75")


def asked(context: pb.RequestContext, results: int = 6) -> pb.PruneRequest:
    """A body over its budget."""
    return pb.PruneRequest(body=pb.RequestBody(json=body(messages(results))), context=context)


def test_no_prices_no_economics(service: Service) -> None:
    """Without prices the reply has no economics, and without a session no prefix."""
    reply = service.prune.Prune(asked(pb.RequestContext(model="claude-sonnet-4-5")))
    assert not reply.HasField("economics")
    assert not reply.HasField("prefix")


@pytest.mark.parametrize("state", [pb.CACHE_STATE_WARM, pb.CACHE_STATE_COLD, pb.CACHE_STATE_NONE])
def test_economics_never_change_the_plan(service: Service, state: pb.CacheState.ValueType) -> None:
    """Prices and the cache's state give amounts in decimal text, and the same edits as without them."""
    plain = service.prune.Prune(asked(pb.RequestContext()))
    cache = pb.CacheContext(state=state, expected_further_calls=5)
    reply = service.prune.Prune(asked(pb.RequestContext(rates=RATES, cache=cache)))
    assert list(reply.edits) == list(plain.edits) != []
    saving = Decimal(reply.economics.expected_saving_usd)
    induced = Decimal(reply.economics.induced_cache_write_usd)
    assert induced >= 0
    if state != pb.CACHE_STATE_WARM:
        assert saving > 0 == induced
        assert reply.economics.break_even_calls == 0


def test_the_prefix_of_a_session(service: Service, kept: Kept) -> None:
    """The second call of a session is compared with the first, in the reply and in the row."""
    context = pb.RequestContext(session_id="one")
    first = service.prune.Prune(asked(context))
    second = service.prune.Prune(asked(context))
    assert first.HasField("prefix")
    assert first.prefix.previous_messages == 0
    assert second.prefix.previous_messages == second.prefix.matching_messages > 0
    assert second.prefix.matching_tokens == second.stats.final_tokens
    assert kept.decisions[-1].prefix_matched_tokens == second.prefix.matching_tokens
    other = service.prune.Prune(asked(pb.RequestContext(session_id="two")))
    assert other.prefix.previous_messages == 0
