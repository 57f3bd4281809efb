"""Which embedder the settings choose, and what it costs to have chosen it."""

import subprocess
import sys
import time
from dataclasses import dataclass, field

import pytest

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.core.scoring import Scoring
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.settings import RelevanceSettings
from tests.services.embedding_faults import FaultServer


@dataclass
class Watched:
    """Keeps what it is told."""

    found: int = 0
    missed: int = 0
    asked: list[float] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def vectors_found(self, count: int) -> None:
        self.found += count

    def vectors_missed(self, count: int) -> None:
        self.missed += count

    def embedder_asked(self, seconds: float) -> None:
        self.asked.append(seconds)

    def embedder_unavailable(self, fault: Fault) -> None:
        self.faults.append(fault)


@pytest.mark.parametrize("scoring", Scoring)
def test_nothing_is_opened_that_the_scoring_does_not_use(scoring: Scoring) -> None:
    """Words and age need no embedder; the others get the embedded model unless an endpoint is chosen."""
    embedder = open_embedder(RelevanceSettings(scoring=scoring), Watched(), time.monotonic)
    assert (embedder is not None) is scoring.needs_vectors
    if embedder is not None:
        assert embedder.is_local
        embedder.close()


def test_what_is_asked_found_and_refused_is_told(server: FaultServer) -> None:
    """New vectors count as misses and known ones as hits, each round trip with its time, each fault once."""
    watched = Watched()
    settings = RelevanceSettings(base_url=server.base_url, api_key="k" * 8)
    embedder = open_embedder(settings, watched, time.monotonic)
    assert embedder is not None
    assert not embedder.is_local
    assert isinstance(embedder.embed(["one", "two"], 60), Vectors)
    assert isinstance(embedder.embed(["one", "two"], 60), Vectors)
    server.fault = "503"
    assert isinstance(embedder.embed(["three"], 60), Unavailable)
    embedder.close()
    assert (watched.found, watched.missed, len(watched.asked)) == (2, 3, 2)
    assert watched.faults == [Fault.FAILING]
    assert server.authorizations[0] == f"Bearer {'k' * 8}"


def test_the_http_client_is_loaded_only_where_there_is_somebody_to_ask() -> None:
    """The whole service with the embedded model imports no aiohttp."""
    code = "import sys, pinch_server.app, pinch_server.embeddings.chosen; print('aiohttp' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
