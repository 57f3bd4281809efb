"""Who may call what, over which door: the one table that both doors and the page on security are held to."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a token is for; one token may have several, and none includes another."""

    PRUNE = "prune"
    INSIGHT = "insight"
    ADMIN = "admin"


Allowed = frozenset[Role] | None
"""The roles of which a token needs one; None: no token is needed."""

ANY_TOKEN: Final[Allowed] = frozenset(Role)
"""Also for what does not exist: without a token nobody learns what there is."""
_PRUNE: Final = frozenset({Role.PRUNE})
_INSIGHT: Final = frozenset({Role.INSIGHT})
_ADMIN: Final = frozenset({Role.ADMIN})

GRPC: Final[Mapping[str, Allowed]] = {
    "/pinch.v1.PruneService/Prune": _PRUNE,
    "/pinch.v1.PruneService/ReportOutcome": _PRUNE,
    "/pinch.v1.PruneService/Expand": _PRUNE,
    "/envoy.service.ext_proc.v3.ExternalProcessor/Process": _PRUNE,
    "/pinch.v1.InsightService/GetSavings": _INSIGHT,
    "/pinch.v1.InsightService/GetDecision": _INSIGHT,
    "/pinch.v1.InsightService/ListDecisions": _INSIGHT,
    "/pinch.v1.AdminService/GetSettings": _ADMIN,
    "/pinch.v1.AdminService/UpdateSettings": _ADMIN,
    # Probes and balancers hold no secrets, and learn no more than whether calls are taken.
    "/grpc.health.v1.Health/Check": None,
    "/grpc.health.v1.Health/List": None,
    "/grpc.health.v1.Health/Watch": None,
    # The contract is no secret, but each stream holds a thread for as long as it is open.
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": ANY_TOKEN,
    # Every peer's address, and what each connection carries.
    "/grpc.channelz.v1.Channelz/GetTopChannels": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetServers": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetServer": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetServerSockets": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetChannel": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetSubchannel": _ADMIN,
    "/grpc.channelz.v1.Channelz/GetSocket": _ADMIN,
}
"""Every method that can be served, by its full name."""

HTTP: Final[Mapping[str, Allowed]] = {
    "/healthz": None,
    "/metrics": _INSIGHT,
    "/": _INSIGHT,
    "/openapi.json": ANY_TOKEN,
    "/api/v1/state": _INSIGHT,
    "/api/v1/savings": _INSIGHT,
    "/api/v1/activity": _INSIGHT,
    "/api/v1/decisions": _INSIGHT,
    "/api/v1/knobs": _ADMIN,
    # Whoever asks for these has no token yet, or gives it in the request.
    "/login": None,
    "/logout": None,
}
"""Every page of the HTTP port, by its path."""

HTTP_BELOW: Final[Mapping[str, Allowed]] = {
    "/decisions/": _INSIGHT,
    "/api/v1/decisions/": _INSIGHT,
    # Style and script of the sign-in page too: the same for everyone, and no secret.
    "/assets/": None,
}
"""Pages below a path, by that path."""


MOUTHS: Final[Mapping[str, Allowed]] = {
    "/compact": _PRUNE,
    "/beta/litellm_basic_guardrail_api": _PRUNE,
    "/v1/compress": _PRUNE,
    "/hooks/portkey": _PRUNE,
    "/v1/prune": _PRUNE,
}
"""Every endpoint that can be served to gateways over HTTP, by its path."""


def allowed_method(method: str) -> Allowed:
    """The roles that may call a gRPC method, by its full name."""
    return GRPC.get(method, ANY_TOKEN)


def allowed_page(path: str) -> Allowed:
    """The roles that may read a page of the HTTP port."""
    if path in HTTP:
        return HTTP[path]
    above = f"{path.rpartition('/')[0]}/"
    return HTTP_BELOW.get(above, ANY_TOKEN)
