"""The round trip to an endpoint, right and wrong."""

import logging
import socket
import threading
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.embeddings.cache import VectorCache
from pinch_server.embeddings.http import Endpoint, HttpEmbedder
from pinch_server.embeddings.provider import CachedEmbedder
from pinch_server.embeddings.static import StaticEmbedder
from pinch_server.outbound.breaker import Breaker
from tests.services.embedding_faults import FAULTS, FaultServer

TEXTS = ["the parser of the settings file", "rows of a database", "three"]
# What a caller with a deadline of 300 ms can spend; no test measures it, each looks at what came of it.
SECONDS = 0.25
# For answers that come: however slow the machine, they do.
PATIENT = 60.0

REASONS = {
    "400": Fault.REJECTED,
    "401": Fault.DENIED,
    "404": Fault.REJECTED,
    "422": Fault.REJECTED,
    "429": Fault.BUSY,
    "500": Fault.FAILING,
    "503": Fault.FAILING,
    "hang": Fault.TIMEOUT,
    "hang_in_body": Fault.TIMEOUT,
    "drip": Fault.TIMEOUT,
    "too_long": Fault.TOO_LONG,
    "truncated_json": Fault.MALFORMED,
    "cut_body": Fault.CLOSED,
    "html": Fault.MALFORMED,
    "empty_body": Fault.MALFORMED,
    "not_http": Fault.MALFORMED,
    "redirect": Fault.REJECTED,
    "nan": Fault.NOT_FINITE,
    "infinity": Fault.NOT_FINITE,
    "base64_nan": Fault.NOT_FINITE,
    "too_few": Fault.WRONG_COUNT,
    "too_many": Fault.WRONG_COUNT,
    "duplicate_index": Fault.WRONG_COUNT,
    "mixed_dimensions": Fault.WRONG_DIMENSION,
    "no_dimension": Fault.WRONG_DIMENSION,
    "bad_base64": Fault.MALFORMED,
    "zero": Fault.ZERO_VECTOR,
    "huge": Fault.TOO_LARGE,
    "close": Fault.CLOSED,
}
ENDLESS = {"hang", "hang_in_body", "drip"}


def rows(answer: Vectors | Unavailable) -> NDArray[np.float32]:
    assert isinstance(answer, Vectors), answer
    return answer.rows


def test_every_fault_has_its_reason() -> None:
    """The table below covers all that the server can do wrong."""
    assert set(REASONS) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_reason_and_opens_the_breaker(
    server: FaultServer, embedder: HttpEmbedder, fault: str
) -> None:
    """Whatever an endpoint does wrong comes back as its reason, is counted, and in a row stops the asking."""
    seen: list[Fault] = []
    breaker = Breaker(lambda: 0.0, failures=2)
    cached = CachedEmbedder(
        embedder, model="m", cache=VectorCache(), breaker=breaker, on_unavailable=seen.append
    )
    server.fault = fault
    seconds = SECONDS if fault in ENDLESS else PATIENT
    answers = [cached.embed(TEXTS, seconds) for _ in range(3)]
    reasons = [answer.fault for answer in answers if isinstance(answer, Unavailable)]
    # A text that is too long says nothing about the endpoint.
    last = REASONS[fault] if fault == "too_long" else Fault.BREAKER_OPEN
    assert reasons == [REASONS[fault], REASONS[fault], last] == seen


def test_nobody_listens() -> None:
    """A refused connection is a reason."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    embedder = HttpEmbedder(Endpoint(f"http://127.0.0.1:{port}/v1", "m"))
    try:
        answer = embedder.embed(TEXTS, PATIENT)
        assert isinstance(answer, Unavailable)
        assert answer.fault is Fault.REFUSED
    finally:
        embedder.close()


@pytest.mark.parametrize("url", ["http://", "not a url", "http://127.0.0.1:99999/v1", "ftp://127.0.0.1/v1"])
def test_a_url_that_is_none(url: str) -> None:
    """A base URL that cannot be asked is a reason, not an exception."""
    embedder = HttpEmbedder(Endpoint(url, "m"))
    try:
        assert isinstance(embedder.embed(TEXTS, PATIENT), Unavailable)
    finally:
        embedder.close()


@pytest.mark.parametrize("variant", [None, "floats", "out_of_order", "no_index"])
def test_right_answers_are_the_models_vectors(
    server: FaultServer, embedder: HttpEmbedder, static: StaticEmbedder, variant: str | None
) -> None:
    """Numbers or base64, in any order by their index: each text gets its own vector, in float16 precision."""
    server.fault = variant
    answer = rows(embedder.embed(TEXTS, PATIENT))
    assert np.allclose(answer, rows(static.embed(TEXTS, PATIENT)), atol=1e-3)
    assert (answer == answer.astype(np.float16)).all()
    assert server.requests[0]["encoding_format"] == "base64"


def test_base64_and_floats_agree(server: FaultServer, embedder: HttpEmbedder) -> None:
    """The same vectors as base64 or as numbers are the same bits."""
    first = rows(embedder.embed(TEXTS, PATIENT))
    server.fault = "floats"
    assert (rows(embedder.embed(TEXTS, PATIENT)) == first).all()


def test_many_texts_travel_in_batches(
    server: FaultServer, embedder: HttpEmbedder, static: StaticEmbedder
) -> None:
    """More texts than a server takes go in several requests, and come back in one order."""
    texts = [f"text number {number} of the batch" for number in range(70)]
    answer = rows(embedder.embed(texts, PATIENT))
    assert sorted(len(request["input"]) for request in server.requests) == [6, 32, 32]
    assert np.allclose(answer, rows(static.embed(texts, PATIENT)), atol=1e-3)


def test_connections_are_used_again(server: FaultServer, embedder: HttpEmbedder) -> None:
    """Calls one after the other share a connection."""
    for _ in range(3):
        rows(embedder.embed(TEXTS, PATIENT))
    assert server.connections == 1


def test_a_stale_connection_is_replaced(server: FaultServer, embedder: HttpEmbedder) -> None:
    """A kept-alive connection that the server closes unanswered costs a second try, not the vectors."""
    server.fault = "close_kept_alive"
    for _ in range(3):
        rows(embedder.embed(TEXTS, PATIENT))
    assert server.connections == 3


def test_texts_too_long_are_halved_once(server: FaultServer, embedder: HttpEmbedder) -> None:
    """When the model cannot take a text, the long ones are sent again at half their length, once."""
    server.fault = "half_too_long"
    long = "word " * 1_400
    assert rows(embedder.embed([long, "short"], PATIENT)).shape == (2, 256)
    halved, short = server.requests[1]["input"]
    assert 3_300 < len(halved) <= 3_500
    assert short == "short"
    server.fault = "too_long"
    before = len(server.requests)
    assert isinstance(embedder.embed([long], PATIENT), Unavailable)
    assert len(server.requests) == before + 2


def test_a_caller_that_goes_ends_the_call(server: FaultServer, embedder: HttpEmbedder) -> None:
    """When the call that asks ends, the request is dropped at once, and the breaker hears nothing of it."""
    server.fault = "hang"
    leave: list[Callable[[], None]] = []
    registered = threading.Event()
    breaker = Breaker(lambda: 0.0, failures=1)
    cached = CachedEmbedder(embedder, model="m", cache=VectorCache(), breaker=breaker)
    answers: list[Vectors | Unavailable] = []

    def when_gone(callback: Callable[[], None]) -> bool:
        leave.append(callback)
        registered.set()
        return True

    asking = threading.Thread(target=lambda: answers.append(cached.embed(TEXTS, PATIENT, when_gone)))
    asking.start()
    assert server.arrived.wait(PATIENT)
    assert registered.wait(PATIENT)
    leave[0]()
    asking.join(PATIENT)
    assert [answer.fault for answer in answers if isinstance(answer, Unavailable)] == [Fault.CANCELLED]
    assert server.abandoned.wait(PATIENT)
    assert not breaker.is_open


def test_a_caller_that_is_gone_already(embedder: HttpEmbedder) -> None:
    """A call that has ended before it asks gets no vectors."""
    answer = embedder.embed(TEXTS, PATIENT, lambda _: False)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.CANCELLED


def test_the_deadline_drops_the_request(server: FaultServer, embedder: HttpEmbedder) -> None:
    """When the time is up the connection is closed, so that a slow endpoint collects no abandoned work."""
    server.fault = "hang"
    embedder.embed(TEXTS, SECONDS)
    assert server.abandoned.wait(PATIENT)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_without_time_nothing_is_sent(server: FaultServer, embedder: HttpEmbedder, seconds: float) -> None:
    """A caller without time left sends nothing."""
    answer = embedder.embed(TEXTS, seconds)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.TIMEOUT
    assert server.requests == []


def test_odd_texts_travel(server: FaultServer, embedder: HttpEmbedder) -> None:
    """Lone surrogates, NUL and emoji are sent as the nearest Unicode text."""
    assert rows(embedder.embed(["bad \ud83d here", "a\0b", "\U0001f600"], PATIENT)).shape == (3, 256)
    assert server.requests[0]["input"] == ["bad ? here", "a\0b", "\U0001f600"]


def test_the_key_is_sent_and_never_shown(
    server: FaultServer, embedder: HttpEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """The API key travels as a bearer token and appears in no log, no repr and no reason."""
    with caplog.at_level(logging.DEBUG):
        rows(embedder.embed(TEXTS, PATIENT))
        server.fault = "401"
        answer = embedder.embed(TEXTS, PATIENT)
    assert set(server.authorizations) == {"Bearer sk-secret-of-the-tests"}
    assert "sk-secret" not in f"{embedder!r} {answer!r} {caplog.text}"


def test_a_reason_holds_no_text(server: FaultServer, embedder: HttpEmbedder) -> None:
    """What is said about a failure repeats nothing of the conversation."""
    for server.fault in FAULTS:
        answer = embedder.embed(["hidden-in-the-text"], SECONDS)
        assert "hidden-in-the-text" not in repr(answer)


def test_closing_twice(embedder: HttpEmbedder) -> None:
    """An embedder may be closed twice, used or not."""
    embedder.close()
    embedder.close()


def test_threads_share_an_embedder(embedder: HttpEmbedder) -> None:
    """Calls from several threads at once each get their own vectors."""
    answers: dict[int, Vectors | Unavailable] = {}
    texts = [[f"call {number}", "shared"] for number in range(8)]

    def ask(number: int) -> None:
        answers[number] = embedder.embed(texts[number], PATIENT)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENT)
    first = [rows(answers[number]) for number in range(8)]
    assert all((got[1] == first[0][1]).all() for got in first)
    assert len({got[0].tobytes() for got in first}) == 8
