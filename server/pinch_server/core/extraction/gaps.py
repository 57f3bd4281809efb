"""A shortened text laid beside the whole one, line by line, so that each gap can be told truly."""

from bisect import bisect_left
from collections import defaultdict

from pinch_server.core.extraction.notes import is_note, lines_elided


def with_gaps_noted(body: str, result: str) -> str | None:
    """The result with a note at each gap, when its lines are lines of the body in their order; else None.

    Lines are the same but for what spaces they end in, and come out as the body has them. Notes that the
    result had are replaced: these counts are true. A gap no longer than its note is filled instead.
    """
    lines = body.split("\n")
    kept = _places(lines, result.split("\n"))
    if kept is None:
        return None
    out: list[str] = []
    begin = 0
    for place in [*kept, len(lines)]:
        out += _gap(lines[begin:place], is_last=place == len(lines))
        out += lines[place : place + 1]
        begin = place + 1
    return "\n".join(out)


def _places(lines: list[str], wanted: list[str]) -> list[int] | None:
    """Where in the body the result's lines are: each as early as the ones before it allow."""
    where: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        where[line.rstrip()].append(at)
    kept: list[int] = []
    at = 0
    for line in wanted:
        text = line.rstrip()
        if not text:
            # A blank line is kept where the body has one at this very place, and is no evidence of anything.
            if at < len(lines) and not lines[at].strip() and kept:
                kept.append(at)
                at += 1
            continue
        if is_note(line) and text not in where:
            continue
        places = where.get(text, [])
        found = bisect_left(places, at)
        if found == len(places):
            if is_note(line):
                continue
            return None
        at = places[found] + 1
        kept.append(places[found])
    return kept


def _gap(left_out: list[str], *, is_last: bool) -> list[str]:
    shown = [line for line in left_out if line.strip()]
    if not shown:
        # Blank lines alone say nothing; one keeps paragraphs apart.
        return left_out[:1]
    first = shown[0]
    # What follows the last line break is no line.
    count = len(left_out) - (is_last and not left_out[-1])
    # Spaces and tabs alone: a note after any other white space would not be known for one.
    note = lines_elided(count, first[: len(first) - len(first.lstrip(" \t"))])
    return left_out if len("\n".join(left_out)) <= len(note) else [note]
