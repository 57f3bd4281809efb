"""`pinch embed check`."""

import json
import socket
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pinch_server.cli.embed import check, embed_command
from pinch_server.core.embedding import Vectors
from tests.services.embedding_faults import FaultServer


@pytest.fixture
def server() -> Iterator[FaultServer]:
    running = FaultServer()
    yield running
    running.close()


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(embed_command, ["check", *arguments])


class Constant:
    """A source of the same vectors for any texts."""

    def __init__(self, rows: list[list[float]]) -> None:
        self._rows = np.array(rows, dtype=np.float32)

    def embed(self, texts: Sequence[str], seconds: float, when_gone: object = None) -> Vectors:
        del texts, seconds, when_gone
        return Vectors(self._rows)

    def close(self) -> None:
        """Nothing to close."""


def test_the_embedded_model_needs_nothing() -> None:
    """Without an address the model inside the install is looked at, and can be used."""
    done = ask()
    assert done.exit_code == 0
    assert "Dimension: 256" in done.stderr
    assert "different vectors" in done.stderr
    assert done.stdout == ""


def test_an_endpoint_that_works(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that embeds is reported with dimension and time, the key coming from the environment."""
    monkeypatch.setenv("PINCH_RELEVANCE__API_KEY", "sk-of-the-tests")
    done = ask("--base-url", server.base_url, "--model", "some-model", "--json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert (report["ok"], report["dimension"], report["fault"]) == (True, 256, "")
    assert report["near"] > report["far"]
    assert server.requests[0]["model"] == "some-model"
    assert server.authorizations == ["Bearer sk-of-the-tests"] * 2
    assert "sk-of" not in done.output


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("401", "PINCH_RELEVANCE__API_KEY"),
        ("404", "embedding model and not a chat model"),
        ("500", "log"),
        ("html", "check the address"),
        ("hang", "took too long"),
        ("zero", "embedder_zero_vector"),
    ],
)
def test_an_endpoint_that_does_not_is_told_in_words(server: FaultServer, fault: str, words: str) -> None:
    """What is wrong comes in words with what to do about it, and status 1."""
    server.fault = fault
    done = ask("--base-url", server.base_url, "--timeout", "0.5" if fault == "hang" else "60")
    assert done.exit_code == 1
    assert words in done.stderr


def test_nobody_listens() -> None:
    """An address where nothing listens says so."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    done = ask("--base-url", f"http://127.0.0.1:{port}/v1", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["fault"] == "embedder_refused"


def test_one_vector_for_all_texts_is_no_embedding() -> None:
    """A model that gives different texts the same vector cannot rank."""
    report = check(Constant([[1, 2, 3]] * 3), "", "constant", 1.0)
    assert not report.ok
    assert "same vector" in report.words[-1]


def test_a_poor_model_is_named_poor() -> None:
    """A model that finds the weather nearer than the answer is usable, with a warning."""
    report = check(Constant([[1, 0], [0, 1], [1, 0.1]]), "", "odd", 1.0)
    assert report.ok
    assert "chat model" in report.words[-1]


def test_a_model_needs_an_endpoint() -> None:
    """A model's name without an address is refused as such."""
    assert ask("--model", "x").exit_code == 2
