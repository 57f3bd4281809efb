"""The tables of the database; migrations/ must lead to exactly these.

Text columns have no length limit and counts are 64 bits wide: a value that a caller made up must never make
the database refuse a decision that was already acknowledged.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
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
    Column("sent_before_tokens", BigInteger),
    Column("unchanged_prefix_tokens", BigInteger),
    Column("trimmed_tools", Text),
    Column("tenant_hash", Text),
    Column("cache_ttl_seconds", BigInteger),
    Column("outcome", Text, nullable=False, server_default=PENDING),
    Column("reported_at", BigInteger),
    Column("outcome_model", Text),
    Column("outcome_prompt_tokens", BigInteger),
    Column("outcome_cached_tokens", BigInteger),
    Column("outcome_cache_write_tokens", BigInteger),
    Column("outcome_completion_tokens", BigInteger),
    Column("outcome_cost_usd", Text),
    Index(None, "created_at", "decision_id"),
    Index(None, "request_id"),
    Index(None, "session_hash", "created_at", "decision_id"),
)

# A decision's receipt, as a JSON array of core.decision.Trim; apart, so that lists and sums do not read it.
decision_trims = Table(
    "decision_trims",
    metadata,
    Column("decision_id", Text, primary_key=True),
    Column("trims", Text, nullable=False),
    ForeignKeyConstraint(["decision_id"], ["prune_decisions.decision_id"], ondelete="CASCADE"),
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

# Whole hours and days whose calls are added up in the two tables below: what is not named here has to be read
# from the decisions. Both times are in microseconds; deleting a period deletes its sums and values.
savings_periods = Table(
    "savings_periods",
    metadata,
    Column("length", BigInteger, primary_key=True),
    Column("start", BigInteger, primary_key=True),
)


def _of_a_period() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["length", "start"], ["savings_periods.length", "savings_periods.start"], ondelete="CASCADE"
    )


# What core.savings.Sums holds, for calls that are priced and filtered alike; empty text for what was not give
savings_sums = Table(
    "savings_sums",
    metadata,
    Column("length", BigInteger, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("route", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("format", Text, primary_key=True),
    Column("prompt_rate", Text, primary_key=True),
    Column("cached_rate", Text, primary_key=True),
    Column("cache_write_rate", Text, primary_key=True),
    Column("priced_model", Text, primary_key=True),
    Column("calls", BigInteger, nullable=False),
    Column("pruned_calls", BigInteger, nullable=False),
    Column("tokens_saved", BigInteger, nullable=False),
    Column("measured_tokens", BigInteger, nullable=False),
    Column("cached_parts", BigInteger, nullable=False),
    Column("induced_tokens", BigInteger, nullable=False),
    _of_a_period(),
)

# What each pruned call saved, for the median: sorted, apart by the number of their binary digits.
savings_values = Table(
    "savings_values",
    metadata,
    Column("length", BigInteger, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("route", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("format", Text, primary_key=True),
    Column("digits", BigInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("tokens", LargeBinary, nullable=False),
    _of_a_period(),
)

# What the calls of an hour did, as a JSON object of counts by name (store.activity); days have none.
activity_hours = Table(
    "activity_hours",
    metadata,
    Column("length", BigInteger, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("counts", Text, nullable=False),
    _of_a_period(),
)

# What an embedding endpoint answered: the key names the model and the text, the vector is float16.
embedding_vectors = Table(
    "embedding_vectors",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "created_at"),
)

# What a filter left of a tool result, by tenant, content and all that shaped it; no text where that was
# refused. It is conversation text: there is none unless extraction was switched on.
extraction_texts = Table(
    "extraction_texts",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("text", Text),
    Column("reason", Text, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    Index(None, "used_at"),
)

# The form in which a trimmed result of a history was first sent, for good: a filter's text, or none for the
# elision.
extraction_forms = Table(
    "extraction_forms",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("text", Text),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "created_at"),
)

# What the calls to the extraction model cost on a day (UTC, 2026-01-31), in billionths of a dollar.
extraction_spend = Table(
    "extraction_spend",
    metadata,
    Column("day", Text, primary_key=True),
    Column("nanos", BigInteger, nullable=False),
)

# Originals of trimmed results, encrypted; the key is a keyed hash of tenant and text.
originals = Table(
    "originals",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expanded_at", BigInteger),
    # With the sizes, so that adding them up reads no text.
    Index(None, "created_at", "key", "size"),
)
