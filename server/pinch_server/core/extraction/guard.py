"""Whether a result fits into the window of the model that is to filter it; what does not is left whole.

Formula and constants: design of extraction, section 5.
"""

from typing import Final

END_CHARS: Final = 16_000
"""Most of a result that is shown of each end (code points)."""
WINDOW_OVERHEAD_TOKENS: Final = 2_000
"""What a prompt holds beside the goal and the result (tokens)."""
UNKNOWN_WINDOW_TOKENS: Final = 32_768
"""The window of a model that nothing is known of (tokens)."""
MOST_BILLED_PER_TOKEN: Final = 1.65
"""The widest ratio of billed to counted tokens that was measured (6,396 -> 10,574)."""
_REPLY_TOKENS: Final = 4_096
_FRAME_TOKENS: Final = 512

WINDOWS: Final = {
    "claude": 200_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "gemini-2": 1_048_576,
}
"""Windows of model families, by how their names begin (tokens)."""


def shown_text(text: str) -> str:
    """What a prompt shows of a result: all of it, or both ends."""
    return text if len(text) <= 2 * END_CHARS else text[:END_CHARS] + text[-END_CHARS:]


def needed_tokens(shown_tokens: int, goal_tokens: int) -> int:
    """The window that a call needs (tokens), by the widest ratio of billed to counted tokens.

    Args:
        shown_tokens: Size of what is shown of the result (tokens).
        goal_tokens: Size of the goal (tokens).
    """
    overhead = WINDOW_OVERHEAD_TOKENS + goal_tokens
    return int((shown_tokens + overhead) * MOST_BILLED_PER_TOKEN) + _REPLY_TOKENS + _FRAME_TOKENS


def window_of(configured: int, model: str) -> int:
    """The window of the extraction model (tokens).

    Args:
        configured: What the operator says; 0 where nothing.
        model: The model's name.
    """
    if configured:
        return configured
    name = model.rpartition("/")[2]
    return next((size for family, size in WINDOWS.items() if name.startswith(family)), UNKNOWN_WINDOW_TOKENS)
