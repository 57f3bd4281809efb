"""``python -m bench.demo``: the main job end to end, in one screen and under ten seconds."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from grpc import StatusCode
from rich.console import Console

from bench.conversations import DIALECTS, SMALLEST_TOKENS, generate_bytes
from bench.demo_report import as_json, show
from bench.demo_run import RowMissingError, run
from bench.running_server import ServerError
from pinch import CallError, PinchError

EXIT_FAILED = 1
EXIT_REFUSED = 2
_REFUSED = (StatusCode.INVALID_ARGUMENT, StatusCode.RESOURCE_EXHAUSTED)
_FONT_FACE: Final = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)


class ConversationError(Exception):
    """The conversation cannot be used; the text says why in one line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demo.

    Returns:
        0; 1 when the server or the call failed; 2 when the conversation or an argument is not usable.
    """
    options = _parser().parse_args(argv)
    began = time.perf_counter()
    try:
        body, source = _conversation(options)
        seen = run(body)
    except ConversationError as error:
        return _fail(str(error), EXIT_REFUSED)
    except CallError as error:
        return _fail(f"the call failed: {error}", EXIT_REFUSED if error.code in _REFUSED else EXIT_FAILED)
    except (ServerError, PinchError, RowMissingError, OSError) as error:
        return _fail(str(error), EXIT_FAILED)
    seconds = time.perf_counter() - began
    if options.json:
        print(json.dumps(as_json(seen, source, len(body), seconds), indent=2))
    else:
        console = Console(highlight=False, record=options.svg is not None)
        show(console, seen, source, len(body), seconds)
        if options.svg is not None:
            options.svg.write_text(_picture(console), encoding="utf-8")
    if seen.exit_status != 0:
        return _fail(f"the server ended with status {seen.exit_status}", EXIT_FAILED)
    return 0


def _picture(console: Console) -> str:
    """What was printed as an SVG that loads nothing: fonts are left to the reader's own."""
    drawn = console.export_svg(title="make demo")
    return _FONT_FACE.sub("", drawn)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.demo",
        description=(
            "Start a Pinch server on its defaults, prune one long agent conversation over gRPC, and show "
            "what was saved, the decision's row in the database and the metrics that moved."
        ),
    )
    parser.add_argument(
        "--conversation",
        type=Path,
        metavar="FILE",
        help="a request body as JSON, of any provider (default: one made from a seed)",
    )
    parser.add_argument("--seed", type=int, default=2, help="of the conversation that is made (default 2)")
    parser.add_argument(
        "--tokens", type=int, default=100_000, help="its size, characters / 3 (default 100000)"
    )
    parser.add_argument("--format", choices=tuple(DIALECTS), default="openai-chat", help="its form")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write what is printed as a picture")
    return parser


def _conversation(options: argparse.Namespace) -> tuple[bytes, str]:
    """The body to send and where it came from.

    Raises:
        ConversationError: There is no such file, it is no JSON object, or the wanted size is too small.
    """
    if options.conversation is None:
        if options.tokens < SMALLEST_TOKENS:
            raise ConversationError(f"--tokens must be at least {SMALLEST_TOKENS}, not {options.tokens}")
        body = generate_bytes(options.seed, tokens=options.tokens, format=options.format)
        return body, f"made from seed {options.seed} ({options.format})"
    path: Path = options.conversation
    try:
        body = path.read_bytes()
    except OSError as error:
        raise ConversationError(f"cannot read {path}: {error.strerror}") from error
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ConversationError(f"{path} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ConversationError(f"{path} holds no JSON object: send the provider's whole request body")
    return body, path.name


def _fail(words: str, status: int) -> int:
    print(f"error: {words}", file=sys.stderr)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
