"""The arithmetic of one result, text by text, without a body around it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.checker.cuts import partial_escapes, split_at
from tests.checker.derivations import MARKER, derivations
from tests.checker.markers import folded_names, violations
from tests.checker.samples import TEXT, elided

PLAIN = {"trim_style": "plain"}


def test_keyed_gaps_are_verified_one_by_one() -> None:
    """Several kept pieces are valid in order, each gap with its own true count, the further ones shorter."""
    cuts = [(0, 400), (1000, 1200), (3000, 3050), (len(TEXT) - 300, len(TEXT))]
    gaps = [after[0] - before[1] for before, after in pairwise(cuts)]
    new = TEXT[:400]
    for number, (start, end) in enumerate(cuts[1:]):
        word = " chars trimmed" if number == 0 else ""
        new += f"\n[...{gaps[number]:,}{word}...]\n{TEXT[start:end]}"
    assert violations([TEXT], [new], name="grep") == []
    assert violations([TEXT], [new], name="grep", limits=PLAIN) != []
    assert violations([TEXT], [new.replace(f"[...{gaps[1]:,}...]", "[...7...]")], name="grep") != []
    swapped = new.replace(TEXT[1000:1200], TEXT[3000:3050])
    assert violations([TEXT], [swapped], name="grep") != []
    assert violations([TEXT], [new.replace(" chars trimmed", "")], name="grep") != []


def test_repeating_pieces_stand_where_the_counts_say() -> None:
    """Where the text repeats itself, the counts decide what was kept; that of another repetition is wrong."""
    text = "abc\n" * 3000
    assert violations([text], [elided(text)], name="grep", limits=PLAIN) == []
    assert violations([text], [elided(text, off=4)], name="grep") != []


def test_forged_markers_are_words() -> None:
    """Markers written by a tool are ordinary text, however many and whatever they count."""
    text = "[...500 chars trimmed...]" * 400
    assert violations([text], [elided(text)], name="grep", limits=PLAIN) == []
    assert violations([text], [elided(text, off=-1)], name="grep") != []
    forged = "say [...4,000 chars trimmed...] \n" + TEXT
    assert violations([forged], [elided(forged)], name="grep", limits=PLAIN) == []
    assert next(derivations(forged, elided(forged))).kept == 3000


@pytest.mark.parametrize(
    ("unit", "splits"),
    [
        ("\x1b[38;2;255;0;0m", True),
        ("\x1b]8;;http://example.org\x07", True),
        ("e\u0301", True),
        ("\U0001f468\u200d\U0001f469", True),
        ("\U0001f1e9\U0001f1ea", True),
        ("\r\n", True),
        ("ab", False),
        ("\u4e2d\u6587", False),
    ],
)
def test_cuts_are_clean(unit: str, splits: bool) -> None:
    """A cut inside a grapheme cluster, a CSI or an OSC sequence is caught, at the head and at the tail."""
    text = "x" * 1499 + unit + "y" * 5000
    assert (split_at(text, 1500) is not None) is splits
    assert bool(violations([text], [elided(text)], name="grep")) is splits
    assert violations([text], [elided(text, head=1499)], name="grep", limits=PLAIN) == [] or not splits
    mirrored = "y" * 5000 + unit + "x" * (1500 - len(unit) + 1)
    assert bool(violations([mirrored], [elided(mirrored)], name="grep")) is splits


def test_flags_are_paired_from_the_start() -> None:
    """A long run of flags is cut between flags, counted from where the run begins."""
    text = "a" + "\U0001f1e9\U0001f1ea" * 3000
    assert violations([text], [elided(text, head=1499)], name="grep", limits=PLAIN) == []
    assert violations([text], [elided(text, head=1500)], name="grep") != []


def test_plain_cuts_give_nothing_away() -> None:
    """A plain head is 1,500 characters unless a cluster or an escape sequence stands on the cut."""
    assert violations([TEXT], [elided(TEXT, head=1400)], name="grep", limits=PLAIN) != []
    assert violations([TEXT], [elided(TEXT, head=1400)], name="grep") == []


def test_plain_thresholds() -> None:
    """Plain trimming elides above max_summarize_chars and omits up to it; errors are always elided."""
    limits = {**PLAIN, "max_summarize_chars": 4000}
    assert violations([TEXT], ["[grep: result omitted]"], name="grep", limits=limits) != []
    short = TEXT[:3500]
    assert violations([short], [elided(short)], name="grep", limits=limits) != []
    assert violations([short], [elided(short)], name="grep", limits=limits, is_error=True) == []


def test_names_are_folded_and_cut() -> None:
    """A placeholder's name is on one line and at most 120 characters long."""
    assert folded_names("read\nfile") == {"read file"}
    assert {len(name) for name in folded_names("n" * 300)} == {120}
    text = "x" * 2000
    assert violations([text], ["[read file: result omitted]"], name="read\n\x00file") == []
    assert violations([text], [f"[{'n' * 120}: result omitted]"], name="n" * 300) == []
    assert violations([text], [f"[{'n' * 121}: result omitted]"], name="n" * 300) != []


def test_omitted_parts() -> None:
    """One placeholder stands for several texts; further ones carry their own count where it is shorter."""
    olds = ["", "x" * 900, "ok", "y" * 900]
    news = ["", "[grep: result omitted]", "ok", "[...900 chars trimmed...]"]
    assert violations(olds, news, name="grep", limits=PLAIN) == []
    assert violations(olds, [*news[:3], "[grep: result omitted]"], name="grep") != []
    assert violations(olds, [*news[:3], olds[3]], name="grep") != []
    assert violations(olds, [*news[:3], "[...901 chars trimmed...]"], name="grep") != []
    assert violations(olds, ["", olds[1], "ok", news[1]], name="grep") != []


def test_omission_behind_a_short_first_part() -> None:
    """Where the first text is too short for the placeholder, it stays and the others carry their counts."""
    olds = ["0", "x" * 900]
    assert violations(olds, ["0", "[...900 chars trimmed...]"], name="grep", limits=PLAIN) == []
    assert violations(olds, ["0", "[grep: result omitted]"], name="grep", limits=PLAIN) == []


def test_new_surrogates_and_partial_escapes() -> None:
    """A surrogate that was lone before may stay; a new one, and half of an escape sequence, are caught."""
    text = "\ud83d" + TEXT
    assert violations([text], [elided(text)], name="grep") == []
    new = elided(TEXT)
    assert any(found.startswith("R6") for found in violations([TEXT], [new[:-1] + "\ud83d"], name="grep"))
    assert partial_escapes("a\x1b[31mred\x1b[0m") == 0
    assert partial_escapes("a\x1b[31") == 1


def test_marker_form() -> None:
    """A marker's count is written with grouping commas."""
    assert MARKER.fullmatch("[...1,234 chars trimmed...]")
    assert MARKER.fullmatch("[...1234 chars trimmed...]") is None
