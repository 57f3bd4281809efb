"""The tables of the database; migrations/ must lead to exactly these.

Text columns have no length limit and counts are 64 bits wide: a value that a caller made up must never make
the database refuse a decision that was already acknowledged.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, MetaData, Table, Text

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

PENDING = "pending"

prune_decisions = Table(
    "prune_decisions",
    metadata,
    Column("decision_id", Text, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("request_id", Text),
    Column("session_hash", Text),
    Column("route", Text, nullable=False),
    Column("model", Text),
    Column("format", Text, nullable=False),
    Column("pinch_original_tokens", BigInteger),
    Column("pinch_final_tokens", BigInteger),
    Column("extra_fixed_tokens", BigInteger, nullable=False),
    Column("messages", BigInteger, nullable=False),
    Column("candidates", BigInteger, nullable=False),
    Column("elided", BigInteger, nullable=False),
    Column("omitted", BigInteger, nullable=False),
    Column("capped", BigInteger, nullable=False),
    Column("budget_tokens", BigInteger, nullable=False),
    Column("budget_met", Boolean, nullable=False),
    Column("ranking", Text, nullable=False),
    Column("ranking_reason", Text),
    Column("unchanged_reason", Text),
    Column("stability", Text, nullable=False),
    Column("trim_style", Text, nullable=False),
    Column("dry_run", Boolean, nullable=False),
    Column("latency_us", BigInteger, nullable=False),
    Column("settings_fingerprint", Text, nullable=False),
    Column("pinch_enabled", Boolean, nullable=False),
    Column("prompt_rate", Text),
    Column("cached_rate", Text),
    Column("cache_write_rate", Text),
    Column("prefix_previous_messages", BigInteger),
    Column("prefix_matched_messages", BigInteger),
    Column("prefix_matched_tokens", BigInteger),
    Column("outcome", Text, nullable=False, server_default=PENDING),
    Column("reported_at", BigInteger),
    Column("outcome_model", Text),
    Column("outcome_prompt_tokens", BigInteger),
    Column("outcome_cached_tokens", BigInteger),
    Column("outcome_cache_write_tokens", BigInteger),
    Column("outcome_completion_tokens", BigInteger),
    Column("outcome_cost_usd", Text),
    Index(None, "created_at", "decision_id"),
)

# Reports whose decision is not in the database yet, because another worker's journal still holds it.
waiting_outcomes = Table(
    "waiting_outcomes",
    metadata,
    Column("decision_id", Text, primary_key=True),
    Column("waiting_since", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reported_at", BigInteger, nullable=False),
    Column("outcome_model", Text),
    Column("outcome_prompt_tokens", BigInteger),
    Column("outcome_cached_tokens", BigInteger),
    Column("outcome_cache_write_tokens", BigInteger),
    Column("outcome_completion_tokens", BigInteger),
    Column("outcome_cost_usd", Text),
)
