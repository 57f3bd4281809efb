"""Whether Envoy's service answers: health checks know it by its name."""

from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from pinch_server.rpc.server import PROCESS
from tests.gateways.test_tenants import serving


def test_health_knows_envoy_s_service_where_it_is_served(tmp_path: Path) -> None:
    """A check of the very service that Envoy calls is answered as those of the others are."""
    service = PROCESS.removeprefix("/").partition("/")[0]
    with serving(tmp_path, tokens=False) as app, grpc.insecure_channel(app.addresses.grpc) as channel:
        asked = health_pb2.HealthCheckRequest(service=service)
        status = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=30).status
    assert status == health_pb2.HealthCheckResponse.SERVING
