"""The judge: is `after` a body that a pruner may have made of `before`?

The checker shares no code with the server: it has its own JSON scanner, its own reading of the five dialects
and its own arithmetic, so that a fault of the pruner cannot hide in what both would use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.checker.dialects import Body, Result, read
from tests.checker.image_size import block_size
from tests.checker.json_tokens import Node, NotJson, scan
from tests.checker.markers import image_marker_problem, is_image_note, violations
from tests.checker.provider_rules import findings
from tests.checker.receipts import apply, check_edits
from tests.checker.structure import Comparison, compare, where
from tests.checker.window import must_be_whole

__all__ = ["apply", "check", "check_edits"]

_MOST = 100
"""Violations reported of one body: a body that is wholly other would otherwise list every byte."""


def check(
    format: str,
    before: bytes,
    after: bytes,
    *,
    limits: Mapping[str, Any] | None = None,
    protected_tools: Sequence[str] = (),
) -> list[str]:
    """Compares a pruned body with what was sent.

    Args:
        format: one of `dialects.FORMATS`.
        before: the body as sent.
        after: the body as pruned.
        limits: the call's limits by their wire names, for rules that depend on them: protected_max_chars,
            protected_tools, trim_style ("plain" makes the arithmetic exact), max_summarize_chars,
            omit_images, keep_last_turns with keep_last_rounds (both make the window judged).
        protected_tools: globs of tool names whose results may not change, besides those of `limits`.

    Returns:
        What is wrong, each line led by the rule it breaks; empty when the body is valid.
    """
    if before == after:
        return []
    try:
        root = scan(before)
    except NotJson as error:
        return [f"J: the body before is no JSON and was changed: {error}"]
    try:
        new_root = scan(after)
    except NotJson as error:
        return [f"J: the body after is no JSON: {error}"]
    old, new = read(format, root), read(format, new_root)
    comparison = compare(old, new)
    found = list(comparison.violations)
    if not found:
        found += _bytes_outside(before, after, comparison)
    found += _results(old, comparison, limits)
    found += _whole(old, comparison, limits, protected_tools)
    worse = findings(new) - findings(old)
    found += sorted(worse)
    return found[:_MOST]


def _bytes_outside(before: bytes, after: bytes, comparison: Comparison) -> list[str]:
    """Puts the changed values back into the old bytes: whatever still differs was outside them."""
    pairs = sorted([*comparison.texts.values(), *comparison.images], key=lambda pair: pair[0].start)
    edits = [
        {"offset": old.start, "length": old.end - old.start, "replacement": new.raw} for old, new in pairs
    ]
    rebuilt = apply(before, edits)
    if rebuilt == after:
        return []
    at = next((i for i, (one, other) in enumerate(zip(rebuilt, after, strict=False)) if one != other),
              min(len(rebuilt), len(after)))  # fmt: skip
    seen = after[max(0, at - 20) : at + 20]
    return [f"I3/R2: a byte outside the edited strings changed at byte {at} of the body after: {seen!r}"]


def _results(body: Body, comparison: Comparison, limits: Mapping[str, Any] | None) -> list[str]:
    found: list[str] = []
    for result in body.results:
        place = where(result.node.path)
        # The note in place of an image is a part of its own, not of the text that head and tail are of.
        written = [text for text in result.texts if not is_image_note(text.text)]
        if any(id(text) in comparison.texts for text in result.texts if is_image_note(text.text)):
            found.append(f"I5: the note in place of an image changed ({place})")
        olds = [text.text for text in written]
        news = [_new(comparison, text).text for text in written]
        for text in result.texts:
            if id(text) in comparison.texts and _new(comparison, text).text == text.text:
                found.append(f"I3: {where(text.path)} was respelled and says the same")
        problems = violations(olds, news, name=result.name, is_error=result.is_error, limits=limits)
        found += [f"{problem} ({place})" for problem in problems]
    for image, text_part in comparison.images:
        problem = image_marker_problem(text_part.string("text") or "", block_size(image))
        if problem is not None:
            found.append(f"{problem} ({where(image.path)})")
        if limits is not None and limits.get("omit_images") is False:
            found.append(f"images: {where(image.path)} was omitted against omit_images")
    return found


def _new(comparison: Comparison, text: Node) -> Node:
    pair = comparison.texts.get(id(text))
    return pair[1] if pair is not None else text


def _whole(
    body: Body, comparison: Comparison, limits: Mapping[str, Any] | None, protected_tools: Sequence[str]
) -> list[str]:
    changed_images = {id(image) for image, _ in comparison.images}

    def is_changed(result: Result) -> bool:
        texts = any(id(text) in comparison.texts for text in result.texts)
        return texts or any(id(image) in changed_images for image in result.images)

    return [
        f"{rule} ({where(result.node.path)})"
        for result, rule in must_be_whole(body, limits, protected_tools)
        if is_changed(result)
    ]
