"""TLS on the gRPC port, with a certificate that may change while the server runs."""

import grpc

from pinch_server.doors.certificates import Certificate
from pinch_server.doors.watched import Watched


def server_credentials(watched: Watched[Certificate]) -> grpc.ServerCredentials:
    """Credentials that show the newest certificate at each handshake.

    Clients need a certificate of their own when the first one has client roots.
    """
    shown = watched.current()

    def newer() -> grpc.ServerCertificateConfiguration | None:
        nonlocal shown
        newest = watched.current()
        if newest is shown:
            return None
        shown = newest
        return _configuration(newest)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(shown),
        newer,  # type: ignore[arg-type] # None stands for no change, says gRPC, though not its stubs
        require_client_authentication=shown.client_roots is not None,
    )


def _configuration(certificate: Certificate) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(certificate.key, certificate.chain)], root_certificates=certificate.client_roots
    )
