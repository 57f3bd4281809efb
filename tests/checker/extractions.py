"""What an extraction may be: lines of the original in their order, and a last line with true counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_CLOSING = re.compile(
    r"\[\.\.\.(\d{1,3}(?:,\d{3})*) of (\d{1,3}(?:,\d{3})*) chars trimmed by a filter"
    r"(?:; the whole: pinch expand [a-z2-7]{24})?\.\.\.\]"
)
_NOTE = re.compile(r"\s*\.\.\. [\d,]+ (?:lines|characters) elided \.\.\.\s*")
_SUMMARY = re.compile(r"\[.{1,120}\]")
_MOST_CHARS = 3_400
_LEAST_SHARE = 0.9


def is_extraction(text: str) -> bool:
    """Whether a text means to be an extraction, by its last line."""
    return _CLOSING.fullmatch(text.rpartition("\n")[2]) is not None


def extraction_rules(old: str, new: str, limits: Mapping[str, Any]) -> list[str]:
    """What is wrong with an extraction of a text that was open to trimming."""
    found = []
    kept, _, closing = new.rpartition("\n")
    match = _CLOSING.fullmatch(closing)
    assert match is not None
    removed, whole = (int(number.replace(",", "")) for number in match.groups())
    if whole != len(old):
        found.append(f"X: {whole} characters are claimed of an original of {len(old)}")
    lines = kept.split("\n")
    candidates = [lines, lines[:-1]] if lines and _SUMMARY.fullmatch(lines[-1]) else [lines]
    if not any(removed == max(1, whole - len("\n".join(one))) for one in candidates):
        found.append(f"X: {removed} characters are claimed to be gone")
    if len(new) > _MOST_CHARS:
        found.append(f"X: an extraction of {len(new)} characters is longer than any elision")
    said = [line for line in candidates[-1] if line.strip() and not _NOTE.fullmatch(line)]
    standing = sum(len(line) for line in said if line.strip() in old)
    if said and standing < _LEAST_SHARE * sum(map(len, said)):
        found.append("X: less than nine tenths of what is kept stands in the original")
    if len(old) <= int(limits.get("max_summarize_chars") or 4_000):
        found.append("X: a result that short is not filtered")
    return found
