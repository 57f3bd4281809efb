"""Questions about stored decisions: in the contract, not served yet."""

from typing import NoReturn

import grpc

from pinch.v1 import insight_pb2 as pb
from pinch.v1 import insight_pb2_grpc as pb_grpc
from pinch_server.rpc.errors import NotServedError


class InsightService(pb_grpc.InsightServiceServicer):
    """Answers UNIMPLEMENTED, with the name of the method."""

    def GetSavings(self, request: pb.GetSavingsRequest, context: grpc.ServicerContext) -> NoReturn:  # noqa: N802 the contract names it
        """Refuses."""
        del request, context
        raise NotServedError("pinch.v1.InsightService/GetSavings")

    def GetDecision(self, request: pb.GetDecisionRequest, context: grpc.ServicerContext) -> NoReturn:  # noqa: N802 the contract names it
        """Refuses."""
        del request, context
        raise NotServedError("pinch.v1.InsightService/GetDecision")

    def ListDecisions(self, request: pb.ListDecisionsRequest, context: grpc.ServicerContext) -> NoReturn:  # noqa: N802 the contract names it
        """Refuses."""
        del request, context
        raise NotServedError("pinch.v1.InsightService/ListDecisions")
