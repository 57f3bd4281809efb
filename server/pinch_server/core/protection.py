"""Which tools' results are never trimmed, by shell-style patterns."""

import re
from collections.abc import Callable, Sequence
from fnmatch import translate


def protection(globs: Sequence[str]) -> Callable[[str], bool]:
    """A test of tool names against patterns such as `memory_*`.

    Each name is matched once. The patterns are compiled here and not in the standard library's own cache,
    which would keep thousands of callers' patterns for ever.
    """
    if not globs:
        return lambda _tool: False
    patterns = [re.compile(translate(glob)) for glob in globs]
    known: dict[str, bool] = {}

    def is_protected(tool: str) -> bool:
        answer = known.get(tool)
        if answer is None:
            answer = known[tool] = any(pattern.match(tool) for pattern in patterns)
        return answer

    return is_protected
