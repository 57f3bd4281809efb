"""The embedded model."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.embedding import Fault, Unavailable, Vectors
from pinch_server.core.relevance import order_by_relevance
from pinch_server.embeddings import static as module
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.embeddings.static import DIMENSION, StaticEmbedder

PATIENT = 60.0
ROOT = Path(__file__).resolve().parents[2]
SHARED = StaticEmbedder()


def embed(*texts: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    answer = SHARED.embed(texts, PATIENT)
    assert isinstance(answer, Vectors)
    return answer.rows


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither loading the model nor using it connects anywhere or looks up a name."""

    def refuse(*_: object) -> None:
        raise AssertionError("the embedded model went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert isinstance(StaticEmbedder().embed(["text"], PATIENT), Vectors)


def test_importing_it_is_quiet() -> None:
    """Import, load and use open no socket, leave the root logger alone and never import the package."""
    script = """
import logging, socket, sys
def refuse(*_): raise SystemExit("went to the network")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from pinch_server.embeddings.static import StaticEmbedder
StaticEmbedder().embed(["text"], 60.0)
assert not logging.getLogger().handlers
assert not {"wordllama", "huggingface_hub", "requests", "torch"} & set(sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / "server")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_likeness_is_nearness() -> None:
    """Of three texts the one about the query is the nearest."""
    texts = ["rain and clouds all week", "def parse_json(text): return json.loads(text)", "invoice total due"]
    query, *rows = embed("how is JSON decoded?", *texts)
    assert order_by_relevance(query, rows)[-1] == 1


@given(st.lists(st.text(max_size=200), max_size=5))
def test_vectors_are_finite_and_normalised(texts: list[str]) -> None:
    """Any text has a finite vector of length 1, a blank one a zero vector, alone as in company."""
    rows = embed(*texts)
    assert rows.shape == (len(texts), DIMENSION)
    for text, row in zip(texts, rows, strict=True):
        length = float(np.linalg.norm(row.astype(np.float64)))
        assert length == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)
        assert embed(text)[0].tobytes() == row.tobytes()


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_a_blank_text_is_zero(text: str) -> None:
    """A text without content has the zero vector, which ranks as neutral."""
    assert not embed(text).any()


@pytest.mark.parametrize("piece", ["a", "aB3/", " a", "\0", "漢字", "\u0301", "\U0001f600", "\ud83d", "</s>"])
def test_a_megabyte_without_words(piece: str) -> None:
    """A very long text of any characters is read in part and has a finite vector."""
    row = embed(piece * (1_000_000 // len(piece)))[0]
    assert np.isfinite(row).all()
    assert row.any()


def test_threads_get_the_same_bits() -> None:
    """Threads that embed at once get the bits that one alone gets."""
    texts = [f"{word} of the {word}s {number}" for number, word in enumerate(["row", "file", "parser"] * 5)]
    expected = embed(*texts)
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda: seen.append(bool((embed(*texts) == expected).all())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENT)
    assert seen == [True] * 4


def test_time_runs_out() -> None:
    """Once the time is up the texts that are left are not read."""
    ticks = iter(range(100))
    embedder = StaticEmbedder(lambda: float(next(ticks)))
    assert isinstance(embedder.embed(["a", "b"], 3.0), Vectors)
    answer = embedder.embed(["a", "b", "c"], 2.0)
    assert isinstance(answer, Unavailable)
    assert answer.fault is Fault.TIMEOUT


def test_a_caller_that_is_gone() -> None:
    """A call that has ended, before or meanwhile, gets no vectors."""

    def ends_at_once(callback: Callable[[], None]) -> bool:
        callback()
        return True

    for when_gone in (lambda _: False, ends_at_once):
        answer = SHARED.embed(["a"], PATIENT, when_gone)
        assert isinstance(answer, Unavailable)
        assert answer.fault is Fault.CANCELLED


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the distribution, or with another content, loading says what is missing."""
    monkeypatch.setattr(module, "_WEIGHTS", "wordllama/weights/other.safetensors")
    with pytest.raises(ModelFilesError, match=r"other\.safetensors"):
        StaticEmbedder()
    monkeypatch.setattr(module, "_DISTRIBUTION", "no-such-distribution")
    with pytest.raises(ModelFilesError, match="not installed"):
        StaticEmbedder()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x05\0\0\0\0\0\0\0hello", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 100],
)
def test_damaged_weights_are_named(tmp_path: Path, content: bytes) -> None:
    """A file that is no table of vectors is named, not read."""
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(content)
    with pytest.raises(ModelFilesError, match="damaged"):
        module._read_weights(damaged)
