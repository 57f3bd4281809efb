"""What a model's reply holds: a program, or JSON, or less than that."""

import json
import re
from typing import Any, Final

_FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>[rRfF]{0,2}(?:
            \"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?'''
          | \"(?!\"\")(?:[^\\\"\n]|\\.)*\" | '(?!'')(?:[^\\'\n]|\\.)*'))
      | (?P<unterminated>["'])
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
    """,
    re.VERBOSE | re.DOTALL,
)


def program_in(reply: str) -> str:
    """The program of a reply: the first fenced block, or all of it where there is none."""
    fenced = _FENCE.search(reply)
    return (fenced.group(1) if fenced else reply).strip("\n\r")


def truncation(program: str) -> str:
    """Why a program looks cut off: an open bracket or string at its end; empty when it does not."""
    depth = 0
    for token in _TOKEN.finditer(program):
        if token.lastgroup == "unterminated":
            return "it ends within a string"
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
    return "it ends within brackets" if depth > 0 else ""


def json_in(reply: str) -> Any:
    """The JSON value of a reply, fenced or bare; None when there is none."""
    try:
        return json.loads(program_in(reply))
    except (ValueError, RecursionError):
        return None
