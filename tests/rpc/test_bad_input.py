"""A caller's fault is an error that names every field at once."""

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from tests.rpc.conversations import body, typed
from tests.rpc.service import MIB, Refusal, Service, refusal, running


def refused(service: Service, request: pb.PruneRequest) -> Refusal:
    with pytest.raises(grpc.RpcError) as caught:
        service.prune.Prune(request)
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert found.reason == "INVALID_CALL"
    assert found.request_id == "made-for-this-call"
    told = "; ".join(f"{field}: {problem}" for field, problem in found.violations.items())
    assert found.message.removesuffix(" ...") in told
    assert found.message == told or len(told) > 1_500
    return found


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (pb.Limits(budget_tokens=0), "budget_tokens"),
        (pb.Limits(budget_tokens=-1), "budget_tokens"),
        (pb.Limits(keep_last_turns=0), "keep_last_turns"),
        (pb.Limits(max_summarize_chars=2_999), "max_summarize_chars"),
        (pb.Limits(max_summarize_chars=0), "max_summarize_chars"),
        (pb.Limits(protected_max_chars=2_999), "protected_max_chars"),
        (pb.Limits(protected_max_chars=-1), "protected_max_chars"),
        (pb.Limits(extra_fixed_tokens=-1), "extra_fixed_tokens"),
        (pb.Limits(keep_last_rounds=-1), "keep_last_rounds"),
        (pb.Limits(target_tokens=0), "target_tokens"),
        (pb.Limits(min_tokens_saved=-1), "min_tokens_saved"),
        (pb.Limits(min_gain=1.5), "min_gain"),
        (pb.Limits(min_gain=float("nan")), "min_gain"),
        (pb.Limits(budget_tokens=2**63 - 1), "budget_tokens"),
        (pb.Limits(protected_tools=pb.ToolGlobs(globs=[" "])), "protected_tools"),
        (pb.Limits(stability=99), "stability"),  # type: ignore[arg-type]
        (pb.Limits(trim_style=99), "trim_style"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("form", ["body", "chat"])
def test_a_limit_out_of_range_is_named(service: Service, limits: pb.Limits, field: str, form: str) -> None:
    """Each limit that breaks its bound is refused under its own name, in both conversation forms."""
    sent = {"body": pb.RequestBody(json=body())} if form == "body" else {"chat": typed()}
    found = refused(service, pb.PruneRequest(limits=limits, **sent))  # type: ignore[arg-type]
    assert list(found.violations) == [f"limits.{field}"]


@pytest.mark.parametrize(
    ("json", "field"),
    [
        (b"", "body.json"),
        (b"not json", "body.json"),
        (b'{"messages": [', "body.json"),
        (b"[]", "body.json"),
        (b"null", "body.json"),
        (b'{"messages": NaN}', "body.json"),
        (b'{"messages": ["\xff"]}', "body.json"),
        (b"{}", "body.json.messages"),
        (b'{"messages": null}', "body.json.messages"),
        (b'{"messages": {"0": 1}}', "body.json.messages"),
        (b'{"messages": "hello"}', "body.json.messages"),
    ],
)
def test_a_body_that_is_no_request_is_named(service: Service, json: bytes, field: str) -> None:
    """A body that is not JSON, or whose messages are missing or no list, is refused."""
    request = pb.PruneRequest(body=pb.RequestBody(format=pb.FORMAT_OPENAI_CHAT, json=json))
    assert list(refused(service, request).violations) == [field]


def test_a_request_without_conversation_is_refused(service: Service) -> None:
    """Neither form set is the caller's fault."""
    assert list(refused(service, pb.PruneRequest()).violations) == ["conversation"]


def test_everything_that_is_wrong_is_told_at_once(service: Service) -> None:
    """Limits, body, format, context and reply form that are all wrong give one error with all of them."""
    request = pb.PruneRequest(
        body=pb.RequestBody(format=77, json=b"{"),  # type: ignore[arg-type]
        limits=pb.Limits(
            budget_tokens=-5,
            keep_last_turns=0,
            max_summarize_chars=10,
            min_gain=-1,
            stability=42,  # type: ignore[arg-type]
            trim_style=42,  # type: ignore[arg-type]
        ),
        context=pb.RequestContext(
            route=9,  # type: ignore[arg-type]
            rates=pb.Rates(prompt="dear", cached_prompt="-1", cache_write="inf"),
            cache=pb.CacheContext(
                state=9,  # type: ignore[arg-type]
                last_call_unix_micros=-1,
                ttl_seconds=-1,
                expected_further_calls=-1,
            ),
        ),
        reply_form=9,  # type: ignore[arg-type]
    )
    assert set(refused(service, request).violations) == {
        "body.format",
        "body.json",
        "limits.budget_tokens",
        "limits.keep_last_turns",
        "limits.max_summarize_chars",
        "limits.min_gain",
        "limits.stability",
        "limits.trim_style",
        "context.route",
        "context.rates.prompt",
        "context.rates.cached_prompt",
        "context.rates.cache_write",
        "context.cache.state",
        "context.cache.last_call_unix_micros",
        "context.cache.ttl_seconds",
        "context.cache.expected_further_calls",
        "reply_form",
    }


def test_a_choice_that_is_not_known_is_refused_with_those_that_are(service: Service) -> None:
    """The problem with an unknown stability or trim style names the values this server has."""
    limits = pb.Limits(stability=99, trim_style=99)  # type: ignore[arg-type]
    found = refused(service, pb.PruneRequest(chat=typed(), limits=limits)).violations
    assert "PER_CALL" in found["limits.stability"]
    assert "PLAIN" in found["limits.trim_style"]


def test_a_flood_of_violations_still_fits_into_a_status(service: Service) -> None:
    """However much is wrong and however long it is, the status reaches the caller."""
    request = pb.PruneRequest(
        body=pb.RequestBody(json=b"{"),
        limits=pb.Limits(protected_tools=pb.ToolGlobs(globs=[""] * 10_000), budget_tokens=-1),
        context=pb.RequestContext(rates=pb.Rates(prompt="é" * 100_000, cached_prompt="\n" * 10_000)),
    )
    with pytest.raises(grpc.RpcError) as caught:
        service.prune.Prune(request)
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert {"limits.budget_tokens", "limits.protected_tools", "body.json"} <= set(found.violations)


def test_bytes_that_are_no_message_are_the_callers_fault(service: Service) -> None:
    """A payload that protobuf cannot read, or a string that is not UTF-8, is INVALID_ARGUMENT."""
    call = service.channel.unary_unary("/pinch.v1.PruneService/Prune")
    bad_text = b"\x0a\x07\x0a\x05\x0a\x03\xff\xfe\xfd"  # chat.messages[0].role
    for payload in (b"\xff\xff\xff", bad_text):
        with pytest.raises(grpc.RpcError) as caught:
            call(payload)
        found = refusal(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UNREADABLE_MESSAGE")


def test_a_message_over_the_limit_is_refused_and_the_server_lives_on() -> None:
    """A request beyond the size limit is RESOURCE_EXHAUSTED, and the next call is served."""
    with running(max_message_bytes=MIB) as service:
        big = pb.PruneRequest(body=pb.RequestBody(json=body() + b" " * MIB))
        with pytest.raises(grpc.RpcError) as caught:
            service.prune.Prune(big)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert service.prune.Prune(pb.PruneRequest(chat=typed())).stats.pruned


def test_a_message_within_the_standard_limit_is_taken(service: Service) -> None:
    """A body of 20 MiB, five times what gRPC takes by default, comes back whole."""
    sent = body() + b" " * (20 * MIB)
    reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(json=sent), dry_run=True))
    assert reply.body.json == sent


def test_no_status_quotes_the_conversation(service: Service) -> None:
    """What is wrong with a body is told without a word of the body."""
    secret = (
        b'{"messages": [{"role": "user", "content": "the-secret-word"}], "the-secret-key": the-secret-value}'
    )
    found = refused(service, pb.PruneRequest(body=pb.RequestBody(json=secret)))
    assert "the-secret" not in found.message
    assert "the-secret" not in str(found.violations)
