"""What is remembered of one Prune: numbers, names and hashes, never a word of the conversation."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

OutcomeName = Literal["DISPATCHED", "REJECTED", "FAILED"]


class Trim(NamedTuple):
    """One part of a tool result that differs from what came: where, why and how large, never its text.

    Attributes:
        message: Zero-based index of its message.
        block: Zero-based index of its block in the message; None where the whole message is the result.
        part: Zero-based index of the part in the result's content; None where that is one text.
        tool: The tool, when its name is one; else empty.
        action: What was done, as `core.plan.Action` spells it.
        reason: Why, as `core.plan.Reason` spells it.
        is_new: Whether it was first made in this call.
        event_message: The number of messages that stood before the point at which it was decided.
        chars_before: Its length as it came (characters).
        chars_after: Its length as it shipped (characters).
        tokens_before: Its estimated size as it came (tokens).
        tokens_after: Its estimated size as it shipped (tokens).
        is_extracted: Whether what shipped is what a model-written filter left.
    """

    message: int
    block: int | None
    part: int | None
    tool: str
    action: str
    reason: str
    is_new: bool
    event_message: int
    chars_before: int
    chars_after: int
    tokens_before: int
    tokens_after: int
    is_extracted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """One complete row of `prune_decisions`: all that was measured while one call was answered.

    Attributes:
        decision_id: UUIDv7 in its canonical text form; unique.
        created_at: When the decision was made, in microseconds since the Unix epoch, UTC.
        request_id: The router's own name for the call, when it gave one; cut at 256 characters.
        session_hash: Keyed hash of the session id; the id itself is never kept.
        route: ROUTED, PASSTHROUGH, or UNSPECIFIED when the router did not tell.
        model: The model named by the caller, when it named one; cut at 256 characters.
        format: The wire dialect of the conversation, `chat` for typed messages.
        pinch_original_tokens: Estimated tokens that came in, fixed ones included; None when disabled.
        pinch_final_tokens: Estimated tokens that went out, fixed ones included; None when disabled.
        extra_fixed_tokens: Tokens outside the messages (tool definitions) included in both figures above.
        messages: Messages in the conversation.
        candidates: Tool results that were allowed to be trimmed.
        elided: Tool results shortened in the middle.
        omitted: Tool results replaced by a placeholder.
        capped: Protected results cut down because they were outsized.
        budget_tokens: The budget in force, in tokens.
        budget_met: Whether what went out is within the budget.
        ranking: How candidates were ordered: HYBRID, COSINE, LEXICAL, UNIFORM or NOT_NEEDED.
        ranking_reason: Why a lesser ranking than the configured one was used.
        unchanged_reason: Why a conversation came back unchanged although pruning was on.
        stability: The stability mode in force.
        trim_style: The trim style in force.
        dry_run: True when the plan was made but not applied.
        latency_us: Time in the use case, from the call's arrival there until this row was made, in
            microseconds; keeping the row, writing the reply and the wire come on top.
        prompt_rate: USD per million prompt tokens, as a decimal string.
        cached_rate: USD per million cached prompt tokens, as a decimal string.
        cache_write_rate: USD per million cache-written tokens, as a decimal string.
        prefix_previous_messages: Messages of this session's previous payload.
        prefix_matched_messages: How many of those still match this payload from the start.
        prefix_matched_tokens: Tokens before the first difference.
        sent_before_tokens: Tokens of what went out that an earlier call of the same session had sent already:
            all before the newest answer of the model.
        unchanged_prefix_tokens: Tokens of what went out before the first message that was trimmed for the
            first time in this call; None when none was.
        trimmed_tools: Results trimmed for the first time by tool, as `bash 3,grep 1`; None without any.
        trims: What differs from what came, in the order of the messages; empty where the receipt is not kept.
        tenant_hash: Keyed hash of whose call it was; None where callers are not told apart.
        cache_ttl_seconds: How long the caller said that the provider keeps a prefix (seconds).
        settings_fingerprint: Short hash of the settings that shaped the plan.
        pinch_enabled: Whether pruning was switched on.
    """

    decision_id: str
    created_at: int
    request_id: str | None
    session_hash: str | None
    route: str
    model: str | None
    format: str
    pinch_original_tokens: int | None
    pinch_final_tokens: int | None
    extra_fixed_tokens: int
    messages: int
    candidates: int
    elided: int
    omitted: int
    capped: int
    budget_tokens: int
    budget_met: bool
    ranking: str
    ranking_reason: str | None
    unchanged_reason: str | None
    stability: str
    trim_style: str
    dry_run: bool
    latency_us: int
    settings_fingerprint: str
    pinch_enabled: bool
    prompt_rate: str | None = None
    cached_rate: str | None = None
    cache_write_rate: str | None = None
    prefix_previous_messages: int | None = None
    prefix_matched_messages: int | None = None
    prefix_matched_tokens: int | None = None
    sent_before_tokens: int | None = None
    unchanged_prefix_tokens: int | None = None
    trimmed_tools: str | None = None
    tenant_hash: str | None = None
    cache_ttl_seconds: int | None = None
    trims: tuple[Trim, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the router says became of a decision.

    Attributes:
        decision_id: The decision it belongs to.
        reported_at: When the report arrived, in microseconds since the Unix epoch; the latest report wins.
        outcome: DISPATCHED, REJECTED (never sent to a model) or FAILED.
        model: The model the router selected; cut at 256 characters.
        prompt_tokens: Prompt tokens the provider billed, cached ones included.
        cached_tokens: Prompt tokens the provider read from its cache.
        cache_write_tokens: Prompt tokens the provider wrote to its cache.
        completion_tokens: Tokens the model wrote.
        cost_usd: Cost of the call in USD, as a decimal string.
    """

    decision_id: str
    reported_at: int
    outcome: OutcomeName
    model: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: str | None = None
