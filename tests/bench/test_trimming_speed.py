"""The table of what trimming costs."""

import pytest

from bench.trimming_speed import kinds, main


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind of text has a row for every size."""
    assert main(["--sizes", "5000", "--runs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| text | characters | read | excerpt | placeholder |"
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == [name for name, _ in kinds()]
