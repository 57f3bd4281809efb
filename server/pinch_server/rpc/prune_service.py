"""The hot path over gRPC. Whatever fails inside, the caller gets a conversation that it can send."""

import logging
from typing import Final

import grpc
from google.protobuf.message import DecodeError

from pinch.v1 import prune_pb2 as pb
from pinch.v1 import prune_pb2_grpc as pb_grpc
from pinch_server.core.moments import unix_micros
from pinch_server.decide import (
    Decided,
    Decider,
    InvalidCallError,
    Lanes,
    NobodyWaitsError,
    NoTimeError,
    Patience,
)
from pinch_server.faults import told
from pinch_server.ports import Clock, Observer, Originals
from pinch_server.rpc.call import REQUEST_ID_CHARS, Call, current_call, current_tenant
from pinch_server.rpc.convert import Reply, read_request, write_reply, write_unchanged
from pinch_server.rpc.errors import NoOriginalError
from pinch_server.rpc.outcomes import read_outcome
from pinch_server.rpc.wire import SplitRequest

_LOG: Final = logging.getLogger(__name__)
_INTERNAL_ERROR: Final = "internal_error"


class PruneService(pb_grpc.PruneServiceServicer):
    """Answers Prune, ReportOutcome and Expand.

    Args:
        decider: Decides.
        observer: Counts.
        clock: The time.
        lanes: Where large conversations wait for each other.
        originals: Keeps originals; None where nobody does.
        tenant: Whose a call is that came without a token.
    """

    def __init__(
        self,
        decider: Decider,
        observer: Observer,
        clock: Clock,
        lanes: Lanes,
        originals: Originals | None = None,
        tenant: str = "",
    ) -> None:
        self._originals = originals
        self._tenant = tenant
        self._lanes = lanes
        self._decider = decider
        self._observer = observer
        self._clock = clock

    def Prune(  # type: ignore[override] # noqa: N802 the contract names it
        self, request: SplitRequest, context: grpc.ServicerContext
    ) -> bytes:
        """Prunes a conversation; one that cannot be pruned comes back as it came.

        The server hands over what `SplitRequest.decode` reads, and sends the bytes that come back.
        """
        call = current_call("Prune", context)
        written: list[Reply] = []
        try:
            with self._lanes.place(request.size, _patience(context)) as patience:
                received = read_request(request, self._decider.recent, current_tenant(self._tenant))
                about = received.call.context
                call.request_id = about.request_id[:REQUEST_ID_CHARS] or call.request_id
                call.labels = about.labels
                call.route = about.route.lower()
                decided = self._decider.decide(
                    received.call,
                    patience,
                    # Before it is recorded, so that a reply which cannot be written leaves no row.
                    lambda answer: written.append(write_reply(received, answer)),
                )
            (reply,) = written
            reply.message.persisted = decided.persisted
            encoded = reply.encoded()
        except (InvalidCallError, DecodeError, NoTimeError, NobodyWaitsError):
            raise
        except Exception as error:  # noqa: BLE001 the conversation is worth more than the pruning of it
            _LOG.error("Prune failed inside for request %s: %s", call.request_id, told(error))
            return self._unchanged(call, request.whole()).SerializeToString()
        note_decided(call, decided)
        return encoded

    def _unchanged(self, call: Call, request: pb.PruneRequest) -> pb.PruneResponse:
        call.result, call.persisted = _INTERNAL_ERROR, False
        try:
            self._observer.decided(
                route=call.route or "",
                result=_INTERNAL_ERROR,
                original_tokens=0,
                final_tokens=None,
                elided=0,
                omitted=0,
                capped=0,
                budget_met=True,
            )
        except Exception as error:  # noqa: BLE001 the counting may be just what is broken
            _LOG.error("a failed Prune could not be counted: %s", told(error))
        return write_unchanged(request, _INTERNAL_ERROR)

    def ReportOutcome(  # noqa: N802 the contract names it
        self, request: pb.ReportOutcomeRequest, context: grpc.ServicerContext
    ) -> pb.ReportOutcomeResponse:
        """Keeps what became of a decision, known or not; the reply says whether it is safe."""
        call = current_call("ReportOutcome", context)
        outcome = read_outcome(request, unix_micros(self._clock.now()))
        call.decision_id, call.result = outcome.decision_id, outcome.outcome.lower()
        try:
            call.persisted = self._decider.report(outcome)
        except Exception as error:  # noqa: BLE001 a report is always answered; the reply says that it was not kept
            _LOG.error("ReportOutcome failed inside for request %s: %s", call.request_id, told(error))
            call.persisted = False
        return pb.ReportOutcomeResponse(persisted=call.persisted)

    def Expand(  # noqa: N802 the contract names it
        self, request: pb.ExpandRequest, context: grpc.ServicerContext
    ) -> pb.ExpandResponse:
        """The original of a trimmed result, for the tenant whose result it was; a miss ends every retry."""
        call = current_call("Expand", context)
        text = None
        if self._originals is not None and request.reference:
            text = self._originals.expand(current_tenant(self._tenant), request.reference)
        call.result = "missed" if text is None else "expanded"
        if text is None:
            raise NoOriginalError
        # Halves of surrogate pairs, which JSON can spell, cannot be sent as text.
        return pb.ExpandResponse(text=text.encode("utf-8", "replace").decode())


def _patience(context: grpc.ServicerContext) -> Patience:
    # Absent a deadline, gRPC gives None or, by way of some clients, a time beyond any life.
    return Patience(context.time_remaining(), context.add_callback)


def note_decided(call: Call, decided: Decided) -> None:
    """Tells of a decision in the line of its call."""
    call.decision_id = decided.decision_id
    call.result = decided.unchanged_reason or "pruned"
    call.original_tokens = decided.stats.original_tokens
    call.final_tokens = decided.stats.final_tokens
    call.budget_tokens = decided.budget_tokens
    call.budget_met = decided.stats.budget_met
    call.format = decided.format
    call.persisted = decided.persisted
