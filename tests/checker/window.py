"""Which results must be whole: fresh ones, those of protected tools, and the innermost protected window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.checker.dialects import Body, Result
from tests.checker.markers import DEFAULT_PROTECTED_MAX


def last_output(body: Body) -> int:
    """Index of the last message that the model wrote; -1 when it has written none."""
    return max((message.index for message in body.messages if message.is_output), default=-1)


def rounds(body: Body) -> list[list[Result]]:
    """The results of each round: a run of model output and the results that follow it before the next run."""
    found: list[list[Result]] = []
    in_run = False
    for message in body.messages:
        if message.is_output:
            if not in_run:
                found.append([])
            in_run = True
        else:
            in_run = False
        if message.results and found:
            found[-1].extend(message.results)
    return [results for results in found if results]


def window_start(body: Body, keep_last_turns: int) -> int:
    """The first message of the last `keep_last_turns` user turns; with fewer, that of the first turn."""
    turns = [message.index for message in body.messages if message.is_turn]
    if turns:
        return turns[-keep_last_turns] if 0 < keep_last_turns <= len(turns) else turns[0]
    last = rounds(body)[-keep_last_turns:] if keep_last_turns > 0 else []
    return last[0][0].message if last else len(body.messages)


def must_be_whole(
    body: Body, limits: Mapping[str, Any] | None, protected_tools: Sequence[str]
) -> list[tuple[Result, str]]:
    """Results that may not have changed, each with the rule that says so.

    The window is judged only when `limits` names both keep_last_turns and keep_last_rounds: then what stands
    in the last turns and in the last rounds at once is out of reach, at this call and at every earlier one.
    """
    limits = limits or {}
    cap = limits.get("protected_max_chars", DEFAULT_PROTECTED_MAX)
    globs = [*protected_tools, *(limits.get("protected_tools") or ())]
    fresh_after = last_output(body)
    inner: set[int] = set()
    if "keep_last_turns" in limits and "keep_last_rounds" in limits:
        start = window_start(body, limits["keep_last_turns"])
        kept = limits["keep_last_rounds"]
        chosen = rounds(body)[-kept:] if kept else [body.results]
        inner = {id(r.node) for results in chosen for r in results if r.message >= start}
    found: list[tuple[Result, str]] = []
    for result in body.results:
        if any(fnmatchcase(result.name, glob) for glob in globs):
            found.append((result, f"protected: {result.name}"))
        elif cap and result.length > cap:
            continue
        elif result.message > fresh_after:
            found.append((result, "fresh: the model has not read this result"))
        elif id(result.node) in inner:
            found.append((result, "window: this result is inside the protected window"))
    return found
