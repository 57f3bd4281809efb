"""A receipt as coloured lines: each trimmed result by its message, with what was done and why."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

_ACTIONS: Final = {"elided": "shortened", "omitted": "placeholder", "capped": "capped"}
_COLOURS: Final = {"elided": "yellow", "omitted": "magenta", "capped": "cyan"}
_REASONS: Final = {
    "outside_window": "older than the protected turns",
    "contraction": "older than the protected rounds",
    "outsized": "outsized",
    "fresh_outsized": "outsized, though among the newest",
    "duplicate": "the same as another result",
    "superseded": "a newer result took its place",
    "arrival": "outsized on arrival",
}
_BAR: Final = 12
_HEAD: Final = ("message", "tool", "what", "why", "before", "after", "left", "decided")


def receipt_lines(trims: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a receipt, a head above them.

    Args:
        trims: Edits or trimmed parts under the names of the API, in the order of the conversation.
    """
    # Edits do not name their tools.
    names = [name for name in _HEAD if name != "tool" or any(trim.get("tool") for trim in trims)]
    rows = [_row(trim) for trim in trims]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    yield click.style("  ".join(_aligned(name, name, widths) for name in names).rstrip(), bold=True)
    for trim, row in zip(trims, rows, strict=True):
        cells = {name: _aligned(name, row[name], widths) for name in names}
        cells["what"] = click.style(cells["what"], fg=_COLOURS.get(trim["action"].lower()))
        cells["left"] = click.style(cells["left"], fg="green")
        if not trim["is_new"]:
            cells["decided"] = click.style(cells["decided"], dim=True)
        yield "  ".join(cells.values()).rstrip()


def _row(trim: Mapping[str, Any]) -> dict[str, str]:
    before, after = trim["tokens_before"], trim["tokens_after"]
    filled = round(_BAR * min(after / before, 1.0)) if before else 0
    place = str(trim["message_index"])
    if trim.get("block_index") is not None:
        place += f".{trim['block_index']}"
    action, reason = trim["action"].lower(), trim["reason"]
    return {
        "message": place,
        "tool": trim.get("tool") or "-",
        "what": "filtered" if trim.get("extracted") else _ACTIONS.get(action, action),
        "why": _REASONS.get(reason, reason.replace("_", " ")),
        "before": f"{before:,}",
        "after": f"{after:,}",
        "left": "█" * filled + "░" * (_BAR - filled),
        "decided": "now" if trim["is_new"] else f"before message {trim['event_message_index']}",
    }


def _aligned(name: str, cell: str, widths: Mapping[str, int]) -> str:
    return cell.rjust(widths[name]) if name in ("message", "before", "after") else cell.ljust(widths[name])
