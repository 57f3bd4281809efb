"""Requests that every known server accepts."""

from hypothesis import given
from hypothesis import strategies as st

from pinch_server.embeddings.batches import batches


@given(st.lists(st.text(max_size=30), max_size=50), st.integers(1, 8), st.integers(1, 60))
def test_batches_hold_all_texts_within_their_bounds(texts: list[str], most: int, size: int) -> None:
    """Each text is in exactly one batch, in order; only a single text may be larger than a batch."""
    parts = batches(texts, most_texts=most, most_bytes=size)
    assert [position for part in parts for position in part] == list(range(len(texts)))
    for part in parts:
        assert 1 <= len(part) <= most
        assert len(part) == 1 or sum(len(texts[at].encode("utf-8", "replace")) for at in part) <= size


def test_a_batch_is_filled() -> None:
    """Texts travel in as few requests as the bounds allow."""
    assert batches(["x"] * 33) == [range(32), range(32, 33)]
    assert batches(["x" * 800_000] * 2) == [range(1), range(1, 2)]
    assert batches([]) == []
