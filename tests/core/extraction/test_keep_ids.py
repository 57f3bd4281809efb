"""Which words of a conversation a shortened result must not lose."""

import pytest

from pinch_server.core.extraction.keep_ids import dropped_id, keep_ids


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Look at src/app.py and worker-3, please.", ("src/app.py", "worker-3")),
        ("call parse_config in GetSettings", ("parse_config", "GetSettings")),
        ("build 482 failed, not 48", ("482",)),
        ("Request abc-def-ghi at 10:30:00", ("abc-def-ghi", "10:30:00")),
        ("ends in a path/to/file.go.", ("path/to/file.go",)),
        ("an up-front, well-known ERROR in Berlin", ()),
        ("HTTP and JSON, i.e. a b c", ()),
        ("Größe_2 und Straßen/Namen", ("Größe_2", "Straßen/Namen")),
        ("", ()),
    ],
)
def test_a_word_needs_a_mark_that_prose_lacks(text: str, found: tuple[str, ...]) -> None:
    """A separator, a digit or an inner capital makes an id; a capital, a hyphen or loudness does not."""
    assert keep_ids(text) == found


def test_the_newest_words_are_kept() -> None:
    """Of too many words the last said are taken, each once, in the order of their last mention."""
    text = " ".join(f"id_{i}" for i in range(50)) + " id_20"
    assert keep_ids(text) == (*(f"id_{i}" for i in range(10, 50) if i != 20), "id_20")
    assert keep_ids(text, 0) == ()


@pytest.mark.parametrize(
    ("body", "result", "dropped"),
    [
        ("one build_7 here", "one here", "build_7"),
        ("one build_7 here", "build_7", None),
        ("nothing", "no", None),
        ("build_7 " * 20, "none", "build_7"),
        ("build_7 " * 21, "none", None),
    ],
)
def test_a_dropped_word_is_found(body: str, result: str, dropped: str | None) -> None:
    """A word is dropped when the body has it, 20 times at most, and the result has not."""
    assert dropped_id(body, result, ("build_7",)) == dropped


@pytest.mark.parametrize("word", ["a_1", "12345", "abc."])
def test_short_words_and_numbers_are_not_missed(word: str) -> None:
    """A word of fewer than five characters or without a letter may be dropped."""
    assert dropped_id(f"there was {word} once", "there was once", (word,)) is None
