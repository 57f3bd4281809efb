"""Where a text may be cut."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.cuts import head_end, tail_start


@pytest.mark.parametrize(
    ("text", "position", "head", "tail"),
    [
        ("abcdef", 3, 3, 3),
        ("ab\r\ncd", 3, 2, 4),
        ("abe\u0301cd", 3, 2, 4),
        ("ab\U0001f468\u200d\U0001f469\u200d\U0001f467cd", 4, 2, 7),
        ("ab\U0001f1e9\U0001f1eacd", 3, 2, 4),
        ("ab\x1b[31mred", 4, 2, 7),
        ("ab\x1b]8;;http://x\x07link", 6, 2, 16),
        ("ab\x1b]8;;http://x\x1b\\link", 16, 2, 17),
        ("ab\x1b(Bcd", 4, 2, 5),
        ("한국어", 1, 1, 1),
        ("", 0, 0, 0),
    ],
)
def test_cut_moves_out_of_clusters_and_escapes(text: str, position: int, head: int, tail: int) -> None:
    """A cut inside a cluster or an escape sequence moves to its near edge: back for a head, on for a tail."""
    assert head_end(text, position) == head
    assert tail_start(text, position) == tail


@given(
    st.text(
        alphabet=st.sampled_from(
            "ab \r\n\u0301\u200d\U0001f468\U0001f1e9\U0001f1ea\u1100\u1161\x1b[31m]8;\x07漢"
        ),
        max_size=80,
    ),
    st.integers(0, 80),
)
def test_no_cut_splits_a_cluster(text: str, position: int) -> None:
    """Both cuts fall on boundaries of the grapheme segmentation of the whole text, heads back, tails on."""
    position = min(position, len(text))
    boundaries = {0, len(text), *(match.end() for match in regex.finditer(r"\X", text))}
    head, tail = head_end(text, position), tail_start(text, position)
    assert head in boundaries
    assert tail in boundaries
    assert head <= position <= tail
