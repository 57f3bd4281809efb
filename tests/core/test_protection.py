"""Which tools' results are never trimmed."""

import pytest

from pinch_server.core.protection import protection


@pytest.mark.parametrize(
    ("globs", "tool", "expected"),
    [
        ((), "memory_read", False),
        (("memory_*",), "memory_read", True),
        (("memory_*",), "Memory_read", False),
        (("todo", "skill?"), "skills", True),
        (("[",), "[", True),
        (("*",), "a\nb", True),
    ],
)
def test_a_tool_is_protected_by_any_pattern_that_fits(
    globs: tuple[str, ...], tool: str, expected: bool
) -> None:
    """Patterns are a shell's, minding case, over the whole name; asked twice the answer is the same."""
    is_protected = protection(globs)
    assert [is_protected(tool), is_protected(tool)] == [expected, expected]
