"""The twenty trimmed results that the docs show."""

from pathlib import Path
from shutil import copy

import pytest

from bench.trimming_examples import FOLDER, Example, examples, read_before, texts_of, write_all
from tests.checker.markers import violations


def test_they_are_what_the_product_writes(tmp_path: Path) -> None:
    """Made anew from the stored inputs, the shown results and their page are the same bytes."""
    for file in (*FOLDER.glob("*.before.txt"), FOLDER / "examples.json"):
        copy(file, tmp_path)
    write_all(tmp_path)
    shown = {file.name: file.read_bytes() for file in FOLDER.iterdir()}
    assert shown == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_there_are_twenty() -> None:
    """Twenty results are shown."""
    assert len(examples()) == 20


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_each_is_sound(example: Example) -> None:
    """Each shown result is made of pieces of its original with true gaps, or names what stood there."""
    before = read_before(example)
    for form, text in texts_of(example, before):
        limits = {"trim_style": form} if form == "plain" else {"trim_style": "keyed"}
        assert violations([before], [text], name=example.tool, limits=limits) == []
