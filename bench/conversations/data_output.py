"""What services answer: JSON replies, tables, logs and pages."""

from __future__ import annotations

import json
from typing import Any

from bench.conversations import words
from bench.conversations.dice import Dice
from bench.conversations.lead import Lead, Output, some
from bench.conversations.project import Project


def _record(dice: Dice, thing: str) -> tuple[dict[str, Any], str]:
    identity = f"{thing[:3]}_{dice.letters(14)}"
    record: dict[str, Any] = {
        "id": identity,
        "object": thing,
        "created_at": words.moment(dice),
        "owner": {"name": dice.pick(words.PEOPLE), "place": dice.pick(words.PLACES)},
        "amount": f"{dice.whole(1, 9000)}.{dice.whole(0, 99):02d}",
        "state": dice.pick(words.QUALITIES),
        "trace": dice.uuid(),
        "counts": [dice.whole(0, 400) for _ in range(dice.whole(0, 5))],
        "archived": dice.chance(0.2),
        "parent": None if dice.chance(0.5) else f"{thing[:3]}_{dice.letters(14)}",
    }
    if dice.chance(0.15):
        record["note"] = f"{dice.pick(words.CJK_REMARKS)} {dice.pick(words.EMOJI)}"
    elif dice.chance(0.3):
        record["note"] = words.sentence(dice)
    return record, identity


def api_reply(dice: Dice, characters: int) -> Output:
    """A JSON object with a list of records; pretty or compact."""
    thing = dice.pick(words.NOUNS)
    indent = 2 if dice.chance(0.5) else None
    rows: list[dict[str, Any]] = []
    leads: list[Lead] = []
    size = 90
    while size < characters:
        record, identity = _record(dice, thing)
        rows.append(record)
        leads.append(Lead("record", identity))
        nested = json.dumps({"data": [record]}, ensure_ascii=False, indent=indent)
        size += len(nested) - (20 if indent else 12)
    cursor = dice.letters(20)
    reply = {"data": rows, "has_more": dice.chance(0.5), "next_cursor": cursor, "request_id": dice.uuid()}
    return Output(json.dumps(reply, ensure_ascii=False, indent=indent), some(dice, leads))


def table(dice: Dice, characters: int) -> Output:
    """Comma-separated values with a heading line."""
    thing = dice.pick(words.NOUNS)
    amounts = dice.several(words.NOUNS, 3)
    rows = [",".join([f"{thing}_id", "updated_at", "owner", *amounts, "state"])]
    leads: list[Lead] = []
    size = len(rows[0])
    while size < characters:
        identity = f"{thing[:3]}_{dice.letters(14)}"
        values = [f"{dice.whole(0, 99999)}.{dice.whole(0, 99):02d}" for _ in amounts]
        rows.append(
            ",".join(
                [identity, words.moment(dice), dice.pick(words.PEOPLE), *values, dice.pick(words.QUALITIES)]
            )
        )
        size += len(rows[-1]) + 1
        leads.append(Lead("record", identity))
    return Output("\n".join(rows), some(dice, leads))


def service_log(dice: Dice, project: Project, service: str, characters: int) -> Output:
    """Lines of one running service, oldest first, now and then with a failure."""
    clock, process = dice.whole(0, 40_000_000), dice.whole(200, 9000)
    day = words.moment(dice)[:11]
    rows: list[str] = []
    leads: list[Lead] = []
    size = 0
    while size < characters:
        request = f"req_{dice.hexadecimal(16)}"
        level = dice.weighted((("INFO ", 14), ("DEBUG", 6), ("WARN ", 2), ("ERROR", 1)))
        verb, noun = dice.pick(words.VERBS), dice.pick(words.NOUNS)
        if level == "ERROR":
            file = dice.pick(project.files)
            what = f"{dice.pick(words.FAULTS)} at {file.path}:{dice.whole(5, 1900)} while {verb} {noun}"
            leads += [Lead("request", request), Lead("path", file.path)]
        else:
            duration, count, shard = dice.whole(1, 4000), dice.whole(0, 900), dice.whole(0, 63)
            what = f"{verb} {noun} done in {duration} ms, {count} rows, shard={shard}"
        clock += dice.whole(1, 900)
        rows.append(f"{day}{_time_of_day(clock)} {level} {service}[{process}] {request} {what}")
        size += len(rows[-1]) + 1
    return Output("\n".join(rows), some(dice, leads or [Lead("request", request)]))


def _time_of_day(milliseconds: int) -> str:
    seconds, part = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours % 24:02d}:{minute:02d}:{second:02d}.{part:03d}Z"


def page(dice: Dice, characters: int) -> Output:
    """A page of documentation as Markdown."""
    parts = [f"# {dice.pick(words.NOUNS).capitalize()} and {dice.pick(words.NOUNS)}"]
    leads: list[Lead] = []
    size = len(parts[0])
    while size < characters:
        setting = words.constant_name(dice)
        body = words.prose(dice, min(dice.whole(200, 900), characters - size))
        parts += [f"## `{setting}`", body]
        size += len(setting) + len(body) + 10
        leads.append(Lead("symbol", setting))
    return Output("\n\n".join(parts), some(dice, leads))
