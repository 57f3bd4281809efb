"""A text as bytes, and the stretches in which a long one is looked at."""

from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.codes import PAD, STRETCH_CHARS, codes_of, eights, stretch_end


@given(st.text(alphabet="aB9_ \n\0\x7f\x80éſ漢\ud800\U0001f600", max_size=40))
def test_a_byte_for_each_code_point(text: str) -> None:
    """ASCII stays as it is and all else is 0, whatever a text holds, with padding on both sides."""
    expected = bytes(ord(character) if character < "\x80" else 0 for character in text)
    assert codes_of(text).tobytes() == bytes(PAD) + expected + bytes(PAD)


def test_eight_bytes_from_any_place() -> None:
    """The eight bytes from a place on are a number whose lowest byte stands first."""
    found = eights(codes_of("abcdefghi"))
    assert int(found[PAD]).to_bytes(8, "little") == b"abcdefgh"
    assert int(found[PAD + 1]).to_bytes(8, "little") == b"bcdefghi"


def test_a_stretch_cuts_no_word() -> None:
    """A long text is cut where no word stands, and stays whole where there is no such place."""
    assert stretch_end("x" * STRETCH_CHARS, 0) == STRETCH_CHARS
    for mark in ("\n", " ", ",", '"'):
        text = f"path/to_one{mark}" * STRETCH_CHARS
        end = stretch_end(text, 0)
        assert STRETCH_CHARS // 2 <= end <= STRETCH_CHARS
        assert text[end] == mark
    assert stretch_end("x" * (3 * STRETCH_CHARS), 0) == 3 * STRETCH_CHARS
