"""``python -m bench.trimming_examples``: the twenty trimmed results of docs/trimming, made anew.

What is stored are the results as the tools wrote them (``*.before.txt``) and what was said around them
(``examples.json``); what became of each is written beside it. The same input gives the same bytes, and a test
compares them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.forms import Form, KeyedForm, PlainForm
from pinch_server.core.hints import Hints
from pinch_server.core.limits import Limits

FOLDER: Final = Path(__file__).parents[1] / "docs" / "trimming"
_FORMS: Final = ("keyed", "plain", "placeholder")


@dataclass(frozen=True, slots=True)
class Example:
    """One tool result and what was said around it.

    Attributes:
        name: The name of its file, without an ending.
        tool: The tool that wrote it.
        call: The arguments of the call.
        asked: What the user asked for.
        said: What the model said after reading it.
    """

    name: str
    tool: str
    call: str
    asked: str
    said: str


def examples(folder: Path = FOLDER) -> list[Example]:
    """The twenty, each of a kind that tools write often."""
    return [Example(**one) for one in json.loads((folder / "examples.json").read_text(encoding="utf-8"))]


def texts_of(example: Example, before: str) -> Iterator[tuple[str, str]]:
    """What becomes of one result: the name of each form and its text.

    Args:
        example: What was said around it.
        before: The result as it came.
    """
    call = {"name": example.tool, "arguments": json.dumps({"command": example.call})}
    messages = read_chat(
        [
            {"role": "user", "content": example.asked},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": "a", "content": before},
            {"role": "assistant", "content": example.said},
        ]
    )
    hints = Hints(messages, Draft.of(messages, Chars3(), 0))
    hints.read(len(messages))
    limits = Limits()
    keyed: Form = KeyedForm(hints.weigh, hints.echo, limits.placeholder_chars)
    if len(before) > limits.max_summarize_chars:
        yield "keyed", keyed.elide([before])[0]
        yield "plain", PlainForm().elide([before])[0]
    yield "placeholder", keyed.omit(example.tool, [before])[0]


def read_before(example: Example, folder: Path = FOLDER) -> str:
    """A stored result, with the line ends it came with."""
    with (folder / f"{example.name}.before.txt").open(encoding="utf-8", newline="") as file:
        return file.read()


def write_all(folder: Path = FOLDER) -> None:
    """Writes every form of every example beside it, and the page that shows them."""
    rows = []
    for example in examples(folder):
        before = read_before(example, folder)
        sizes = {"before": len(before)}
        for form, text in texts_of(example, before):
            with (folder / f"{example.name}.{form}.txt").open("w", encoding="utf-8", newline="") as file:
                file.write(text)
            sizes[form] = len(text)
        rows.append(_row(example, sizes))
    (folder / "README.md").write_text(_PAGE + "".join(rows), encoding="utf-8")


def _row(example: Example, sizes: dict[str, int]) -> str:
    cells = [f"[{sizes['before']:,}]({example.name}.before.txt)"]
    for form in _FORMS:
        cells.append(f"[{sizes[form]:,}]({example.name}.{form}.txt)" if form in sizes else "-")
    return f"| {example.name} | {example.asked} | {' | '.join(cells)} |\n"


_PAGE: Final = """# Twenty trimmed results

Each was written by a tool at work on this project. Beside it stands what Pinch makes of it: the excerpt of
`trim_style = keyed`, the head and tail of `plain` for comparison, and the placeholder that an old result ends
as (at once where it is 4,000 characters or shorter). `python -m bench.trimming_examples` writes them anew.

To judge one, read the question, then the excerpt, and ask: could you go on from here, or would you have to
call the tool again? Every kept line stands in the original, in order; each gap says how many characters it
hides; the placeholder names only what stood there.

What to look at: tests, logs and listings (01, 02, 07, 08, 18) keep names spread over the whole text, where a
head and a tail know only the ends; diffs and source (05, 06, 15, 16) keep blocks of a few lines; base64 (19)
has nothing worth keeping, and shows what a form chosen by identifiers costs there.

| result | asked | before | keyed | plain | placeholder |
|---|---|---:|---:|---:|---:|
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the examples; gives 0."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.trimming_examples",
        description="Make the trimmed results of docs/trimming anew.",
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the stored results are")
    write_all(parser.parse_args(argv).folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
