"""The page of the docs that the recall yardstick writes."""

from bench.recall.measure import Result, Row
from bench.recall.page import page
from bench.recall.survival import Outcome


def row(share: float, recall: float, lines: float | None, reduction: float) -> Row:
    """One row of made-up figures."""
    return Row("mine", share, recall, 0.8, 0.95, recall, lines, reduction, 0.3, 0.5, 0.6, 20, 9, 4)


def test_the_page_holds_every_figure_and_its_command() -> None:
    """The page shows each measured row, both figures at like reduction, and the command that made it."""
    result = Result("mine", (row(0.25, 0.8, 0.7, 0.6), row(0.5, 0.9, 0.8, 0.4)), ())
    text = page([result], "30 sessions", "python -m bench.recall --policies mine")
    assert "| `mine` | 50% | 0.900 | 0.800-0.950 | 0.800 | 40.0% | 60% |" in text
    assert "| `mine` | 0.925 / 0.850 | 0.890 / 0.790 | 0.850 / 0.750 | 0.800 / 0.700 |" in text
    assert "python -m bench.recall --policies mine" in text
    assert "30 sessions: 4 conversations" in text


def test_what_was_not_measured_is_a_dash() -> None:
    """Where nothing quotes lines, or nothing was removed as much, the page shows a dash."""
    result = Result("mine", (row(0.5, 0.9, None, 0.4),), ())
    assert "| `mine` | 0.925 / - | - / - | - / - | - / - |" in page([result], "one", "x")


def outcome(session: str, kept: int, after: int) -> Outcome:
    """One pruned prefix of 100 tokens in which four identifiers and no line were needed."""
    return Outcome(session, 0.5, (4, kept), (0, 0), 100, after, budget_met=True)


def test_two_pruners_are_compared_point_by_point() -> None:
    """The page shows the mean difference on the same points with its interval, and none against itself."""
    rows = (row(0.5, 0.9, None, 0.4),)
    one = Result("pinch", rows, (outcome("a", 4, 60), outcome("b", 3, 60)))
    other = Result("other", rows, (outcome("a", 2, 50), outcome("b", 1, 50)))
    text = page([other, one], "one", "x")
    assert "## `pinch` against each other" in text
    assert "| `other` | 50% | +0.500 (+0.500 to +0.500) | - | -0.100 (-0.100 to -0.100) |" in text
    assert "point by point" not in page([one], "one", "x")
