"""The arithmetic of one tool result: each changed text is a placeholder or an elision, true to the character.

`violations` takes all texts of one result, since the head and the tail are of the joined text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from tests.checker.cuts import cluster_around, excuses_move, split_at
from tests.checker.derivations import Derivation, bare_marker, derivations
from tests.checker.dialects import UNNAMED_TOOL
from tests.checker.extractions import extraction_rules, is_extraction

SIDE = 1500
"""Code points that a head or a tail may keep."""
NAME_CHARS = 120
DEFAULT_MAX_SUMMARIZE = 4000
DEFAULT_PROTECTED_MAX = 20000

_PLACEHOLDER = re.compile(r"\[(.*): result omitted(?:; mentioned: (.*))?\]", re.DOTALL)
_IMAGE = re.compile(r"\[image omitted(?::? [^\]\r\n]*)?\]")
_NOTE = re.compile(r"\[image omitted: (\d+x\d+ )?[A-Za-z0-9.+/-]{1,60}\]", re.ASCII)
_IMAGE_SIZE = re.compile(r"(\d+)x(\d+)")


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp")


def folded_names(name: str) -> set[str]:
    """Every form in which a placeholder may say a name: controls folded, surrogates replaced, cut."""
    found: set[str] = set()
    for stand_in in ("\ufffd", "?", " ", ""):
        plain = re.sub(r"[\ud800-\udfff]", stand_in, name)
        each = "".join(" " if _is_control(char) else char for char in plain)
        wide = "".join(
            " " if char.isspace() or unicodedata.category(char)[0] == "C" else char for char in plain
        )
        for folded in (each, re.sub(r" +", " ", each), re.sub(r" +", " ", wide)):
            for text in (folded, folded.strip()):
                found.add(text[:NAME_CHARS])
                found.add(text[:NAME_CHARS].strip())
                around = cluster_around(text, NAME_CHARS)
                if around is not None:
                    found.add(text[: around[0]])
    spoken = {text for text in found if text.strip()}
    return spoken if len(spoken) == len(found) else spoken | {UNNAMED_TOOL}


def violations(
    olds: Sequence[str],
    news: Sequence[str],
    *,
    name: str,
    is_error: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> list[str]:
    """What is wrong with one result's new texts; `olds` and `news` are parallel."""
    changed = [at for at, old in enumerate(olds) if old != news[at]]
    found: list[str] = []
    for at in changed:
        found += _text_rules(olds[at], news[at], f"text {at}")
    if len(olds) == 1 and changed and is_extraction(news[0]):
        return found + extraction_rules(olds[0], news[0], limits or {})
    placeholders = [at for at in changed if _is_placeholder(olds[at], news[at])]
    if placeholders:
        found += _placeholder_rules(olds, news, placeholders, name, is_error, limits or {})
    elif changed and (is_error or not _is_unnamed_omission(olds, news, name)):
        found += _elision_rules(olds, news, changed, is_error, limits or {})
    return found


def _is_placeholder(old: str, new: str) -> bool:
    """Whether a new text means to be a placeholder, and is no elision of a text full of placeholders."""
    return _PLACEHOLDER.fullmatch(new) is not None and next(derivations(old, new), None) is None


def _text_rules(old: str, new: str, where: str) -> list[str]:
    found = []
    if not new.strip():
        found.append(f"I9/R5: {where} became blank")
    if len(new) >= len(old):
        found.append(f"I4/R5: {where} did not shrink: {len(old)} -> {len(new)} code points")
    lone = re.compile("[\ud800-\udfff]")
    if len(lone.findall(new)) > len(lone.findall(old)):
        found.append(f"R6: {where} has a new lone surrogate")
    return found


def _placeholder_rules(
    olds: Sequence[str],
    news: Sequence[str],
    placeholders: list[int],
    name: str,
    is_error: bool,
    limits: Mapping[str, Any],
) -> list[str]:
    found = []
    at = placeholders[0]
    match = _PLACEHOLDER.fullmatch(news[at])
    assert match is not None
    if is_error:
        found.append("R24: an error result became a placeholder")
    if any(_is_control(char) for char in news[at]):
        found.append("M: the placeholder is not on one line")
    if match[1] not in folded_names(name):
        found.append(f"M: the placeholder names {match[1][:130]!r}, the tool is {name[:130]!r}")
    for item in match[2].split(", ") if match[2] is not None else []:
        if not item.strip() or not any(item in old for old in olds):
            found.append(f"M: {item[:80]!r} is mentioned and does not stand in the original")
    if len(placeholders) > 1:
        found.append("M: more than one placeholder in one result")
    if any(old.strip() and len(old) > len(news[at]) for old in olds[:at]):
        found.append("M: the placeholder does not stand in the first text part that can hold it")
    for other, old in enumerate(olds):
        if other in placeholders or (other < at and old == news[other]):
            continue
        if news[other] != _marked(old):
            found.append(f"M: text {other} of an omitted result is {news[other][:60]!r}")
    total = sum(map(len, olds))
    maximum = limits.get("max_summarize_chars", DEFAULT_MAX_SUMMARIZE)
    if limits.get("trim_style") == "plain" and total > maximum:
        found.append(f"M: {total} characters were omitted where plain trimming elides above {maximum}")
    return found


def _is_unnamed_omission(olds: Sequence[str], news: Sequence[str], name: str) -> bool:
    """Whether only markers were set because the first text is too short to hold the placeholder."""
    first = next((at for at, old in enumerate(olds) if old.strip()), 0)
    room = max(len(f"[{spoken}: result omitted]") for spoken in folded_names(name))
    rest = [at for at in range(len(olds)) if at != first]
    return (
        news[first] == olds[first]
        and len(olds[first]) <= room
        and all(news[at] == _marked(olds[at]) for at in rest)
    )


def _marked(old: str) -> str:
    """A further text of an omitted result: its marker, where that is shorter."""
    marker = bare_marker(len(old))
    return marker if old.strip() and len(marker) < len(old) else old


def _elision_rules(
    olds: Sequence[str], news: Sequence[str], changed: list[int], is_error: bool, limits: Mapping[str, Any]
) -> list[str]:
    plain = limits.get("trim_style") == "plain"
    total = sum(map(len, olds))
    found: list[str] = []
    kept = 0
    for at in changed:
        problems, kept_here = _best_reading(olds, news, at, at == changed[0], plain)
        found += [f"{problem} (text {at})" for problem in problems]
        kept += kept_here
    if kept > 2 * SIDE:
        found.append(f"M: an elided result keeps {kept} characters, more than {2 * SIDE}")
    if kept == 0 and not found and all(at in changed for at, old in enumerate(olds) if old.strip()):
        first = olds[changed[0]]
        if not all(excuses_move(first, place) for place in range(1, min(SIDE, len(first)))):
            found.append("M: an elided result keeps nothing of its original")
    if plain and not is_error:
        cap = limits.get("protected_max_chars", DEFAULT_PROTECTED_MAX) or total
        least = min(limits.get("max_summarize_chars", DEFAULT_MAX_SUMMARIZE), cap)
        if total <= least:
            found.append(f"M: {total} characters were elided where plain trimming omits up to {least}")
    return found


def _best_reading(
    olds: Sequence[str], news: Sequence[str], at: int, first: bool, plain: bool
) -> tuple[list[str], int]:
    """The problems of one changed text under the reading that has fewest, and what that reading keeps."""
    best: tuple[list[str], int] | None = None
    for derivation in derivations(olds[at], news[at]):
        problems = _derivation_rules(olds[at], derivation, first)
        if len(olds) == 1:
            problems += _whole_rules(olds[at], derivation, plain)
        elif plain:
            offset = sum(map(len, olds[:at]))
            problems += _part_rules(olds[at], derivation, offset, sum(map(len, olds)))
        if best is None or len(problems) < len(best[0]):
            best = (problems, derivation.kept)
        if not problems:
            break
    if best is None:
        return [f"M: no sequence of its original's pieces with true gaps: {news[at][:80]!r}"], 0
    return best


def _derivation_rules(old: str, derivation: Derivation, first: bool) -> list[str]:
    found = []
    if first and not derivation.gaps[0].says_trimmed:
        found.append("M: a result's first gap does not say 'chars trimmed'")
    for place in derivation.cuts(len(old)):
        split = split_at(old, place)
        if split is not None:
            found.append(f"C: the cut at {place} splits {split}")
    return found


def _whole_rules(old: str, derivation: Derivation, plain: bool) -> list[str]:
    """A single text keeps its head and its tail, each at most `SIDE`, and loses one only to a clean cut."""
    pieces, length = derivation.pieces, len(old)
    head = pieces[0][1] if pieces and pieces[0][0] == 0 else 0
    tail = length - pieces[-1][0] if pieces and pieces[-1][1] == length else 0
    found = [
        f"M: the {side} has {size} characters, more than {SIDE}"
        for side, size in (("head", head), ("tail", tail))
        if plain and size > SIDE
    ]
    gap = derivation.gaps[0]
    spacing = ("\n\n" if head else "", "\n\n" if tail else "")
    if plain and (len(derivation.gaps) != 1 or (gap.lead, gap.trail) != spacing or not gap.says_trimmed):
        found.append("M: plain elision is head, blank line, one marker, blank line, tail")
    for side, size, places in (
        ("head", head, range(head + 1, SIDE + 1)),
        ("tail", tail, range(length - SIDE, length - tail)),
    ):
        if (plain or size == 0) and not all(excuses_move(old, place) for place in places):
            found.append(f"M: the {side} keeps {size} of {SIDE} characters where nothing asks for less")
    return found


def _part_rules(old: str, derivation: Derivation, offset: int, total: int) -> list[str]:
    """Plain, one part of several: only the joined text's first and last `SIDE` characters may be kept."""
    found = []
    if len(derivation.gaps) != 1:
        found.append("M: plain elision leaves one gap in a part")
    for start, end in derivation.pieces:
        in_head = start == 0 and offset + end <= SIDE
        in_tail = end == len(old) and total - offset - start <= SIDE
        if not in_head and not in_tail:
            found.append(f"M: a part keeps {start}-{end}, outside the joined text's head and tail")
    for gap in derivation.gaps:
        if gap.lead not in ("", "\n\n") or gap.trail not in ("", "\n\n"):
            found.append("M: a marker stands without its blank line")
    return found


def is_image_note(text: str) -> bool:
    """Whether a text has exactly the shape of a note that stands for an image."""
    return _NOTE.fullmatch(text) is not None


def image_marker_problem(text: str, size: tuple[int, int] | None) -> str | None:
    """What is wrong with the text that replaced an image of `size` pixels (None: unreadable)."""
    if "image omitted" not in text or _IMAGE.fullmatch(text) is None:
        return f"M: an image became {text[:80]!r}"
    said = _IMAGE_SIZE.search(text)
    if size is not None and (said is None or (int(said[1]), int(said[2])) != size):
        return f"M: an image of {size[0]}x{size[1]} pixels became {text[:80]!r}"
    return None
