"""The account of one pruned body: as JSON for programs, as lines for people."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import click

from pinch import Edit, Pruned
from pinch_server.core.nouns import counted

_REASONS: Final = {
    "within_budget": "it is within its budget",
    "disabled": "pruning is switched off (enabled = false)",
    "dry_run": "a dry run: the body came out as it went in",
    "not_understood": "it was not understood as a conversation",
    "unsupported_state": "its history is with the provider, not in the body",
    "nothing_to_trim": "nothing in it may be trimmed",
    "gain_too_small": "there is too little to gain (min_gain, min_tokens_saved, ledger_share)",
    "internal_error": "an error inside; the log of the service has it",
}
# Where a budget was missed although all that may be trimmed was, or would have been.
_LEFT_ALL: Final = ("", "dry_run", "nothing_to_trim")


_LEFT: Final = "what is left is text, calls and protected results"
_WAITING: Final = "what may still be trimmed, if anything, would gain less than min_gain of the size"


class _Message(Protocol):
    """A protobuf message, as far as its fields are read here."""

    @property
    def DESCRIPTOR(self) -> Any:  # noqa: N802 protobuf's name
        ...

    def HasField(self, field_name: Any) -> bool:  # noqa: N802 protobuf's name
        ...


def account(pruned: Pruned[bytes]) -> dict[str, Any]:
    """What `--stats` writes.

    Returns:
        `stats` and `measured` with the field names of the API, `edits` in the order of the body,
        `decision_id`, and `unchanged_reason`, empty when something changed. Values of enumerations are in
        small letters without their prefix: `not_needed` for RANKING_NOT_NEEDED.
    """
    return {
        "stats": None if pruned.stats is None else _plain(pruned.stats),
        "edits": [_edit(edit) for edit in pruned.edits],
        "measured": None if pruned.measured is None else _plain(pruned.measured),
        "decision_id": pruned.decision_id,
        "unchanged_reason": pruned.reason or "",
    }


def told(
    account: Mapping[str, Any], *, budget_tokens: int | None = None, is_stored: bool = False
) -> list[str]:
    """The account of one body as lines for people; nothing in them is conversation text.

    Args:
        account: What `account` made.
        budget_tokens: The budget it was pruned under, where that is known (tokens).
        is_stored: Whether a service keeps the decision, so that its id leads to something.
    """
    facts = [*_facts(account, budget_tokens)]
    if is_stored:
        facts.append(("decision", account["decision_id"]))
    return [f"{click.style(f'{name:<15}', bold=True)}  {value}" for name, value in facts]


def reason_in_words(slug: str) -> str:
    """Why nothing changed; a slug that is not known here stays as it is."""
    return _REASONS.get(slug, slug)


def _facts(account: Mapping[str, Any], budget_tokens: int | None) -> Iterator[tuple[str, str]]:
    stats, measured, reason = account["stats"], account["measured"], account["unchanged_reason"]
    trimmed = {(edit["message_index"], edit.get("block_index")) for edit in account["edits"]}
    if stats is not None:
        before, after, saved = (stats[name] for name in ("original_tokens", "final_tokens", "tokens_saved"))
        share = f" ({saved / before:.1%})" if before else ""
        yield "tokens before", f"{before:,}"
        yield "tokens after", f"{after:,}"
        yield "tokens saved", f"{saved:,}{share}"
        yield "results trimmed", _trimmed(len(trimmed), stats["summarized"])
        yield "budget", _budget(stats, budget_tokens)
        if not stats["budget_met"] and reason in _LEFT_ALL:
            yield "", _WAITING if _is_waiting(stats, reason) else _LEFT
    if reason:
        yield "unchanged", reason_in_words(reason)
    if measured is not None:
        bound = f"at most {measured['error_bound']:.0%} of the truth off"
        yield "measured", f"{counted(measured['tokens'], 'token')} by {measured['method']}, {bound}"


def _trimmed(count: int, new: int) -> str:
    """How many results differ from what came, and how many do in this call for the first time."""
    if new and not count:
        return f"0; {new:,} would be, for the first time"
    if not new:
        return f"{count:,}"
    which = f"{new:,} of them " if new < count else "all of them " if count > 1 else ""
    return f"{count:,}, {which}for the first time"


def _is_waiting(stats: Mapping[str, Any], reason: str) -> bool:
    """Whether the trims are those of earlier calls alone, so that more may be possible."""
    return reason != "nothing_to_trim" and not stats["candidates"] and not stats["summarized"]


def _budget(stats: Mapping[str, Any], budget_tokens: int | None) -> str:
    is_met = "met" if stats["budget_met"] else "not met"
    if budget_tokens is None:
        return is_met
    over = "" if stats["budget_met"] else f", {stats['final_tokens'] - budget_tokens:,} over"
    return f"{budget_tokens:,}: {is_met}{over}"


def _edit(edit: Edit) -> dict[str, Any]:
    plain = _plain(edit)
    del plain["replacement_part"]
    plain["sha256"] = edit.replaced_sha256.hex()
    del plain["replaced_sha256"]
    plain["replacement"] = edit.replacement.decode("utf-8")
    return plain


def _plain(message: _Message) -> dict[str, Any]:
    """The fields of a message by name; an optional one that is not set is None."""
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def _value(message: _Message, field: Any) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if field.enum_type is None:
        return value
    # RANKING_NOT_NEEDED of the enumeration Ranking; its value 0 is RANKING_UNSPECIFIED.
    names: Mapping[int, str] = {number: one.name for number, one in field.enum_type.values_by_number.items()}
    prefix = names[0].removesuffix("UNSPECIFIED")
    return names[value].removeprefix(prefix).lower() if value in names else str(value)
