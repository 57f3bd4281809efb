"""What serves gateways: the HTTP mouths, and how long each kind of gateway is kept waiting."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic_settings import NoDecode

from pinch_server.core.limits import Bound
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within

MouthName = Literal["compact", "litellm", "headroom", "portkey", "prune"]
"""The HTTP endpoints for gateways, by the names that settings and metrics use."""
_NAMES: Final = "a list of compact, litellm, headroom, portkey, prune; comma-separated in the environment"


class GatewaySettings(BaseModel, frozen=True, extra="forbid"):
    """How gateways reach the service without a client of ours."""

    mouths: Annotated[
        tuple[MouthName, ...], NoDecode, BeforeValidator(checks.globs), Told(_NAMES, "none")
    ] = Field(default=(), description="HTTP endpoints for gateways that are served; none: no port is opened.")
    listen: Annotated[str, AfterValidator(checks.tcp_address), Told("HOST:PORT, port 0 for a free one")] = (
        Field(default="127.0.0.1:9465", description="Address of the HTTP endpoints for gateways.")
    )
    hosts: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(checks.globs),
        AfterValidator(checks.host_names),
        Told("a list of host names; comma-separated in the environment", "none"),
    ] = Field(
        default=(),
        description="Names beside localhost by which gateways find the HTTP endpoints on a loopback address;"
        " without tokens, no other name is answered.",
    )
    mouth_seconds: Annotated[float, Within(Bound(0.01, 600))] = Field(
        default=1.0,
        description="Time for a request over HTTP; after it the conversation goes on as it came (seconds).",
    )
    envoy_streams: Annotated[int, Within(Bound(1, 100_000))] = Field(
        default=512,
        description="Requests of Envoy that a process goes along with at once; one more goes on as it came.",
    )
    envoy_seconds: Annotated[float, Within(Bound(0.01, 600))] = Field(
        default=0.15,
        description="Time for a request of Envoy; below its message_timeout, 0.2 unless set (seconds).",
    )
