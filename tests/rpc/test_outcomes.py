"""What a router reports after a call."""

import grpc
import pytest

from pinch.v1 import prune_pb2 as pb
from pinch_server.core.decision import Outcome
from tests.rpc.conversations import typed
from tests.rpc.service import Kept, Service, refusal, running

ID = "0197f0a0-0000-7000-8000-000000000001"


def test_a_report_is_kept_with_all_it_says(service: Service, kept: Kept) -> None:
    """Outcome, model, usage and cost reach the recorder under the decision's id."""
    usage = pb.TokenUsage(prompt_tokens=10, cached_tokens=0, completion_tokens=2)
    decision_id = service.prune.Prune(pb.PruneRequest(chat=typed())).decision_id
    reply = service.prune.ReportOutcome(
        pb.ReportOutcomeRequest(
            decision_id=decision_id.upper(),
            outcome=pb.OUTCOME_DISPATCHED,
            selected_model="m",
            usage=usage,
            cost_usd="0.0123",
        )
    )
    assert reply.persisted
    reported = kept.outcomes[-1]
    assert reported == Outcome(
        decision_id=decision_id,
        reported_at=reported.reported_at,
        outcome="DISPATCHED",
        model="m",
        prompt_tokens=10,
        cached_tokens=0,
        cache_write_tokens=None,
        completion_tokens=2,
        cost_usd="0.0123",
    )
    assert reported.reported_at >= kept.decisions[-1].created_at


def test_a_models_name_is_cut(service: Service, kept: Kept) -> None:
    """A model's name of any length is kept as its first 256 characters."""
    request = pb.ReportOutcomeRequest(
        decision_id=ID, outcome=pb.OUTCOME_DISPATCHED, selected_model="m" * 100_000
    )
    assert service.prune.ReportOutcome(request).persisted
    assert kept.outcomes[-1].model == "m" * 256


def test_a_report_without_a_known_decision_is_kept_too(service: Service, kept: Kept) -> None:
    """An id nobody has heard of is accepted: it may be on its way from another worker."""
    for outcome in (pb.OUTCOME_REJECTED, pb.OUTCOME_FAILED):
        request = pb.ReportOutcomeRequest(decision_id=ID, outcome=outcome)
        assert service.prune.ReportOutcome(request).persisted
    assert [outcome.outcome for outcome in kept.outcomes[-2:]] == ["REJECTED", "FAILED"]


@pytest.mark.parametrize("outcome", [pb.OUTCOME_UNSPECIFIED, pb.OUTCOME_PENDING, 99])
def test_everything_wrong_with_a_report_is_told_at_once(service: Service, outcome: int) -> None:
    """A wrong id, an outcome that cannot be reported, counts below zero and a wrong cost: one error."""
    request = pb.ReportOutcomeRequest(
        decision_id="{0197f0a0-0000-7000-8000-000000000001}",
        outcome=outcome,  # type: ignore[arg-type]
        usage=pb.TokenUsage(prompt_tokens=-1, cached_tokens=-1, cache_write_tokens=-1, completion_tokens=-1),
        cost_usd="a lot",
    )
    with pytest.raises(grpc.RpcError) as caught:
        service.prune.ReportOutcome(request)
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert set(found.violations) == {
        "decision_id",
        "outcome",
        "usage.prompt_tokens",
        "usage.cached_tokens",
        "usage.cache_write_tokens",
        "usage.completion_tokens",
        "cost_usd",
    }


def test_a_report_that_cannot_be_kept_is_still_answered() -> None:
    """A recorder that fails costs the report, never the call."""

    class Broken(Kept):
        def report(self, outcome: Outcome) -> bool:
            raise OSError(f"no space for {outcome.decision_id}")

    with running(recorder=Broken()) as service:
        request = pb.ReportOutcomeRequest(decision_id=ID, outcome=pb.OUTCOME_FAILED)
        assert not service.prune.ReportOutcome(request).persisted
