"""The judge of extractions finds what is wrong with one, and nothing with what is right."""

import pytest

from pinch_server.core.extraction.form import extracted
from tests.checker.markers import violations

OLD = "\n".join(f"line {number} of the original" for number in range(400))
KEPT = "line 3 of the original\n... 9 lines elided ...\nline 13 of the original"


@pytest.mark.parametrize("summary", ["", "the others"])
@pytest.mark.parametrize("reference", ["", "a" * 24])
def test_what_the_service_writes_is_right(summary: str, reference: str) -> None:
    """An extraction as the service writes it breaks no rule."""
    assert violations([OLD], [extracted(OLD, KEPT, summary, reference)], name="ls") == []


@pytest.mark.parametrize(
    ("new", "rule"),
    [
        (extracted(OLD + "x", KEPT), "claimed of an original"),
        (
            extracted(OLD, KEPT).replace("[...9", "[...8"),
            "claimed",
        ),
        (extracted(OLD, "words that nobody said\n" * 3), "nine tenths"),
        (extracted(OLD, "\n".join(OLD.split("\n")[:150])), "longer than any elision"),
    ],
)
def test_what_is_wrong_is_told(new: str, rule: str) -> None:
    """False counts, invented lines and too long a text are each named."""
    assert any(rule in found for found in violations([OLD], [new], name="ls")), new[-80:]


def test_a_short_result_is_not_filtered() -> None:
    """What trimming would not make an excerpt of is no seat for an extraction."""
    old = OLD[:3_500]
    found = violations([old], [extracted(old, KEPT)], name="ls")
    assert any("that short" in one for one in found)
