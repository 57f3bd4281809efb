"""The account of one pruned body: as JSON for programs, as a table for people."""

from collections.abc import Mapping
from typing import Any, Protocol

from rich.table import Table

from pinch import Edit, Pruned


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


def table(account: Mapping[str, Any]) -> Table:
    """The account of one body for people to read; None of what is in it is conversation text."""
    stats, measured = account["stats"] or {}, account["measured"]
    shown = Table(show_header=False, box=None, pad_edge=False)
    shown.add_column(style="bold")
    shown.add_column()
    trimmed = {(edit["message_index"], edit.get("block_index")) for edit in account["edits"]}
    if stats:
        before, after, saved = (stats[name] for name in ("original_tokens", "final_tokens", "tokens_saved"))
        share = f" ({saved / before:.1%})" if before else ""
        shown.add_row("tokens before", f"{before:,}")
        shown.add_row("tokens after", f"{after:,}")
        shown.add_row("tokens saved", f"{saved:,}{share}")
        shown.add_row("results trimmed", f"{len(trimmed)}, {stats['summarized']} of them for the first time")
        shown.add_row("budget met", "yes" if stats["budget_met"] else "no")
    if account["unchanged_reason"]:
        shown.add_row("unchanged", account["unchanged_reason"])
    if measured is not None:
        bound = f"at most {measured['error_bound']:.0%} of the truth off"
        shown.add_row("measured", f"{measured['tokens']:,} tokens by {measured['method']}, {bound}")
    shown.add_row("decision", account["decision_id"])
    return shown


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
