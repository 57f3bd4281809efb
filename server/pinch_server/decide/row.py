"""The row of one decision: numbers, names and hashes of what was asked, read and planned."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from pinch_server.core.conversation import ImagePart
from pinch_server.core.decision import Decision, Trim
from pinch_server.core.limits import Limits
from pinch_server.core.moments import unix_micros
from pinch_server.core.plan import Edit, Plan
from pinch_server.core.probe import PrefixMatch
from pinch_server.core.resending import Removed, resending
from pinch_server.core.session import tenant_hash
from pinch_server.decide.call import Body, PruneCall
from pinch_server.decide.reading import ReadCall

MOST_TRIMS: Final = 500
"""The most trims of one decision that are stored, the latest of the conversation."""
_TOOL: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
STORED_CHARS: Final = 256
"""Where a name that a caller made up is cut before it is stored (characters)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator has set.

    Attributes:
        limits: The limits of a call that sets none.
        is_enabled: Whether anything is pruned at all.
        fingerprint: A short hash of the settings that shape plans.
        session_key: The key of the session hash.
        probes_prefix: Whether each payload is compared with the session's last one.
        keeps_receipts: Whether a decision is stored with the place, tool, reason and sizes of each trim.
    """

    limits: Limits
    is_enabled: bool
    fingerprint: str
    session_key: bytes
    probes_prefix: bool = True
    keeps_receipts: bool = True


def decision_row(
    call: PruneCall,
    read: ReadCall,
    plan: Plan,
    policy: Policy,
    *,
    decision_id: str,
    now: datetime,
    seconds: float,
    session: str | None = None,
    prefix: PrefixMatch | None = None,
    removed: Removed | None = None,
    is_told: bool = False,
) -> Decision:
    """Everything that is remembered of one call.

    Args:
        call: The call as it came.
        read: The call as it was read.
        plan: What was decided.
        policy: What the operator has set.
        decision_id: The decision's id.
        now: When it was made.
        seconds: Time since the call arrived (seconds).
        session: The hash of its session; None without one.
        prefix: How much of the session's previous payload it repeats; None where nobody looked.
        removed: What the plan's edits take away; None to count it.
        is_told: Whether the receipt of an earlier call of the session tells just these edits.
    """
    stats, context, limits = plan.stats, call.context, read.limits
    conversation = read.conversation
    sent = None
    if conversation is not None and plan.edits:
        chars = read.tally.chars if read.tally else None
        sent = resending(conversation, plan, stats.fixed_tokens, chars, removed)
    return Decision(
        decision_id=decision_id,
        created_at=unix_micros(now),
        request_id=stored_text(context.request_id),
        session_hash=session,
        route=context.route,
        model=stored_text(context.model),
        format=_format(call, read),
        pinch_original_tokens=stats.original_tokens if policy.is_enabled else None,
        pinch_final_tokens=stats.final_tokens if policy.is_enabled else None,
        extra_fixed_tokens=stats.fixed_tokens,
        messages=len(read.conversation.messages) if read.conversation else 0,
        candidates=stats.candidates,
        elided=stats.elided,
        omitted=stats.omitted,
        capped=stats.capped,
        budget_tokens=limits.budget_tokens,
        budget_met=stats.budget_met,
        ranking=stats.ranking.name,
        ranking_reason=stats.ranking_reason or None,
        unchanged_reason=plan.unchanged_reason or None,
        stability=limits.stability.name,
        trim_style=limits.trim_style.name,
        dry_run=call.dry_run,
        latency_us=round(seconds * 1e6),
        prompt_rate=context.prompt_rate or None,
        cached_rate=context.cached_rate or None,
        cache_write_rate=context.cache_write_rate or None,
        sent_before_tokens=sent.sent_before_tokens if sent else None,
        unchanged_prefix_tokens=sent.unchanged_prefix_tokens if sent else None,
        prefix_previous_messages=prefix.previous_messages if prefix else None,
        prefix_matched_messages=prefix.matching_messages if prefix else None,
        prefix_matched_tokens=prefix.matching_tokens if prefix else None,
        trimmed_tools=_by_tool(plan.edits) if policy.keeps_receipts else None,
        tenant_hash=tenant_hash(context.tenant, policy.session_key),
        cache_ttl_seconds=context.cache.ttl_seconds,
        trims=() if is_told or not policy.keeps_receipts else tuple(map(_trim, plan.edits[-MOST_TRIMS:])),
        settings_fingerprint=policy.fingerprint,
        pinch_enabled=policy.is_enabled,
    )


def _trim(edit: Edit) -> Trim:
    return Trim(
        edit.message,
        edit.block,
        edit.old.index,
        _tool(edit.tool),
        edit.action,
        edit.reason,
        edit.is_new,
        edit.event_message,
        0 if isinstance(edit.old, ImagePart) else len(edit.old.text),
        len(edit.new),
        edit.tokens_before,
        edit.tokens_after,
        edit.is_extracted,
    )


def _by_tool(edits: Sequence[Edit]) -> str | None:
    """How many results of each tool were trimmed for the first time; a result of several parts is one."""
    places = {(edit.message, edit.block): _tool(edit.tool) or "other" for edit in edits if edit.is_new}
    if not places:
        return None
    return ",".join(f"{tool} {count}" for tool, count in sorted(Counter(places.values()).items()))


@lru_cache(maxsize=1024)
def _tool(name: str) -> str:
    # A tool's name is a word; what else comes as one may be somebody's text.
    return name if _TOOL.fullmatch(name) else ""


def stored_text(text: str) -> str | None:
    """A name that a caller made up, as it is stored: cut at `STORED_CHARS`; None when it is empty."""
    return text[:STORED_CHARS] or None


def _format(call: PruneCall, read: ReadCall) -> str:
    if read.reading is not None:
        return read.reading.dialect.format
    if isinstance(call.conversation, Body):
        return call.conversation.format or "unknown"
    return "chat"
