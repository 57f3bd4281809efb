"""Settings and runtime knobs: in the contract, not served yet."""

from typing import NoReturn

import grpc

from pinch.v1 import admin_pb2 as pb
from pinch.v1 import admin_pb2_grpc as pb_grpc
from pinch_server.rpc.errors import NotServedError


class AdminService(pb_grpc.AdminServiceServicer):
    """Answers UNIMPLEMENTED, with the name of the method."""

    def GetSettings(self, request: pb.GetSettingsRequest, context: grpc.ServicerContext) -> NoReturn:  # noqa: N802 the contract names it
        """Refuses."""
        del request, context
        raise NotServedError("pinch.v1.AdminService/GetSettings")

    def UpdateSettings(self, request: pb.UpdateSettingsRequest, context: grpc.ServicerContext) -> NoReturn:  # noqa: N802 the contract names it
        """Refuses."""
        del request, context
        raise NotServedError("pinch.v1.AdminService/UpdateSettings")
