"""``python -m bench.conversations``: writes one session to a file or to standard output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.conversations import DIALECTS, encode, tell

_EXAMPLES = """\
examples:
  python -m bench.conversations --seed 1 --tokens 50000 > session.json
  python -m bench.conversations --seed 1 --tokens 324000 --format anthropic --out session.json
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status (2 for a bad argument or an unwritable file)."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.conversations",
        description="Make a long agent session from a seed: equal arguments give equal bytes everywhere.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1, help="names the session (default 1)")
    parser.add_argument("--tokens", type=int, default=50_000, help="size, characters / 3 (default 50000)")
    parser.add_argument(
        "--format", choices=tuple(DIALECTS), default="openai-chat", help="default openai-chat"
    )
    parser.add_argument("--turns", type=int, help="number of user messages (default: chosen by the seed)")
    parser.add_argument("--ending", choices=("user", "tool"), help="what stands last (default: by seed)")
    parser.add_argument("--no-images", action="store_true", help="leave pictures out")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here (default: standard output)")
    options = parser.parse_args(argv)
    try:
        session = tell(
            options.seed,
            tokens=options.tokens,
            turns=options.turns,
            ending=options.ending,
            images=not options.no_images,
        )
        body = encode(DIALECTS[options.format](session))
        if options.out:
            options.out.write_bytes(body)
        else:
            sys.stdout.buffer.write(body)
            sys.stdout.buffer.flush()
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    made = f"{len(session.messages):,} messages, {session.tokens:,} estimated tokens, {len(body):,} bytes"
    print(f"{made} ({options.format})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
