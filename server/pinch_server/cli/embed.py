"""`pinch embed`: whether the embeddings that ranking asks for can be had."""

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import Final

import click
import numpy as np

from pinch_server.cli.console import EXIT_FAILED, EXIT_REFUSED, say, stop
from pinch_server.cli.help import lines
from pinch_server.core.embedding import Fault, Unavailable
from pinch_server.core.relevance import cosine_scores
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.embeddings.http import Endpoint, HttpEmbedder
from pinch_server.embeddings.provider import Source
from pinch_server.embeddings.static import MODEL, StaticEmbedder

API_KEY_VARIABLE: Final = "PINCH_RELEVANCE__API_KEY"
"""Where the key is read from; never from the command line, which other users of the machine can see."""

_DEFAULT_MODEL: Final = "nomic-embed-text"
_QUERY: Final = "Which function reads the settings file?"
_NEAR: Final = "def load_settings(path): reads the configuration file and returns its settings."
_FAR: Final = "Tomorrow it will rain in the mountains and snow above two thousand metres."
# Texts so unlike have cosines below .9 with every embedding model; one vector for all texts has 1.
_SAME: Final = 0.9999

_ADVICE: Final = {
    Fault.REFUSED: "Nothing answers there: is the server running, and is the address right (it ends in /v1)?",
    Fault.TIMEOUT: "It took too long. A first call may load the model: try again, with a longer --timeout.",
    Fault.DENIED: f"It wants a key, or another one: set {API_KEY_VARIABLE}.",
    Fault.REJECTED: (
        "It does not embed with that model: is the name right, and is it an embedding model and not a chat"
        " model? With Ollama: `ollama pull nomic-embed-text`."
    ),
    Fault.FAILING: "The server failed: a chat model asked to embed may do that; see the server's own log.",
    Fault.MALFORMED: "What answers there is no OpenAI-compatible embeddings endpoint: check the address.",
    Fault.BUSY: "It is overloaded or the account's rate limit is reached.",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What the check found.

    Attributes:
        base_url: The endpoint; empty for the embedded model.
        model: The model asked for.
        ok: Whether ranking can use it.
        fault: Why it did not answer, as a slug; empty when it did.
        dimension: Numbers of a vector; None without an answer.
        first_ms: Time of the first call, connecting included (ms).
        again_ms: Time of the second call (ms).
        near: Cosine of a question and a text that answers it.
        far: Cosine of the same question and a text about the weather.
        words: The findings, a sentence each.
    """

    base_url: str
    model: str
    ok: bool
    fault: str
    dimension: int | None
    first_ms: float | None
    again_ms: float | None
    near: float | None
    far: float | None
    words: tuple[str, ...]


_EPILOG: Final = lines(
    "Examples",
    "pinch embed check                                        the model inside the install",
    "pinch embed check --base-url http://localhost:11434/v1   an OpenAI-compatible endpoint",
)


@click.group("embed", epilog=_EPILOG)
def embed_command() -> None:
    """Look at the embeddings that rank tool results."""


@embed_command.command("check")
@click.option(
    "--base-url", metavar="URL", help="OpenAI-compatible endpoint, up to /v1. Else the embedded model."
)
@click.option("--model", metavar="NAME", help=f"The model there.  [default: {_DEFAULT_MODEL}]")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0.01, 600),
    default=10.0,
    show_default=True,
    help="Seconds each call may take.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON on standard output.")
def check_command(base_url: str | None, model: str | None, seconds: float, as_json: bool) -> None:
    """Ask for three embeddings and say what came back.

    The key, if the endpoint wants one, comes from PINCH_RELEVANCE__API_KEY. Exit status: 0 when ranking can
    use what answered, 1 when it cannot.
    """
    if model is not None and base_url is None:
        stop(["--model: names a model of an endpoint; give --base-url too"], EXIT_REFUSED)
    report = _checked(base_url, model or _DEFAULT_MODEL, seconds)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        for line in report.words:
            say(line)
    if not report.ok:
        raise SystemExit(EXIT_FAILED)


def _checked(base_url: str | None, model: str, seconds: float) -> Report:
    if base_url is not None:
        return check(
            HttpEmbedder(Endpoint(base_url, model), os.environ.get(API_KEY_VARIABLE, "")),
            base_url,
            model,
            seconds,
        )
    try:
        return check(StaticEmbedder(), "", MODEL, seconds)
    except ModelFilesError as error:
        return _failure("", MODEL, "model_files", (f"The embedded model cannot be loaded: {error}.",))


def check(source: Source, base_url: str, model: str, seconds: float) -> Report:
    """Asks a source and judges what it answers; closes it.

    Args:
        source: Whom to ask.
        base_url: Where that is, for the report; empty for the embedded model.
        model: The model, for the report.
        seconds: Time for each of two calls (seconds).
    """
    try:
        began = time.perf_counter()
        first = source.embed([_QUERY, _NEAR, _FAR], seconds)
        between = time.perf_counter()
        again = source.embed([_QUERY, _NEAR, _FAR], seconds)
        ended = time.perf_counter()
    finally:
        source.close()
    where = f"{base_url} (model {model})" if base_url else f"The embedded model {model}"
    for answer in (first, again):
        if isinstance(answer, Unavailable):
            words = (
                f"{where} gives no embeddings: {answer.fault} ({answer.detail}).",
                *_advice(answer.fault),
            )
            return _failure(base_url, model, answer.fault, words)
    assert not isinstance(first, Unavailable)  # noqa: S101 the loop above returned
    near, far = (float(score) for score in cosine_scores(first.rows[0], first.rows[1:]))
    dimension = int(first.rows.shape[1])
    first_ms, again_ms = (between - began) * 1e3, (ended - between) * 1e3
    verdict, ok = _likeness(near, far)
    words = (
        f"{where} answers.",
        f"Dimension: {dimension}. Three texts took {first_ms:.1f} ms, then {again_ms:.1f} ms.",
        verdict,
    )
    return Report(base_url, model, ok, "", dimension, first_ms, again_ms, near, far, words)


def _likeness(near: float, far: float) -> tuple[str, bool]:
    """What two cosines say about a model, and whether ranking can use it."""
    if np.isnan([near, far]).any() or min(near, far) > _SAME:
        return "Different texts get the same vector: no embedding model, or it reads none of the text.", False
    if near <= far:
        return (
            f"It finds a text about the weather nearer to a question about settings ({far:.2f}) than its"
            f" answer ({near:.2f}): it may be a chat model or of another language; expect a poor ranking."
        ), True
    return (
        f"Different texts get different vectors, and the answer is nearer to its question ({near:.2f}) than"
        f" a text about the weather ({far:.2f})."
    ), True


def _advice(fault: Fault) -> tuple[str, ...]:
    advice = _ADVICE.get(fault)
    return () if advice is None else (advice,)


def _failure(base_url: str, model: str, fault: str, words: tuple[str, ...]) -> Report:
    return Report(base_url, model, False, fault, None, None, None, None, None, words)
