"""What travels, what does not, and what the breaker hears of it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.embeddings.cache import VectorCache
from pinch_server.embeddings.provider import FAIR_SECONDS, CachedEmbedder
from pinch_server.embeddings.static import MODEL, StaticEmbedder
from pinch_server.outbound.breaker import Breaker
from pinch_server.outbound.loop import WhenGone

PATIENT = 60.0


class Recording:
    """The embedded model, remembering what it was asked, or giving a set answer."""

    def __init__(self, answer: Vectors | Unavailable | None = None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []
        self._model = StaticEmbedder()

    def embed(
        self, texts: Sequence[str], seconds: float, when_gone: WhenGone | None = None
    ) -> Vectors | Unavailable:
        self.asked.append(list(texts))
        return self.answer or self._model.embed(texts, seconds, when_gone)

    def close(self) -> None:
        self.asked.append(["closed"])


class Kept:
    """A store in a dictionary."""

    def __init__(self) -> None:
        self.vectors: dict[bytes, NDArray[np.float32]] = {}

    def read(self, keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.float32]]:
        return {key: self.vectors[key] for key in keys if key in self.vectors}

    def write(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        self.vectors.update(vectors)


@pytest.fixture
def source() -> Recording:
    return Recording()


@pytest.fixture
def embedder(source: Recording) -> CachedEmbedder:
    return CachedEmbedder(source, model=MODEL, cache=VectorCache())


def rows(answer: Vectors | Unavailable) -> NDArray[np.float32]:
    assert isinstance(answer, Vectors), answer
    return answer.rows


def test_only_new_texts_travel(source: Recording, embedder: CachedEmbedder) -> None:
    """On the turn after only what was not there before travels, together, each text once."""
    first = rows(embedder.embed(["query one", "a", "b", "a"], PATIENT))
    second = rows(embedder.embed(["query two", "a", "b", "c"], PATIENT))
    assert source.asked == [["query one", "a", "b"], ["query two", "c"]]
    assert (first[1:3] == second[1:3]).all()
    assert (first[1] == first[3]).all()
    embedder.embed(["a", "b", "c"], PATIENT)
    assert len(source.asked) == 2


def test_blank_texts_stay_at_home(source: Recording, embedder: CachedEmbedder) -> None:
    """A blank text is never sent and gets a zero row."""
    answer = rows(embedder.embed(["", "word", " \n"], PATIENT))
    assert source.asked == [["word"]]
    assert [bool(row.any()) for row in answer] == [False, True, False]
    assert rows(embedder.embed(["", ""], PATIENT)).shape == (2, 0)


def test_known_vectors_need_no_endpoint(source: Recording) -> None:
    """What is cached is there though the endpoint is not; anything more is a reason, told once."""
    seen: list[Fault] = []
    embedder = CachedEmbedder(source, model=MODEL, cache=VectorCache(), on_unavailable=seen.append)
    embedder.embed(["a", "b"], PATIENT)
    source.answer = Unavailable(Fault.REFUSED)
    assert rows(embedder.embed(["b", "a"], PATIENT)).shape == (2, 256)
    assert embedder.embed(["a", "new"], PATIENT) == Unavailable(Fault.REFUSED)
    assert seen == [Fault.REFUSED]
    assert [vector is not None for vector in embedder.recall(["a", "new", "", "b"])] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("seconds", [0.0, -3.0])
def test_without_time_nothing_travels(source: Recording, embedder: CachedEmbedder, seconds: float) -> None:
    """Without time left the cache still answers, the source is not asked."""
    embedder.embed(["a"], PATIENT)
    assert isinstance(embedder.embed(["a"], seconds), Vectors)
    answer = embedder.embed(["b"], seconds)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.TIMEOUT
    assert source.asked == [["a"]]


@pytest.mark.parametrize(
    ("fault", "seconds", "opens"),
    [
        (Fault.REFUSED, 1.0, True),
        (Fault.TIMEOUT, 1.0, True),
        (Fault.TIMEOUT, FAIR_SECONDS / 2, False),
        (Fault.CANCELLED, 1.0, False),
        (Fault.TOO_LONG, 1.0, False),
        (Fault.MALFORMED, 1.0, True),
        (Fault.DENIED, 1.0, True),
    ],
)
def test_what_the_breaker_counts(source: Recording, fault: Fault, seconds: float, opens: bool) -> None:
    """Failures of the endpoint open the breaker; its callers' haste, departure and long texts do not."""
    breaker = Breaker(lambda: 0.0, failures=1)
    source.answer = Unavailable(fault)
    embedder = CachedEmbedder(source, model=MODEL, cache=VectorCache(), breaker=breaker)
    embedder.embed(["a"], seconds)
    assert breaker.is_open is opens


def test_an_open_breaker_sends_nothing(source: Recording) -> None:
    """While the breaker is open the source is not asked; once it works again, it is."""
    now = [0.0]
    breaker = Breaker(lambda: now[0], failures=1, pause_seconds=5)
    embedder = CachedEmbedder(source, model=MODEL, cache=VectorCache(), breaker=breaker)
    source.answer = Unavailable(Fault.REFUSED)
    embedder.embed(["a"], PATIENT)
    answer = embedder.embed(["a"], PATIENT)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.BREAKER_OPEN
    assert len(source.asked) == 1
    now[0], source.answer = 5.0, None
    assert isinstance(embedder.embed(["a"], PATIENT), Vectors)
    assert not breaker.is_open


def test_another_dimension_is_noticed_once(source: Recording, embedder: CachedEmbedder) -> None:
    """Vectors that cannot be compared with the known ones are a reason; then all are fetched anew."""
    embedder.embed(["a"], PATIENT)
    source.answer = Vectors(np.ones((1, 8), dtype=np.float32))
    answer = embedder.embed(["a", "b"], PATIENT)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.WRONG_DIMENSION
    source.answer = Vectors(np.ones((2, 8), dtype=np.float32))
    assert rows(embedder.embed(["a", "b"], PATIENT)).shape == (2, 8)


def test_a_store_outlives_the_process(source: Recording) -> None:
    """What one process embedded another reads from the store, without a round trip, as the same bits."""
    store = Kept()
    first = CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store)
    before = rows(first.embed(["a", "b"], PATIENT))
    second = CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store)
    source.answer = Unavailable(Fault.REFUSED)
    assert (rows(second.embed(["a", "b"], PATIENT)) == before).all()
    assert second.recall(["a"])[0] is not None


def test_an_endpoint_that_changed_its_dimension_is_believed(source: Recording) -> None:
    """Stored vectors of another dimension are asked for anew, once, whoever finds them; no call breaks."""
    store = Kept()
    CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store).embed(["a", "b"], PATIENT)
    changed = CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store)
    source.answer = Vectors(np.ones((1, 8), dtype=np.float32))
    assert rows(changed.embed(["c"], PATIENT)).shape == (1, 8)
    # One process knows the dimension, another has only what is stored.
    for embedder in (changed, CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store)):
        source.asked.clear()
        source.answer = Vectors(np.ones((1 if embedder is changed else 3, 8), dtype=np.float32))
        known = ["a", "c"] if embedder is changed else ["a", "b", "c"]
        assert rows(embedder.embed(known, PATIENT)).shape == (len(known), 8)
        assert rows(embedder.embed(known, PATIENT)).shape == (len(known), 8)
        assert len(source.asked) == 1
    assert {len(vector) for vector in store.vectors.values()} == {8}


def test_one_odd_answer_costs_no_stored_vector(source: Recording) -> None:
    """An endpoint that answers in another dimension once loses a call its vectors, and nothing else."""
    store = Kept()
    embedder = CachedEmbedder(source, model=MODEL, cache=VectorCache(), store=store)
    before = rows(embedder.embed(["a"], PATIENT))
    source.answer = Vectors(np.ones((1, 8), dtype=np.float32))
    assert isinstance(embedder.embed(["a", "b"], PATIENT), Unavailable)
    source.answer = None
    assert (rows(embedder.embed(["a", "b"], PATIENT))[0] == before[0]).all()
    assert {len(vector) for vector in store.vectors.values()} == {len(before[0])}


def test_the_time_of_a_slow_store_is_not_spent_twice(source: Recording) -> None:
    """What the store takes of the deadline is not there for the endpoint any more."""
    now = [0.0]

    class Slow(Kept):
        def read(self, keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.float32]]:
            now[0] += 0.2
            return super().read(keys)

    embedder = CachedEmbedder(
        source, model=MODEL, cache=VectorCache(), store=Slow(), monotonic=lambda: now[0]
    )
    answer = embedder.embed(["a"], 0.15)
    assert isinstance(answer, Unavailable)
    assert (answer.fault, source.asked) == (Fault.TIMEOUT, [])


def test_models_do_not_share_vectors(source: Recording) -> None:
    """Two models behind one cache each have their own vectors."""
    cache = VectorCache()
    for model in ("one", "two"):
        CachedEmbedder(source, model=model, cache=cache).embed(["a"], PATIENT)
    assert source.asked == [["a"], ["a"]]


def test_closing_closes_the_source(source: Recording, embedder: CachedEmbedder) -> None:
    """Closing the embedder lets the source go."""
    embedder.close()
    assert source.asked == [["closed"]]
