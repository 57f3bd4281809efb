"""Two bodies side by side: which editable strings differ, and what else does, which it never may."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.checker.dialects import Body
from tests.checker.json_tokens import Node, Path

_RULES = {
    "reasoning_content": "R32",
    "role": "R1", "id": "R11", "tool_call_id": "R11", "call_id": "R16", "tool_use_id": "R17",
    "toolUseId": "R28", "name": "R3", "is_error": "R3", "status": "R3", "type": "R4",
    "cache_control": "R20", "prompt_cache_breakpoint": "R13", "cachePoint": "R29",
    "thinking": "R21", "signature": "R21", "data": "R21", "thoughtSignature": "R27",
    "encrypted_content": "R15/R22", "response": "R25",
}  # fmt: skip


@dataclass(slots=True)
class Comparison:
    """Pairs (before, after) of changed texts and replaced images, and the violations found on the way."""

    texts: dict[int, tuple[Node, Node]] = field(default_factory=dict)
    images: list[tuple[Node, Node]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def where(path: Path) -> str:
    """A path as one word: messages[2].content[0].text."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return words.lstrip(".") or "body"


def rule_of(path: Path) -> str:
    """The rule that guards a place: that of the innermost key which has one, else R2."""
    for step in reversed(path):
        if isinstance(step, str) and step in _RULES:
            return f"I3/{_RULES[step]}"
    return "I3/R2"


def compare(before: Body, after: Body) -> Comparison:
    """Walks both trees at once; every leaf that is no editable string must have the same bytes."""
    editable = {id(text) for result in before.results for text in result.texts}
    images = {id(image) for result in before.results for image in result.images}
    found = Comparison()
    waiting = [(before.root, after.root)]
    while waiting:
        old, new = waiting.pop()
        if old.raw == new.raw:
            continue
        if id(old) in images and _replaces_image(old, new):
            found.images.append((old, new))
        elif old.kind != new.kind:
            rule = "I9/R7" if id(old) in editable or old.step in ("content", "output") else rule_of(old.path)
            found.violations.append(f"{rule}: {where(old.path)} was a {old.kind}, is a {new.kind}")
        elif old.kind in ("object", "array"):
            waiting += reversed(_children(before, old, new, found))
        elif id(old) in editable:
            found.texts[id(old)] = (old, new)
        else:
            found.violations.append(f"{rule_of(old.path)}: {where(old.path)} changed: "
                                    f"{old.raw[:60]!r} -> {new.raw[:60]!r}")  # fmt: skip
    return found


def _children(before: Body, old: Node, new: Node, found: Comparison) -> list[tuple[Node, Node]]:
    """The pairs to look at next; a different count or different keys end the walk here."""
    place = where(old.path)
    if len(old.items) != len(new.items):
        counts = f"{place} had {len(old.items)}, has {len(new.items)}"
        if old is before.messages_node:
            found.violations.append(f"I1/R1: {counts} messages")
        elif old.kind == "array":
            found.violations.append(f"I1/R4: {counts} elements")
        else:
            found.violations.append(f"{_keys_rule(before, old, new)}: {counts} keys")
        return []
    if old.kind == "object":
        pairs = [(one.key, other.key) for one, other in zip(old.items, new.items, strict=True)]
        if any(one is None or other is None or one.raw != other.raw for one, other in pairs):
            found.violations.append(f"{_keys_rule(before, old, new)}: the keys of {place} changed")
            return []
    return list(zip(old.items, new.items, strict=True))


def _keys_rule(before: Body, old: Node, new: Node) -> str:
    """The rule that guards the first key which only one of two objects has."""
    in_result = _is_under(old, {id(result.node) for result in before.results})
    olds, news = {str(item.step) for item in old.items}, {str(item.step) for item in new.items}
    differing = sorted(olds ^ news)
    rule = rule_of((*old.path, differing[0])) if differing else "I3/R2"
    return "I3/R3" if in_result and rule == "I3/R2" else rule


def _is_under(node: Node | None, tops: set[int]) -> bool:
    while node is not None:
        if id(node) in tops:
            return True
        node = node.parent
    return False


def _replaces_image(old: Node, new: Node) -> bool:
    """An image block may become a text part: same other keys, the image's own gone."""
    if new.kind != "object" or new.string("text") is None:
        return False
    kinds = {"image_url": "text", "image": "text", "input_image": "input_text"}
    kind = old.string("type")
    if kind is not None and new.string("type") != kinds.get(kind):
        return False
    own = {"type", "text", "image_url", "image", "source", "detail", "file_id"}
    keep = {key: node.raw for key, node in old.members().items() if key not in own}
    return keep == {key: node.raw for key, node in new.members().items() if key not in {"type", "text"}}
