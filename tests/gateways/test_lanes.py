"""Large conversations at the gateways' port wait in the same lanes as those that come by gRPC."""

import base64
import json

from google.protobuf import json_format

from pinch.v1 import prune_pb2 as pb
from pinch_server.decide import Lanes, Patience
from tests.gateways.ports import opened
from tests.gateways.test_in_time import Hand
from tests.rpc.conversations import body, messages, typed

JSON = {"Content-Type": "application/json"}


def test_a_large_one_waits_behind_others_in_whatever_form_it_came() -> None:
    """Typed messages in JSON that would be late behind a large call go on as they came, as a body does."""
    clock = Hand()
    lanes = Lanes(clock)
    with lanes.place(100_000, Patience()):
        clock.at += 100
    chat = json_format.MessageToDict(pb.PruneRequest(chat=typed(messages(results=20))))
    with opened(lanes=lanes) as port, lanes.place(100_000, Patience()):
        for sent in (chat, {"body": {"json": base64.b64encode(body(messages(results=20))).decode()}}):
            reply = port.post("/v1/prune", json.dumps(sent).encode(), JSON)
            assert (reply.status, reply.headers["x-pinch-unchanged-reason"]) == (200, "overloaded")
    assert port.kept.decisions == []
