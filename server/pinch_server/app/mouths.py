"""The HTTP endpoints for gateways as the settings name them, and what is told of every gateway's requests."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import grpc

from pinch_server.app.doors import HttpDoor, most_calls
from pinch_server.decide import Decided, Decider
from pinch_server.gateways.in_time import InTime
from pinch_server.gateways.mouth import Mouth
from pinch_server.gateways.mouths.compact import Compact
from pinch_server.gateways.mouths.headroom import Headroom
from pinch_server.gateways.mouths.litellm_guardrail import LitellmGuardrail
from pinch_server.gateways.mouths.portkey import Portkey
from pinch_server.gateways.mouths.prune_json import PruneJson
from pinch_server.observe.logs import log_call
from pinch_server.observe.metrics import Metrics
from pinch_server.rpc.call import REQUEST_ID_CHARS, current_call
from pinch_server.rpc.json_form import read_json
from pinch_server.rpc.prune_service import note_decided
from pinch_server.rpc.server import PROCESS
from pinch_server.settings import MouthName, Settings

if TYPE_CHECKING:
    from pinch_server.gateways.http_port import MouthPort


def mouth_port(
    settings: Settings, decider: Decider, in_time: InTime, metrics: Metrics, door: HttpDoor
) -> "MouthPort":
    """The listener for the mouths that the settings name, not started yet.

    Args:
        settings: The settings.
        decider: The use case.
        in_time: Makes the decisions.
        metrics: Counts.
        door: What guards it.
    """
    # Only now: a server for HTTP is loaded where a gateway is to be answered.
    from pinch_server.gateways.http_port import MouthPort, MouthRules  # noqa: PLC0415

    made: Mapping[MouthName, Callable[[], Mouth]] = {
        "compact": Compact,
        "litellm": LitellmGuardrail,
        "headroom": Headroom,
        "portkey": Portkey,
        "prune": lambda: PruneJson(lambda body: read_json(body, decider.recent)),
    }
    return MouthPort(
        [made[name]() for name in dict.fromkeys(settings.gateways.mouths)],
        MouthRules(
            seconds=settings.gateways.mouth_seconds,
            max_bytes=settings.server.max_message_bytes,
            most=most_calls(settings),
            tokens=door.tokens,
            tenant=settings.extract.tenant,
            tls=door.tls,
            hosts=settings.gateways.hosts,
        ),
        in_time,
        lambda *facts: _account(metrics, *facts),
        lambda problem: metrics.call_refused("gateways", problem),
    )


def _account(
    metrics: Metrics,
    gateway: str,
    path: str,
    result: str,
    seconds: float,
    decided: Decided | None,
    request_id: str,
) -> None:
    metrics.gateway_answered(gateway, result, seconds)
    if decided is None:
        log_call(method=path, code="OK", seconds=seconds, request_id=request_id or None, result=result)
        return
    log_call(
        method=path,
        code="OK",
        seconds=seconds,
        decision_id=decided.decision_id,
        request_id=request_id or None,
        result=result,
        original_tokens=decided.stats.original_tokens,
        final_tokens=decided.stats.final_tokens,
        budget_tokens=decided.budget_tokens,
        budget_met=decided.stats.budget_met,
        format=decided.format,
        persisted=decided.persisted,
    )


def envoy_account(
    metrics: Metrics,
    context: grpc.ServicerContext,
    result: str,
    seconds: float,
    decided: Decided | None,
    request_id: str,
) -> None:
    """Counts a request of Envoy, and tells of it in the line of its stream."""
    metrics.gateway_answered("envoy", result, seconds)
    call = current_call(PROCESS, context)
    call.request_id = request_id[:REQUEST_ID_CHARS] or call.request_id
    call.result = result
    if decided is not None:
        note_decided(call, decided)
