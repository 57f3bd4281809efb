"""The ways to shorten one result. Each gives a draft, which is still to be checked, or why it has none."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from pinch_server.core.extraction.acceptance import Refusal
from pinch_server.core.extraction.projection import project
from pinch_server.core.extraction.record import Repair
from pinch_server.extract.asking import Asking
from pinch_server.extract.model import REPLY_TOKENS, ModelFault, Reply
from pinch_server.extract.outcome import FilterOptions, Strategy
from pinch_server.extract.program import FaultKind, ProgramFault, Ran
from pinch_server.extract.prompts.prompt import Prompt
from pinch_server.extract.prompts.task import chunk_prompt, filter_prompt, repair_prompt, single_prompt
from pinch_server.extract.replies import json_in, program_in, truncation
from pinch_server.extract.sandbox import Sandbox

NO_MODEL: Final = "no model"
CALL_FAILED: Final = "model call failed"
EMPTY_REPLY: Final = "empty reply"
TRUNCATED: Final = "truncated reply"
NO_LIST: Final = "not a list"
_CHUNK_ITEMS: Final = 20
_MOST_CHUNKS: Final = 24
"""Most calls for one list; a longer one has longer chunks."""
_AT_ONCE: Final = 6


@dataclass(frozen=True, slots=True)
class Task:
    """One result and what is known about it.

    Attributes:
        body: The result.
        label: Which tool made it.
        goal: The conversation, told with the task.
        context: The conversation, in a system block of its own.
        keep: Words that must not be lost.
        options: How it is to be filtered.
    """

    body: str
    label: str
    goal: str
    context: str
    keep: Sequence[str]
    options: FilterOptions


@dataclass(frozen=True, slots=True)
class Draft:
    """What a strategy made.

    Attributes:
        output: What is left of the result.
        summary: One line on what is not, as the model wrote it.
    """

    output: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a strategy has no draft, or its draft no use.

    Attributes:
        kind: In words fit for labels.
        words: The kind and what there is to say more, which may quote.
    """

    kind: str
    words: str = ""

    @property
    def slug(self) -> str:
        """All there is to say."""
        return self.words or self.kind


def by_code(task: Task, asking: Asking, sandbox: Sandbox) -> Draft | Reason:
    """Has the model write a program and runs it over all of the body; a syntax error is repaired once."""
    options = task.options
    prompt = filter_prompt(
        task.body,
        label=task.label,
        goal=task.goal,
        context=task.context,
        keep=task.keep,
        rewrite=options.rewrite,
        aggressiveness=options.aggressiveness,
    )
    program = _program(asking, "filter", prompt)
    if isinstance(program, Reason):
        return program
    first = sandbox.run(program, task.body)
    if isinstance(first, ProgramFault) and first.kind is FaultKind.SYNTAX:
        # The blocks of the first call again: what it wrote into a cache is read there.
        prompt = repair_prompt(
            program,
            first.detail,
            rewrite=options.rewrite,
            aggressiveness=options.aggressiveness,
            context=task.context,
        )
        program = _program(asking, "repair", prompt)
        asking.repair = Repair.FAILED
        if isinstance(program, Reason):
            return Reason(first.kind, f"{first.slug} (repair: {program.slug})")
        second = sandbox.run(program, task.body)
        if isinstance(second, ProgramFault):
            return Reason(second.kind, f"{first.slug} (repair: {second.slug})")
        asking.repair = Repair.FIXED
        return Draft(second.output, second.summary)
    return Draft(first.output, first.summary) if isinstance(first, Ran) else Reason(first.kind, first.slug)


def by_single(task: Task, asking: Asking) -> Draft | Reason:
    """Has the model write the result itself, of the first 4,000 characters."""
    prompt = single_prompt(task.body, label=task.label, goal=task.goal, context=task.context, keep=task.keep)
    reply = _reply(asking.ask(Strategy.SINGLE, "extract", prompt))
    if isinstance(reply, Reason):
        return reply
    value = json_in(reply)
    if not isinstance(value, dict) or "output" not in value:
        return Reason(FaultKind.NO_PAIR)
    output, summary = value["output"], value.get("summary", "")
    if not isinstance(output, str):
        return Reason(FaultKind.NOT_TEXT)
    return Draft(output, summary if isinstance(summary, str) else "")


def by_chunks(task: Task, asking: Asking) -> Draft | Reason:
    """Has the model choose among the items of a JSON array, some at a time, several times at once.

    Items of a part that could not be asked about stay.
    """
    items = _items(task.body)
    if len(items) < 2:
        return Reason(NO_LIST)
    size = max(_CHUNK_ITEMS, -(-len(items) // _MOST_CHUNKS))
    starts = range(0, len(items), size)

    def chosen(start: int) -> set[int] | Reason:
        prompt = chunk_prompt(
            items[start : start + size],
            start,
            label=task.label,
            goal=task.goal,
            context=task.context,
            keep=task.keep,
        )
        reply = _reply(asking.ask(Strategy.RLM, "chunk", prompt))
        if isinstance(reply, Reason):
            return reply
        numbers = json_in(reply)
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            return Reason(FaultKind.NO_PAIR)
        return set(numbers) & set(range(start, start + size))

    with ThreadPoolExecutor(min(_AT_ONCE, len(starts))) as pool:
        answers = list(pool.map(chosen, starts))
    if all(isinstance(answer, Reason) for answer in answers):
        return next(answer for answer in answers if isinstance(answer, Reason))
    kept: list[str] = []
    for start, answer in zip(starts, answers, strict=True):
        part = range(start, min(start + size, len(items)))
        kept += [items[at] for at in part if isinstance(answer, Reason) or at in answer]
    return Draft(f"[{','.join(kept)}]", f"{len(items) - len(kept)} of {len(items)} items left out")


def by_projection(task: Task) -> Draft | Reason:
    """Keeps telling keys of JSON, or a window of lines; asks nobody."""
    projected = project(task.body, task.keep, task.options.max_chars)
    return Reason(Refusal.WINDOW) if projected is None else Draft(projected)


def _program(asking: Asking, purpose: str, prompt: Prompt) -> str | Reason:
    reply = _reply(asking.ask(Strategy.CODE, purpose, prompt))
    if isinstance(reply, Reason):
        return reply
    program = program_in(reply)
    if not program.strip():
        return Reason(EMPTY_REPLY)
    cut = truncation(program)
    return Reason(TRUNCATED, f"{TRUNCATED}: {cut}") if cut else program


def _reply(answer: Reply | ModelFault) -> str | Reason:
    if isinstance(answer, ModelFault):
        return Reason(f"{CALL_FAILED}: {answer.slug}")
    if answer.is_truncated:
        return Reason(TRUNCATED, f"{TRUNCATED}: at the cap of {REPLY_TOKENS:,} tokens")
    return answer.text if answer.text.strip() else Reason(EMPTY_REPLY)


def _items(body: str) -> list[str]:
    """The elements of a JSON array, each as it was written; none when the body is no array."""
    try:
        parsed: Any = json.loads(body) if body.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return []
    if not isinstance(parsed, list):
        return []
    decoder = json.JSONDecoder()
    items: list[str] = []
    at = body.index("[") + 1
    for _ in parsed:
        while body[at] in " \t\r\n,":
            at += 1
        _, end = decoder.raw_decode(body, at)
        items.append(body[at:end])
        at = end
    return items
