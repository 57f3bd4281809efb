"""What tools print about code: files, searches, listings, diffs, tests and stack traces."""

from __future__ import annotations

from bench.conversations import words
from bench.conversations.dice import Dice
from bench.conversations.lead import Lead, Output, some
from bench.conversations.project import Project
from bench.conversations.source_code import SourceFile, code_block

RED, GREEN, YELLOW, BOLD, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"


def file_lines(file: SourceFile, first: int, characters: int) -> tuple[list[str], list[Lead]]:
    """Lines of ``file`` from definition ``first`` on, about ``characters`` long, and what they define."""
    lines: list[str] = []
    leads: list[Lead] = []
    size, number = 0, first
    while size < characters:
        block = file.block(number)
        leads.append(Lead("symbol", block.symbol, file.path))
        for line in block.lines:
            if size >= characters:
                break
            lines.append(line)
            size += len(line) + 8
            if len(line) > 40:
                leads.append(Lead("line", line, file.path))
        number += 1
    return lines, leads


def file_text(dice: Dice, file: SourceFile, first: int, characters: int, edits: dict[str, str]) -> Output:
    """A numbered excerpt of ``file``; ``edits`` maps lines as they were to lines as they are now."""
    lines, leads = file_lines(file, first, characters)
    start = first * 11 + 1
    text = "\n".join(f"{start + at:6d}\t{edits.get(line, line)}" for at, line in enumerate(lines))
    return Output(text, some(dice, [lead for lead in leads if lead.value not in edits]))


def search_hits(dice: Dice, project: Project, symbol: str, characters: int) -> Output:
    """``path:line:code`` lines, as a search for ``symbol`` prints them."""
    rows: list[str] = []
    leads: list[Lead] = []
    size = 0
    while size < characters:
        file = dice.pick(project.files)
        caller, field = words.function_name(dice), dice.pick(words.NOUNS)
        code = dice.pick(
            (
                f"    {field} = {symbol}({field}s, limit={dice.whole(2, 500)})",
                f"def {caller}_with_{symbol}({field}):",
                f"    # see {symbol}: {words.sentence(dice)}",
                f'    register("{caller}", {symbol})',
            )
        )
        rows.append(f"{file.path}:{dice.whole(3, 2400)}:{code}")
        size += len(rows[-1]) + 1
        leads += [Lead("path", file.path), Lead("symbol", caller, file.path), Lead("line", code, file.path)]
    return Output("\n".join(rows), some(dice, leads))


def listing(dice: Dice, project: Project, characters: int) -> Output:
    """A directory listing: long form, or one path a line."""
    long_form = dice.chance(0.6)
    rows = [f"total {dice.whole(40, 900)}"] if long_form else []
    leads: list[Lead] = []
    size = len("".join(rows))
    while size < characters:
        if dice.chance(0.7):
            path = dice.pick(project.files).path
            leads.append(Lead("path", path))
        else:
            path = f"fixtures/{dice.pick(project.areas)}/{dice.pick(words.NOUNS)}_{dice.hexadecimal(8)}.json"
        row = path
        if long_form:
            day, clock = dice.whole(1, 28), f"{dice.whole(0, 23):02d}:{dice.whole(0, 59):02d}"
            row = f"-rw-r--r--  1 build staff {dice.whole(90, 88000):7d} Sep {day:2d} {clock} {path}"
        rows.append(row)
        size += len(row) + 1
    return Output("\n".join(rows), some(dice, leads))


def diff(dice: Dice, project: Project, characters: int) -> Output:
    """A commit with its patch."""
    commit = dice.hexadecimal(40)
    author = dice.pick(words.PEOPLE)
    rows = [
        f"commit {commit}",
        f"Author: {author} <dev{dice.whole(1, 60)}@example.org>",
        f"Date:   {words.moment(dice)}",
        "",
    ]
    rows += [f"    {words.sentence(dice)}", ""]
    leads = [Lead("commit", commit[:12])]
    size = sum(map(len, rows))
    while size < characters:
        file = dice.pick(project.files)
        old, new = dice.hexadecimal(9), dice.hexadecimal(9)
        begin = dice.whole(1, 1500)
        hunk = [
            f"diff --git a/{file.path} b/{file.path}",
            f"index {old}..{new} 100644",
            f"--- a/{file.path}",
            f"+++ b/{file.path}",
        ]
        block = code_block(dice, file.language, file.area)
        hunk.append(f"@@ -{begin},{len(block.lines)} +{begin},{len(block.lines) + 2} @@ {block.symbol}")
        hunk += [dice.weighted(((" ", 6), ("+", 3), ("-", 2))) + line for line in block.lines]
        rows += hunk
        size += sum(map(len, hunk)) + len(hunk)
        leads += [Lead("path", file.path), Lead("symbol", block.symbol, file.path)]
    return Output("\n".join(rows), some(dice, leads))


def history(dice: Dice, project: Project, characters: int) -> Output:
    """One line a commit."""
    rows: list[str] = []
    leads: list[Lead] = []
    size = 0
    while size < characters:
        commit = dice.hexadecimal(12)
        scope, verb, quality = dice.pick(project.areas), dice.pick(words.VERBS), dice.pick(words.QUALITIES)
        noun, other = dice.pick(words.NOUNS), dice.pick(words.NOUNS)
        mark = f" {dice.pick(words.EMOJI)}" if dice.chance(0.08) else ""
        rows.append(f"{commit} {scope}: {verb} {quality} {noun} before the {other}{mark}")
        size += len(rows[-1]) + 1
        leads.append(Lead("commit", commit))
    return Output("\n".join(rows), some(dice, leads))


def stack_trace(dice: Dice, project: Project, characters: int) -> Output:
    """An uncaught failure with the frames that led to it."""
    fault, message = dice.pick(words.FAULTS), words.sentence(dice)
    request = f"req_{dice.hexadecimal(16)}"
    tail = f"{fault}: {message} ({request})"
    rows = ["Traceback (most recent call last):"]
    leads = [Lead("request", request)]
    size = len(rows[0]) + len(tail)
    while size < characters:
        file = dice.pick(project.files)
        block = code_block(dice, "py", file.area)
        code = max(block.lines[2:8], key=len).strip()
        rows += [
            f'  File "{project.root}/{file.path}", line {dice.whole(5, 1800)}, in {block.symbol}',
            f"    {code}",
        ]
        size += len(rows[-1]) + len(rows[-2]) + 2
        leads += [Lead("path", file.path), Lead("symbol", block.symbol, file.path)]
    return Output("\n".join([*rows, tail]), some(dice, leads), is_error=True)


def test_run(dice: Dice, project: Project, characters: int) -> Output:
    """A test run in colour: dots of progress, failures with their evidence, a summary."""
    folder = f"{project.root}/tests"
    rows = [f"{BOLD}============ test session starts ============{PLAIN}", f"rootdir: {folder}"]
    leads: list[Lead] = []
    size, passed, failed = 0, 0, 0
    while size < characters:
        area = dice.pick(project.areas)
        test = f"tests/{area}/test_{dice.pick(words.NOUNS)}.py::test_{words.function_name(dice)}"
        before = len(rows)
        if dice.chance(0.86):
            passed += 1
            rows.append(f"{test} {GREEN}PASSED{PLAIN} [{size * 100 // characters:3d}%]")
        else:
            failed += 1
            file = dice.pick(project.files)
            left, right = dice.whole(1, 9000), dice.whole(1, 9000)
            name = words.function_name(dice)
            argument = f"{dice.pick(words.NOUNS)}_id='{dice.hexadecimal(10)}'"
            rows += [
                f"{test} {RED}FAILED{PLAIN}",
                f"    def {test.rsplit('::', 1)[1]}():",
                f">       assert {name}(fixture) == {left}",
                f"{RED}E       AssertionError: assert {right} == {left}{PLAIN}",
                f"{RED}E        +  where {right} = {name}({argument}){PLAIN}",
                f"{file.path}:{dice.whole(4, 1900)}: {dice.pick(words.FAULTS)}",
            ]
            leads += [Lead("test", test), Lead("symbol", name, file.path), Lead("path", file.path)]
        size += sum(map(len, rows[before:])) + len(rows) - before
    colour = RED if failed else GREEN
    seconds, warnings = f"{dice.whole(1, 300)}.{dice.whole(0, 99):02d}", dice.whole(0, 9)
    rows.append(
        f"{colour}{failed} failed{PLAIN}, {passed} passed, {YELLOW}{warnings} warnings{PLAIN} in {seconds}s"
    )
    return Output("\n".join(rows), some(dice, leads))
