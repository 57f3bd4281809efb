"""Questions built from what is installed: source code, package descriptions, change logs."""

from __future__ import annotations

import ast
import gzip
import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bench.ranking.paraphrases import PARAPHRASES
from bench.ranking.question import Question

CANDIDATES: Final = 24
"""Candidates of a question; one of them answers it."""
WINDOW: Final = 12_000
"""Most characters of a candidate."""

_CHANGELOGS: Final = Path("/usr/share/doc")
_SENTENCE: Final = re.compile(r"(.+?[.:])(?:\s|$)", re.DOTALL)
_BULLET: Final = re.compile(r"^\s{2}\* (.+(?:\n {4}.+)*)", re.MULTILINE)


def docstrings(count: int, dice: random.Random) -> Iterator[Question]:
    """A docstring's first sentence, and the function it stood in, among other functions and documents."""
    functions = [(query, text) for query, _, text in _functions() if len(text) > 300]
    dice.shuffle(functions)
    others = [text for _, text in functions] + [text for _, text in _descriptions()]
    for query, text in functions[:count]:
        yield _mixed(query, text, others, dice)


def windows(count: int, dice: random.Random) -> Iterator[Question]:
    """A docstring's first sentence, and the part of the module around it, among parts of modules."""
    found = [
        (query, docstring, source)
        for source in (path.read_text("utf-8", "replace") for path in _modules())
        for query, docstring, _ in _read_functions(source)
    ]
    dice.shuffle(found)
    for query, docstring, source in found[:count]:
        start = max(0, source.find(docstring) - dice.randrange(WINDOW // 2))
        answer = source[start : start + WINDOW].replace(docstring, "")
        others = [_window(text, dice) for _, _, text in dice.sample(found, 60) if text is not source]
        yield _mixed(query, answer, others, dice)


def names(count: int, dice: random.Random) -> Iterator[Question]:
    """A function's name in another spelling, and its callers, among functions that do not call it."""
    functions = [(text, set(re.findall(r"\b[a-z]+(?:_[a-z]+)+(?=\()", text))) for _, _, text in _functions()]
    called = sorted({name for _, calls in functions for name in calls if len(name) > 8})
    dice.shuffle(called)
    for name in called[:count]:
        callers = [text for text, calls in functions if name in calls]
        others = [text for text, _ in functions if name not in text]
        head, *rest = name.split("_")
        query = head + "".join(part.title() for part in rest)
        yield _mixed(query, dice.choice(callers), others, dice)


def summaries(count: int, dice: random.Random) -> Iterator[Question]:
    """A package's summary, and its long description without it, among the descriptions of other packages."""
    described = _descriptions()
    for query, text in dice.sample(described, min(count, len(described))):
        yield _mixed(query, text, [other for _, other in described if other != text], dice)


def changes(count: int, dice: random.Random) -> Iterator[Question]:
    """An entry of a Debian change log, and the rest of that log, among the logs of other packages."""
    logs = []
    for path in sorted(_CHANGELOGS.glob("*/changelog.Debian.gz")):
        if not path.is_symlink():
            logs.append(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
    logs = sorted({log for log in logs if len(log) > 2_000})
    dice.shuffle(logs)
    for log in logs[:count]:
        bullets = [bullet for bullet in _BULLET.findall(log) if len(bullet) > 50]
        if bullets:
            bullet = dice.choice(bullets)
            others = [other[:WINDOW] for other in dice.sample(logs, 60) if other != log]
            yield _mixed(" ".join(bullet.split()), log.replace(bullet, "")[:WINDOW], others, dice)


def paraphrases(count: int, dice: random.Random) -> Iterator[Question]:
    """A need in other words, and the module of the standard library that meets it, among the others."""
    modules: dict[str, str] = {}
    for name in PARAPHRASES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            modules[name] = Path(spec.origin).read_text("utf-8", "replace")[:WINDOW]
    order = sorted(modules)
    dice.shuffle(order)
    for name in order[:count]:
        yield Question(PARAPHRASES[name], tuple(modules.values()), frozenset({list(modules).index(name)}))


def _mixed(query: str, answer: str, others: Sequence[str], dice: random.Random) -> Question:
    picked = dice.sample(others, min(CANDIDATES, len(others)))
    candidates = [other for other in picked if other != answer][: CANDIDATES - 1]
    at = dice.randrange(len(candidates) + 1)
    candidates.insert(at, answer)
    return Question(query, tuple(text[:WINDOW] for text in candidates), frozenset({at}))


def _window(source: str, dice: random.Random) -> str:
    start = dice.randrange(max(1, len(source) - WINDOW))
    return source[start : start + WINDOW]


@cache
def _modules() -> tuple[Path, ...]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = [
        path
        for room in (
            ".",
            "email",
            "json",
            "logging",
            "http",
            "asyncio",
            "concurrent/futures",
            "urllib",
            "xml/etree",
            "importlib",
            "unittest",
        )
        for path in (folder / room).glob("*.py")
    ]
    return tuple(sorted(found))


@cache
def _functions() -> tuple[tuple[str, str, str], ...]:
    return tuple(
        found for path in _modules() for found in _read_functions(path.read_text("utf-8", "replace"))
    )


def _read_functions(source: str) -> Iterator[tuple[str, str, str]]:
    """For each documented function its docstring's first sentence, the docstring, and the rest."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not ast.get_docstring(node):
            continue
        first = node.body[0]
        # Whole lines: ast's own way to a node's text splits the module anew for each.
        text = "".join(lines[node.lineno - 1 : node.end_lineno])
        docstring = "".join(lines[first.lineno - 1 : first.end_lineno])
        sentence = _SENTENCE.match(ast.get_docstring(node) or "")
        if sentence and len(sentence[1].split()) >= 4:
            yield " ".join(sentence[1].split()), docstring, text.replace(docstring, "")


@cache
def _descriptions() -> tuple[tuple[str, str], ...]:
    """For each installed distribution its summary, and its long description without it."""
    found = {}
    for package in distributions():
        metadata = package.metadata
        # The description is the file's body; files of old versions hold it in a field.
        fields = metadata.json
        summary, text = str(fields.get("summary", "")), str(fields.get("description", ""))
        if len(summary.split()) >= 4 and len(text) > 800:
            found[metadata["Name"]] = (summary, text.replace(summary, "")[:WINDOW])
    return tuple(found[name] for name in sorted(found))
