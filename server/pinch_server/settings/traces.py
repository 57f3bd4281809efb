"""Traces for OpenTelemetry: whether there are any, where they go, and how many."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from pinch_server.core.limits import Bound
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within


class TracesSettings(BaseModel, frozen=True, extra="forbid"):
    """Spans of calls; they need the extra `otel`."""

    enabled: bool = Field(
        default=False, description="Whether calls leave spans; needs the extra `otel` to be installed."
    )
    endpoint: Annotated[
        str,
        AfterValidator(checks.collector_url),
        Told("http://HOST:PORT or https://HOST:PORT", "`http://127.0.0.1:4318`", checks.without_password),
    ] = Field(
        default="http://127.0.0.1:4318",
        description="Where a collector takes spans by OTLP; over http, `/v1/traces` is put after it.",
    )
    protocol: Literal["http", "grpc"] = Field(
        default="http", description="How they travel: protobuf over HTTP, or gRPC."
    )
    sample_ratio: Annotated[float, Within(Bound(0, 1))] = Field(
        default=1.0,
        description="Part of the calls that leave spans where their caller has not decided it (share).",
    )
    timeout_seconds: Annotated[float, Within(Bound(0.1, 60))] = Field(
        default=5.0, description="Time for one batch of spans, of which calls notice nothing (seconds)."
    )
