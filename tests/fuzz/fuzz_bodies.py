"""Searches for bytes that break a dialect, guided by coverage: `make fuzz`.

Whatever it finds is written to .fuzz and its fault printed; a find becomes a vector or a
test once it is mended.
"""

from __future__ import annotations

import argparse
import base64
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["pinch_server.formats", "pinch_server.core"]):
    from pinch_server.core.images import image_size
    from pinch_server.core.limits import Limits
    from pinch_server.formats.errors import BodyError, NotUnderstoodError
    from pinch_server.formats.format import Format
    from tests.formats.bodies import prune

from tests.checker.check import check
from tests.checker.recount import recount
from tests.checker.samples import BUILD, PNG, TEXT, raw
from tests.vectors.vectors import load_vector, vector_files

FORMATS = tuple(Format)
LIMITS = (
    Limits(budget_tokens=1, keep_last_turns=1, keep_last_rounds=0),
    Limits(budget_tokens=1, keep_last_turns=2, max_summarize_chars=3_000, protected_max_chars=3_000),
    Limits(budget_tokens=400, keep_last_turns=1, protected_tools=("memory_*",)),
)

HEADER = PNG[:64].encode()
"""The start of the seeds' images. Of a header that was broken, the checker's reader may think otherwise."""


def one_input(data: bytes) -> None:
    """Prunes one body; the first byte chooses dialect and limits, the rest is the body."""
    if not data:
        return
    dialect, limits, body = FORMATS[data[0] % 5], LIMITS[data[0] // 5 % 3], data[1:]
    if data[0] >= 250:
        image_size(base64.b64encode(body).decode())
        return
    try:
        outcome = prune(body, dialect if data[0] < 200 else None, limits)
    except (BodyError, NotUnderstoodError):
        return
    has_broken_image = body.count(HEADER[:5]) > body.count(HEADER)
    if data[0] >= 200 or not outcome.plan.edits or has_broken_image:
        return
    said = {name: getattr(limits, name) for name in Limits.__dataclass_fields__}
    found = check(dialect, body, outcome.body, limits=said)
    if found:
        raise AssertionError(found)
    stats = outcome.plan.stats
    sizes = recount(dialect, body).total, recount(dialect, outcome.body).total
    if sizes != (stats.original_tokens, stats.final_tokens):
        raise AssertionError((sizes, stats))
    if prune(outcome.body, dialect, limits).body != outcome.body:
        raise AssertionError("a second pass changed the body")


def seeds() -> list[bytes]:
    """What the search begins with: every vector, the checker's samples, and an image."""
    found = [base64.b64decode(PNG)]
    for place in vector_files():
        vector = load_vector(place)
        if len(vector.body) < 20_000:
            found.append(bytes([FORMATS.index(Format(vector.format))]) + vector.body)
    for number, dialect in enumerate(FORMATS):
        found.append(bytes([number + 5]) + raw(BUILD[dialect](TEXT[:3_200])))
    return found


def main() -> None:
    """Runs the search for some seconds; ends with a status other than 0 where something was found."""
    parser = argparse.ArgumentParser(description="Search for request bodies that break a dialect.")
    parser.add_argument("--seconds", type=int, default=60, help="how long to search (default 60)")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="keep what the search learns here")
    parser.add_argument("--finds", type=Path, metavar="FOLDER", help="write what breaks here (default .fuzz)")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        corpus = options.corpus or Path(temporary)
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds()):
            (corpus / f"seed-{number:03}").write_bytes(seed)
        finds = options.finds or Path(".fuzz")
        finds.mkdir(parents=True, exist_ok=True)
        words = [
            sys.argv[0],
            f"-max_total_time={options.seconds}",
            "-max_len=20000",
            f"-artifact_prefix={finds}/",
            "-print_final_stats=1",
            str(corpus),
        ]
        atheris.Setup(words, one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
