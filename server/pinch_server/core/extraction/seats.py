"""Where an extraction may take the place of an elision, and what the plan adds up to when it does.

An extraction is never longer than the elision in whose place it stands, neither in characters nor in tokens:
so whatever holds of what a plan ships holds with it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pinch_server.core.conversation import TextPart
from pinch_server.core.counting import Counter
from pinch_server.core.draft_result import DraftResult
from pinch_server.core.extraction.form import is_extracted
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Action, Edit, Plan
from pinch_server.core.protection import protection
from pinch_server.core.tally import Tally


@dataclass(frozen=True, slots=True)
class Seat:
    """A result that is sent shortened to an excerpt, or may be soon.

    Attributes:
        message: Index of its message.
        place: Its number among the results of the message.
        block: Index of its block in the message; None where the whole message is the result.
        tool: The tool whose result it is.
        part: Its one text; None where it has others beside it.
        tokens: Its size as it came (tokens).
        edit: Index of the edit that shortens it; None while it is sent whole.
        is_new: Whether it is shortened for the first time in this call.
        elided: The excerpt; None while it is sent whole.
        elided_tokens: The excerpt's size; None while it is sent whole (tokens).
        is_marked: Whether it came trimmed.
    """

    message: int
    place: int
    block: int | None
    tool: str
    part: TextPart | None
    tokens: int
    edit: int | None = None
    is_new: bool = False
    elided: str | None = None
    elided_tokens: int | None = None
    is_marked: bool = False


def trimmed_seats(plan: Plan, tally: Tally) -> tuple[Seat, ...]:
    """The results that a plan elides or caps, in the order of the conversation."""
    owners = _owners(plan, tally)
    seats = []
    for index, edit in enumerate(plan.edits):
        if edit.action is Action.OMITTED or not isinstance(edit.old, TextPart):
            continue
        result, place = owners[id(edit.old)]
        is_alone = len(result.value.parts) == 1
        seats.append(
            Seat(
                edit.message,
                place,
                edit.block,
                edit.tool,
                edit.old if is_alone else None,
                edit.tokens_before,
                index,
                edit.is_new,
                edit.new,
                edit.tokens_after,
            )
        )
    return tuple(seats)


def seats_ahead(plan: Plan, tally: Tally, limits: Limits) -> tuple[Seat, ...]:
    """The results that are sent whole and that the next event would elide, oldest first."""
    changed = {id(edit.old) for edit in plan.edits}
    is_protected = protection(limits.protected_tools)
    seats = []
    for result, place in _placed(tally):
        if result.chars <= limits.max_summarize_chars or is_protected(result.tool):
            continue
        parts = result.value.parts
        part = parts[0] if len(parts) == 1 else None
        if not isinstance(part, TextPart) or id(part) in changed:
            continue
        tokens = tally.counter.tokens(result.whole_units)
        is_marked = is_extracted(result.originals)
        seats.append(
            Seat(
                result.message,
                place,
                result.value.block,
                result.tool,
                part,
                tokens,
                is_marked=is_marked,
            )
        )
    return tuple(seats)


def with_extractions(plan: Plan, tally: Tally, limits: Limits, texts: Mapping[int, str]) -> Plan:
    """The plan with some of its excerpts exchanged, and its numbers put right.

    Args:
        plan: What was decided.
        tally: The conversation's tally.
        limits: What may ship.
        texts: The new texts, by the index of the edit; each fits by `fits`.
    """
    if not texts:
        return plan
    counter = tally.counter
    edits = list(plan.edits)
    for index, text in texts.items():
        after = counter.tokens(counter.units([text])[0])
        edits[index] = replace(edits[index], new=text, tokens_after=after, is_extracted=True)
    touched = {edits[index].message for index in texts}
    before = _message_tokens(plan.edits, touched, tally)
    after = _message_tokens(edits, touched, tally)
    stats = plan.stats
    final = stats.final_tokens - before + after
    stats = replace(
        stats,
        final_tokens=final,
        tokens_saved=stats.original_tokens - final,
        budget_met=final <= limits.budget_tokens,
    )
    return replace(plan, edits=tuple(edits), stats=stats)


def fits(text: str, elided: str, counter: Counter) -> bool:
    """Whether a text may stand in the place of an excerpt: shorter or as long, in both measures."""
    mine, its = counter.units([text, elided])
    return len(text) <= len(elided) and counter.tokens(mine) <= counter.tokens(its) and mine <= its


def _message_tokens(edits: Sequence[Edit], messages: set[int], tally: Tally) -> int:
    """What some messages ship under edits (tokens); an image's tokens are left out, as they stay."""
    counter = tally.counter
    alone = {
        id(result.value.parts[0]): result.whole_units
        for result, _ in _placed(tally)
        if result.message in messages and len(result.value.parts) == 1
    }
    changes: dict[int, int] = defaultdict(int)
    for edit in edits:
        if edit.message not in messages:
            continue
        changes[edit.message] += counter.units([edit.new])[0]
        if isinstance(edit.old, TextPart):
            whole = alone.get(id(edit.old))
            changes[edit.message] -= counter.units([edit.old.text])[0] if whole is None else whole
    return sum(counter.tokens(tally.units[message] + change) for message, change in changes.items())


def _owners(plan: Plan, tally: Tally) -> dict[int, tuple[DraftResult, int]]:
    wanted = {edit.message for edit in plan.edits}
    return {
        id(part): (result, place)
        for result, place in _placed(tally)
        if result.message in wanted
        for part in result.value.parts
    }


def _placed(tally: Tally) -> Iterator[tuple[DraftResult, int]]:
    """Every result with its number among those of its message."""
    for index, result in enumerate(tally.results):
        yield result, index - tally.results_before[result.message]
