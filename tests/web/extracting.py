"""A service of two workers whose filters a scripted model writes, for the pages to be looked at."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc

from bench.running_server import RunningServer, running_server
from pinch.v1 import prune_pb2 as pb
from pinch.v1.prune_pb2_grpc import PruneServiceStub
from tests.core.builders import Chat
from tests.extract.sessions import LIMITS, later, session
from tests.services.model_server import ModelServer

_FILTER: Final = """```python
OUTPUT = "\\n".join([line for line in INPUT.split("\\n") if line.endswith("7 said ok")])
```"""
_CUT_RESULT: Final = "s 2 line 7:"
_CONFIG: Final = """
[extract]
enabled = true
mode = "inline"
economic_gate = false

[extract.model]
base_url = "{url}"
"""
_NO_CACHE: Final = pb.RequestContext(cache=pb.CacheContext(state=pb.CACHE_STATE_NONE))


@dataclass(slots=True)
class Extracting:
    """The service, and what its callers were told.

    Attributes:
        running: The service.
        decision_id: The first decision, whose receipt there is.
        gates: What became of each result that a filter was thought of for.
        reasons: What the economic gate said of those that it weighed.
        fresh: Results sent extracted for the first time.
        replayed: Results sent extracted again.
    """

    running: RunningServer
    decision_id: str
    gates: Counter[str]
    reasons: Counter[str]
    fresh: int = 0
    replayed: int = 0


@contextmanager
def extracting_service(directory: Path) -> Iterator[Extracting]:
    """A service after two calls of a session, each at another worker; filters may be under way."""
    model = ModelServer(_written)
    config = directory / "pinch.toml"
    config.write_text(_CONFIG.format(url=model.base_url))
    try:
        with running_server(directory, "--config", str(config), "--workers", "2") as running:
            service = Extracting(running, "", Counter(), Counter())
            chat = session(5)
            for worker, called in zip(running.workers, (chat, later(chat)), strict=True):
                reply = _pruned(worker, called)
                service.decision_id = service.decision_id or reply.decision_id
                for told in reply.extractions:
                    service.gates[told.gate] += 1
                    if told.content_class:
                        service.reasons[told.reason] += 1
                    if told.HasField("sent_tokens"):
                        service.fresh += told.fresh
                        service.replayed += not told.fresh
            yield service
    finally:
        model.close()


def _written(_system: str, user: str) -> str | tuple[str, bool]:
    return ("OUTPUT = INPUT[:100", True) if _CUT_RESULT in user else _FILTER


def _pruned(address: str, chat: Chat) -> pb.PruneResponse:
    names = ("budget_tokens", "target_tokens", "keep_last_turns", "keep_last_rounds", "min_gain")
    limits = pb.Limits(**{name: getattr(LIMITS, name) for name in names})
    body = pb.RequestBody(json=json.dumps({"model": "m", "messages": chat}).encode())
    with grpc.insecure_channel(address) as channel:
        request = pb.PruneRequest(body=body, limits=limits, context=_NO_CACHE)
        return PruneServiceStub(channel).Prune(request, timeout=60)
