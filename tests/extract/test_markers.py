"""What stands under an extraction, and how one is known again for what it is."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from pinch_server.core.extraction.form import Marking, extracted, is_extracted
from pinch_server.store.originals import DatabaseOriginals
from tests.core.builders import user
from tests.extract.sessions import LIMITS, POLICY, Scripted, pruned, replica, session

CHAT = session(5)


def extracted_edits(edits: object) -> list[int]:
    return [edit.message for edit in edits if edit.is_extracted]  # type: ignore[attr-defined] # edits of a plan


@pytest.mark.parametrize("marking", list(Marking))
def test_what_stands_under_an_extraction_is_as_set(engine: Engine, marking: Marking) -> None:
    """Full tells how much is gone and how to get it, summary how much is gone, and off nothing at all."""
    originals = DatabaseOriginals(engine, "a secret", ttl_seconds=100, max_chars=10**6, max_bytes=10**8)
    with replica(engine, replace(POLICY, marking=marking), originals=originals) as running:
        decided = running.call(CHAT)
        assert extracted_edits(decided.edits)
        for edit in decided.edits:
            *kept, summary, closing = edit.new.splitlines()
            assert (f"; the whole: pinch expand {edit.reference}...]" in closing) is (marking is Marking.FULL)
            assert ("chars trimmed by a filter" in closing) is (marking is not Marking.OFF)
            assert (summary == "[a summary]") is (marking is not Marking.OFF)
            assert all(line in CHAT[edit.message]["content"].splitlines() for line in kept)
            assert is_extracted([edit.new]) is (marking is not Marking.OFF)
    originals.close()


def test_an_unmarked_text_is_never_elided(engine: Engine) -> None:
    """Without a marker a text ships only where it is too short to be elided when it comes back."""
    policy = replace(POLICY, marking=Marking.OFF)
    long = Scripted(filter=lambda job: job.text[:3_100])
    limits = replace(LIMITS, max_summarize_chars=3_050)
    with replica(engine, policy, long) as running:
        assert extracted_edits(running.call(CHAT, limits).edits) == []
    with replica(engine, replace(policy, fingerprint="f2")) as running:
        other = [user("another turn"), *CHAT[1:]]
        decided = running.call(other, limits)
        assert extracted_edits(decided.edits)
        assert not running.call(pruned(other, decided), limits).edits


@pytest.mark.parametrize(
    "kept", ["one line", "two\nlines\n", "", "x" * 2_900, "[...1,234 chars trimmed...]\nafter"]
)
@pytest.mark.parametrize("reference", ["", "a" * 24])
@pytest.mark.parametrize("summary", ["", "left out\nthe rest"])
def test_the_form_is_known_again(kept: str, reference: str, summary: str) -> None:
    """What is written as an extraction is read as one; it says how much is gone, and where the whole is."""
    original = "a line of the original\n" * 400
    written = extracted(original, kept, summary, reference)
    assert is_extracted([written])
    assert f"of {len(original):,} chars trimmed by a filter" in written
    assert ("pinch expand" in written) is bool(reference)
    assert not is_extracted([written, "another part"])
    assert not is_extracted([written + "\nand more"])


@pytest.mark.parametrize(
    "forged",
    [
        "[...10 of 20 chars trimmed by a filter...]",
        "x" * 3_500 + "\n[...9,000 of 12,000 chars trimmed by a filter...]",
        "a [...9,000 of 12,000 chars trimmed by a filter...]",
        "a\n[...12,001 of 12,000 chars trimmed by a filter...]",
        "a\n[...9,000 of 12,000 chars trimmed by a filter; the whole: pinch expand ../../x...]",
    ],
)
def test_what_only_looks_like_an_extraction_is_text(forged: str) -> None:
    """A line that a tool wrote is no extraction unless all of its text has the shape of one."""
    assert not is_extracted([forged])
