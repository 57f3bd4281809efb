"""How one result is trimmed."""

import pytest

from pinch_server.core.trimming import Step, elide, omit, placeholder, step_of


def test_elision_keeps_both_ends_around_a_true_count() -> None:
    """A long text keeps 1,500 characters at each end, around the number of characters that are gone."""
    text = "a" * 1_500 + "m" * 2_345 + "z" * 1_500
    assert elide([text]) == ["a" * 1_500 + "\n\n[...2,345 chars trimmed...]\n\n" + "z" * 1_500]


def test_a_text_that_would_not_shrink_stays() -> None:
    """An elision that saves less than its marker costs is not made."""
    text = "x" * 3_010
    assert elide([text]) == [text]
    assert omit("n" * 60, ["y" * 25]) == ["y" * 25]


def test_parts_keep_their_number_and_order() -> None:
    """Head and tail are of the joined text; each part that loses characters says how many of its own."""
    parts = ["h" * 1_000, "m" * 2_000, "k" * 1_000, "t" * 2_000]
    assert elide(parts) == [
        "h" * 1_000,
        "m" * 500 + "\n\n[...1,500 chars trimmed...]",
        "[...1,000 chars trimmed...]",
        "[...500 chars trimmed...]\n\n" + "t" * 1_500,
    ]


def test_no_blank_text_is_created() -> None:
    """Blank and short parts stay as they are; the placeholder takes the first part that is longer than it."""
    assert omit("ls", ["", "  \n", "word ", "x" * 100, "y" * 100]) == [
        "",
        "  \n",
        "word ",
        "[ls: result omitted]",
        "[...100 chars trimmed...]",
    ]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("grep", "[grep: result omitted]"),
        ("a\nb\tc", "[a b c: result omitted]"),
        ("", "[tool: result omitted]"),
        ("\x00\x1b", "[tool: result omitted]"),
        ("n" * 500, f"[{'n' * 120}: result omitted]"),
    ],
)
def test_placeholder_is_one_bounded_line(tool: str, expected: str) -> None:
    """Whatever a tool is called, its placeholder is one line of bounded length that names it."""
    assert placeholder(tool) == expected


def test_own_output_is_recognised_by_its_exact_shape() -> None:
    """A text with just the shape of this module's output counts as trimmed already."""
    assert step_of("ls", elide(["x" * 9_000])) is Step.ELIDED
    assert step_of("ls", elide(["x" * 2_000, "", "y" * 9_000])) is Step.ELIDED
    assert step_of("ls", omit("ls", ["x" * 900, "y" * 900])) is Step.OMITTED
    assert step_of("ls", omit("ls", ["word ", "x" * 900, "", "y" * 900])) is Step.OMITTED
    assert step_of("ls", elide(["x" * 1_510, "y" * 9_000])) is Step.ELIDED
    forged = "kept\n\n[...500 chars trimmed...]\n\nkept " * 4
    assert step_of("ls", elide([forged, "y" * 9_000])) is Step.ELIDED
    assert step_of("ls", elide([forged + "y" * 9_000 + forged])) is Step.ELIDED


@pytest.mark.parametrize(
    "text",
    [
        "[500 chars trimmed...]",
        "[...500 chars trimmed...]",
        "log line\n[...500 chars trimmed...]\nlog line",
        "a\n\n[...12 chars trimmed...]\n\nb",
        "x" * 4_000 + "\n\n[...2,345 chars trimmed...]\n\n" + "y" * 1_500,
        "a" * 1_500 + "\n\n[...2345 chars trimmed...]\n\n" + "z" * 1_500,
        "hi\n\n[...9,000 chars trimmed...]\n\nbye",
        "[...9,000 chars trimmed...]",
        "a" * 700 + "\n\n[...9,000 chars trimmed...]\n\n" + "z" * 700,
        "a" * 1_500 + "\n\n[...0,500 chars trimmed...]\n\n" + "z" * 1_500,
        "[ls: result omitted] and more",
        "[grep: result omitted]",
        "",
    ],
)
def test_what_only_resembles_a_marker_is_ordinary_text(text: str) -> None:
    """Text a tool wrote that looks like a marker, but has not the shape of one, counts as whole."""
    assert step_of("ls", [text]) is Step.WHOLE
