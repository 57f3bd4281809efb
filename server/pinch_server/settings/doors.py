"""How the service's ports are guarded: TLS on both of them."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from pinch_server.settings import checks
from pinch_server.settings.marks import Told

OptionalFile = Annotated[
    Path | None, BeforeValidator(checks.optional_file), Told("a path, or empty for none", '`""`')
]


class TlsSettings(BaseModel, frozen=True, extra="forbid"):
    """The certificate of the gRPC port, and whose clients it takes."""

    cert: OptionalFile = Field(
        default=None,
        description="Certificate of the gRPC port with those that link it to a root, PEM; empty: plain text.",
    )
    key: OptionalFile = Field(
        default=None, description="Private key of the certificate, PEM, of mode 640 or less."
    )
    client_ca: OptionalFile = Field(
        default=None,
        description="Roots that clients' certificates must lead to, PEM; empty: clients need none.",
    )
    http: bool = Field(
        default=False,
        description="Whether both HTTP ports have the same certificate; they never ask clients for theirs.",
    )
