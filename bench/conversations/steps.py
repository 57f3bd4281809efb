"""One step of the agent: a call that takes up an earlier lead, and what the tool answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from bench.conversations import code_output, data_output, words
from bench.conversations.lead import Kind, Lead, Output
from bench.conversations.picture import picture
from bench.conversations.session import Image, ToolCall, ToolResult
from bench.conversations.source_code import code_block
from bench.conversations.workbench import Workbench

Call: TypeAlias = tuple[str, dict[str, Any]]

_FINE_ROOM = 3_500

_FINE = (("read", 4), ("search", 3), ("log", 1), ("history", 1), ("nothing", 1))
"""What is called where little is left: outputs that can be cut to a line."""

_EDIT_ROOM = 6_000
"""Room, in characters, above which calls with long arguments are made; they take a third of it at most."""


def _kinds(**weights: int) -> tuple[tuple[str, int], ...]:
    return tuple(weights.items())


_BY_SIZE = (
    (150, _kinds(edit=36, write=14, nothing=9, missing=14, plan=8, done=12)),
    (600, _kinds(search=3, read=3, listing=2, history=2, trace=1, api=1, tests=2)),
    (4_000, _kinds(read=4, search=3, tests=3, diff=2, api=3, trace=2, table=1, page=1)),
    (20_000, _kinds(read=4, tests=3, api=3, table=2, log=3, diff=2, listing=1, page=1)),
    (1 << 40, _kinds(log=4, api=3, table=2, tests=2, listing=2, read=1)),
)
"""What is called for a result of fewer characters than the bound, with weights."""


def step(bench: Workbench, size: int, room: int) -> tuple[ToolResult, tuple[Lead, ...]]:
    """A call and its result of about ``size`` characters; ``room`` is what is left for both.

    Edits have short results and long arguments, so they are made only where there is room for them. The leads
    are for the caller to add to ``bench.found`` once the model has seen the result.
    """
    kinds = _FINE if room < _FINE_ROOM else next(kinds for bound, kinds in _BY_SIZE if size < bound)
    newest = {lead.kind for lead in bench.found[-1]} if bench.found else set()
    possible = [
        # A call that can go on from the newest result is the likelier one.
        (kind, weight * 4 if newest.intersection(_WANTS.get(kind, ())) else weight)
        for kind, weight in kinds
        if _TOOL_OF[kind] in bench.tools and (room > _EDIT_ROOM or kind not in ("edit", "write", "plan"))
    ]
    kind = bench.dice.weighted(possible)
    if kind in ("edit", "write"):
        size = bench.dice.whole(300, min(9_000, room // 3))
    (name, arguments), output, image = _STEPS[kind](bench, size)
    call = ToolCall(bench.dice.letters(24), name, arguments)
    return ToolResult(call, output.text, output.is_error, image), output.leads


_Step: TypeAlias = tuple[Call, Output, Image | None]


def _read(bench: Workbench, size: int) -> _Step:
    dice = bench.dice
    again = [(path, first, length) for path, first, length in bench.reads[-12:] if length <= size]
    if again and dice.chance(0.2):
        path, first, size = dice.pick(again)
    else:
        path = bench.path()
        first = dice.whole(0, bench.project.file(path).blocks) if dice.chance(0.5) else 0
        bench.reads.append((path, first, size))
    output = code_output.file_text(dice, bench.project.file(path), first, size, bench.edits)
    arguments: dict[str, Any] = {"path": path}
    if first:
        arguments |= {"offset": first * 11 + 1, "limit": output.text.count("\n") + 1}
    return ("read_file", arguments), output, None


def _search(bench: Workbench, size: int) -> _Step:
    lead = bench.take("symbol")
    symbol = lead.value if lead else words.function_name(bench.dice)
    return (
        ("search_code", {"query": symbol}),
        code_output.search_hits(bench.dice, bench.project, symbol, size),
        None,
    )


def _listing(bench: Workbench, size: int) -> _Step:
    folder = f"src/{bench.dice.pick(bench.project.areas)}"
    return (
        ("list_files", {"path": folder, "depth": 3}),
        code_output.listing(bench.dice, bench.project, size),
        None,
    )


def _diff(bench: Workbench, size: int) -> _Step:
    lead = bench.take("commit")
    command = f"git show {lead.value}" if lead else "git diff HEAD~1"
    return ("run_command", {"command": command}), code_output.diff(bench.dice, bench.project, size), None


def _history(bench: Workbench, size: int) -> _Step:
    command = f"git log --oneline -40 -- {bench.path()}"
    return ("run_command", {"command": command}), code_output.history(bench.dice, bench.project, size), None


def _tests(bench: Workbench, size: int) -> _Step:
    lead = bench.take("test")
    target = lead.value if lead else f"tests/{bench.dice.pick(bench.project.areas)}"
    command = f"python -m pytest {target} -v --color=yes"
    return ("run_command", {"command": command}), code_output.test_run(bench.dice, bench.project, size), None


def _trace(bench: Workbench, size: int) -> _Step:
    command = f"python -m {bench.path().rsplit('.', 1)[0].replace('/', '.')} --once"
    return (
        ("run_command", {"command": command}),
        code_output.stack_trace(bench.dice, bench.project, size),
        None,
    )


def _api(bench: Workbench, size: int) -> _Step:
    lead = bench.take("record")
    area = bench.dice.pick(bench.project.areas)
    query = f"?related_to={lead.value}" if lead else "?limit=100"
    arguments = {"method": "GET", "url": f"http://{area}.internal/v2/records{query}"}
    return ("http_request", arguments), data_output.api_reply(bench.dice, size), None


def _table(bench: Workbench, size: int) -> _Step:
    lead = bench.take("record")
    condition = f"parent_id = '{lead.value}'" if lead else "state = 'pending'"
    sql = f"select * from {bench.dice.pick(words.NOUNS)}s where {condition}"  # noqa: S608 (never run)
    return ("query_table", {"sql": sql}), data_output.table(bench.dice, size), None


def _log(bench: Workbench, size: int) -> _Step:
    lead = bench.take("request")
    service = bench.dice.pick(bench.project.services)
    command = f"journalctl -u {service} --no-pager" + (
        f" | grep -B200 -A200 {lead.value}" if lead else " --since=-1h"
    )
    return (
        ("run_command", {"command": command}),
        data_output.service_log(bench.dice, bench.project, service, size),
        None,
    )


def _page(bench: Workbench, size: int) -> _Step:
    topic = f"{bench.dice.pick(bench.project.areas)}/{bench.dice.pick(words.NOUNS)}"
    return ("fetch_page", {"url": f"https://docs.internal/{topic}"}), data_output.page(bench.dice, size), None


def _edit(bench: Workbench, size: int) -> _Step:
    dice = bench.dice
    lead = bench.take("line")
    if lead is None:
        return _write(bench, size)
    old = lead.value
    added = code_block(dice, bench.project.file(lead.where).language, lead.where.split("/")[1])
    new = f"{old}  # {words.sentence(dice)}"
    bench.edits[old] = new
    extra = "\n".join(line for _ in range(size // 900) for line in added.lines)
    arguments = {"path": lead.where, "old_text": old, "new_text": f"{new}\n{extra}" if extra else new}
    text = f"Edited {lead.where}: 1 replacement, +{extra.count(chr(10)) + 1} -1 lines."
    return ("edit_file", arguments), Output(text, (Lead("symbol", added.symbol, lead.where),)), None


def _write(bench: Workbench, size: int) -> _Step:
    dice = bench.dice
    if "write_file" not in bench.tools:
        return _done(bench, size)
    area = dice.pick(bench.project.areas)
    path = f"tests/{area}/test_{dice.pick(words.NOUNS)}_{dice.pick(words.NOUNS)}.py"
    blocks = [code_block(dice, "py", area) for _ in range(1 + size // 500)]
    content = "\n".join(line for block in blocks for line in block.lines)
    text = f"Wrote {len(content):,} characters to {path}."
    return ("write_file", {"path": path, "content": content}), Output(text, (Lead("test", path),)), None


def _nothing(bench: Workbench, _size: int) -> _Step:
    command = f"git diff --stat -- {bench.path()}"
    return ("run_command", {"command": command}), Output(""), None


def _missing(bench: Workbench, _size: int) -> _Step:
    dice = bench.dice
    path = bench.path().rsplit("/", 1)[0] + f"/{dice.pick(words.NOUNS)}_{dice.pick(words.NOUNS)}.yaml"
    return ("read_file", {"path": path}), Output(f"Error: no such file: {path}", is_error=True), None


def _done(bench: Workbench, _size: int) -> _Step:
    dice = bench.dice
    text = (
        f"ok {dice.pick(bench.project.services)} {dice.whole(1, 9)}.{dice.whole(0, 40)}.{dice.whole(0, 9)} up"
    )
    return ("run_command", {"command": f"make -s check-{dice.pick(bench.project.areas)}"}), Output(text), None


def _plan(bench: Workbench, _size: int) -> _Step:
    dice = bench.dice
    if bench.images and "screenshot" in bench.tools and dice.chance(0.3):
        url = f"http://{dice.pick(bench.project.areas)}.internal/{dice.pick(words.NOUNS)}"
        return ("screenshot", {"url": url}), Output(f"Rendered {url} at 1280 x 800."), picture(dice)
    steps = [f"- [{dice.pick(('x', ' '))}] {words.sentence(dice)}" for _ in range(dice.whole(2, 5))]
    return ("update_plan", {"plan": "\n".join(steps)}), Output("Plan updated."), None


_STEPS: dict[str, Callable[[Workbench, int], _Step]] = {
    "read": _read,
    "search": _search,
    "listing": _listing,
    "diff": _diff,
    "history": _history,
    "tests": _tests,
    "trace": _trace,
    "api": _api,
    "table": _table,
    "log": _log,
    "page": _page,
    "edit": _edit,
    "write": _write,
    "nothing": _nothing,
    "missing": _missing,
    "done": _done,
    "plan": _plan,
}
_WANTS: dict[str, tuple[Kind, ...]] = {
    "read": ("path", "symbol"),
    "search": ("symbol",),
    "diff": ("commit",),
    "tests": ("test",),
    "api": ("record",),
    "table": ("record",),
    "log": ("request",),
    "edit": ("line",),
}
_TOOL_OF = {
    "read": "read_file",
    "search": "search_code",
    "listing": "list_files",
    "diff": "run_command",
    "history": "run_command",
    "tests": "run_command",
    "trace": "run_command",
    "api": "http_request",
    "table": "query_table",
    "log": "run_command",
    "page": "fetch_page",
    "edit": "edit_file",
    "write": "write_file",
    "nothing": "run_command",
    "missing": "read_file",
    "done": "run_command",
    "plan": "update_plan",
}
