"""The closed sets of label values, and the buckets of the histograms."""

from typing import Final

from pinch_server.core.embedding import Fault

ROUTES: Final = ("routed", "passthrough", "unspecified")
"""What the router meant to do with the conversation."""
RESULTS: Final = (
    "pruned",
    "within_budget",
    "nothing_to_trim",
    "disabled",
    "dry_run",
    "not_understood",
    "internal_error",
)
"""How a decision came out."""
ACTIONS: Final = ("elided", "omitted", "capped")
"""What was done to one tool result."""
STAGES: Final = ("read", "rank", "plan", "extract", "write", "record")
"""The steps of one decision, in the order of their ends: counting is part of reading, ranking of planning."""
RELEVANCE_OUTCOMES: Final = ("hybrid", "cosine", "lexical", "uniform", "not_needed")
"""How the candidates of one decision were ordered."""
EMBEDDER_FAULTS: Final = tuple(Fault)
"""Why a call that needed new vectors got none."""
OTHER: Final = "other"
"""Stands for every label value outside its set."""

CODES: Final = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
SERVER_FAULTS: Final = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)
"""Those with which a server's span is an error: OpenTelemetry's semantic conventions for gRPC."""
CALL_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STAGE_BUCKETS: Final = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    1.0,
    10.0,
)
SHARE_BUCKETS: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)

GATEWAYS: Final = ("envoy", "compact", "litellm", "headroom", "portkey", "prune")
"""What a gateway's request came through."""
GATEWAY_RESULTS: Final = (
    "pruned",
    "unchanged",
    "bypass",
    "invalid",
    "late",
    "overloaded",
    "too_large",
    "encoded",
    "failed",
)
"""How a gateway's request went on."""

SHED_REASONS: Final = ("too_many", "no_time")
"""Why a call was turned away before it was worked on."""
DOORS: Final = ("grpc", "http", "gateways")
DOOR_PROBLEMS: Final = ("no_token", "unknown_token", "wrong_role", "foreign")
