"""``python -m bench.trimming_speed``: what reading and trimming one result costs, by kind of text and size.

Processor time, the least of several runs: machines differ, and so read the columns against one another.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.forms import KeyedForm
from pinch_server.core.hints import Hints
from pinch_server.core.limits import Limits

_SIZES: Final = (8_000, 100_000, 1_000_000, 5_000_000)
_ROOT: Final = Path(__file__).parents[1]
_SAID: Final = "Look at src/app.py, worker-3 and parse_config; what failed in tests/test_app.py?"


def kinds() -> Iterator[tuple[str, str]]:
    """Texts of the kinds that tools write, and some that only a hostile one does, by name."""
    chance = random.Random(0)
    log = [
        f"2026-01-{i % 28 + 1:02d}T10:{i % 60:02d}:07Z INFO worker-{i % 7} id={chance.getrandbits(32):08x} "
        f"GET /api/v1/items/{i} {'ERROR timeout' if i % 997 == 0 else 'ok'} in {i % 91} ms\n"
        for i in range(60_000)
    ]
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(_ROOT.glob("server/**/*.py")))
    rows = [{"id": i * 7919, "name": f"item_{i}", "url": f"https://example.org/i/{i}"} for i in range(60_000)]
    names = "".join(f"設定 {i} は src/設定_{i}.py と config_{i}.toml にある。\n" for i in range(9_000))
    blob = base64.b64encode(chance.randbytes(1_000_000)).decode()
    yield "log", "".join(log)
    yield "code", code
    yield "minified JSON", json.dumps(rows, separators=(",", ":"))
    yield "Japanese", "漢字かな交じり文、読点。" * 20_000 + names
    yield "base64", "\n".join(blob[at : at + 76] for at in range(0, len(blob), 76))
    yield "random ASCII", "".join(map(chr, chance.choices(range(32, 127), k=1_000_000)))
    yield "hex words", " ".join(f"{chance.getrandbits(40):010x}" for _ in range(90_000))
    yield "separators", "a_1/-" * 200_000
    yield "failures", "errors error_ error " * 50_000


def seconds(work: Callable[[], object], runs: int) -> float:
    """The least processor time of several runs (seconds)."""
    least = float("inf")
    for _ in range(runs):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def costs(text: str, runs: int) -> dict[str, float]:
    """What each step costs on one result (seconds): reading its conversation, an excerpt, a placeholder."""
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = read_chat(
        [
            {"role": "user", "content": _SAID},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": text},
            {"role": "assistant", "content": "I see."},
        ]
    )

    def read() -> KeyedForm:
        hints = Hints(messages, Draft.of(messages, Chars3(), 0))
        hints.read(len(messages))
        return KeyedForm(hints.weigh, hints.echo, Limits().placeholder_chars)

    form = read()
    return {
        "read": seconds(read, runs),
        "excerpt": seconds(lambda: form.elide([text]), runs),
        "placeholder": seconds(lambda: form.omit("ls", [text]), runs),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; milliseconds per million characters."""
    parser = argparse.ArgumentParser(prog="python -m bench.trimming_speed", description=main.__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, _SIZES)), metavar="N,N", help="characters")
    parser.add_argument("--runs", type=int, default=5, help="the least of so many is told (5)")
    options = parser.parse_args(argv)
    steps = ("read", "excerpt", "placeholder")
    print("| text | characters | " + " | ".join(steps) + " |\n|---|---:|" + "---:|" * len(steps))
    for kind, text in kinds():
        for size in map(int, options.sizes.split(",")):
            cut = (text * (size // len(text) + 1))[:size]
            runs = max(1, options.runs if size > 100_000 else 10 * options.runs)
            spent = costs(cut, runs)
            cells = " | ".join(f"{spent[step] * 1e9 / size:.1f}" for step in steps)
            print(f"| {kind} | {size:,} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
