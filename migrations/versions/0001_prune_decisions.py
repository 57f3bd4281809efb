"""Decisions, and outcomes that wait for theirs.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "prune_decisions",
        sa.Column("decision_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.Text()),
        sa.Column("session_hash", sa.Text()),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("model", sa.Text()),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("pinch_original_tokens", sa.BigInteger()),
        sa.Column("pinch_final_tokens", sa.BigInteger()),
        sa.Column("extra_fixed_tokens", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("candidates", sa.BigInteger(), nullable=False),
        sa.Column("elided", sa.BigInteger(), nullable=False),
        sa.Column("omitted", sa.BigInteger(), nullable=False),
        sa.Column("capped", sa.BigInteger(), nullable=False),
        sa.Column("budget_tokens", sa.BigInteger(), nullable=False),
        sa.Column("budget_met", sa.Boolean(), nullable=False),
        sa.Column("ranking", sa.Text(), nullable=False),
        sa.Column("ranking_reason", sa.Text()),
        sa.Column("unchanged_reason", sa.Text()),
        sa.Column("stability", sa.Text(), nullable=False),
        sa.Column("trim_style", sa.Text(), nullable=False),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("latency_us", sa.BigInteger(), nullable=False),
        sa.Column("settings_fingerprint", sa.Text(), nullable=False),
        sa.Column("pinch_enabled", sa.Boolean(), nullable=False),
        sa.Column("prompt_rate", sa.Text()),
        sa.Column("cached_rate", sa.Text()),
        sa.Column("cache_write_rate", sa.Text()),
        sa.Column("prefix_previous_messages", sa.BigInteger()),
        sa.Column("prefix_matched_messages", sa.BigInteger()),
        sa.Column("prefix_matched_tokens", sa.BigInteger()),
        sa.Column("outcome", sa.Text(), nullable=False, server_default="pending"),
        sa.Column("reported_at", sa.BigInteger()),
        sa.Column("outcome_model", sa.Text()),
        sa.Column("outcome_prompt_tokens", sa.BigInteger()),
        sa.Column("outcome_cached_tokens", sa.BigInteger()),
        sa.Column("outcome_cache_write_tokens", sa.BigInteger()),
        sa.Column("outcome_completion_tokens", sa.BigInteger()),
        sa.Column("outcome_cost_usd", sa.Text()),
        sa.PrimaryKeyConstraint("decision_id", name="pk_prune_decisions"),
    )
    op.create_index(
        "ix_prune_decisions_created_at_decision_id", "prune_decisions", ["created_at", "decision_id"]
    )
    op.create_table(
        "waiting_outcomes",
        sa.Column("decision_id", sa.Text(), nullable=False),
        sa.Column("waiting_since", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reported_at", sa.BigInteger(), nullable=False),
        sa.Column("outcome_model", sa.Text()),
        sa.Column("outcome_prompt_tokens", sa.BigInteger()),
        sa.Column("outcome_cached_tokens", sa.BigInteger()),
        sa.Column("outcome_cache_write_tokens", sa.BigInteger()),
        sa.Column("outcome_completion_tokens", sa.BigInteger()),
        sa.Column("outcome_cost_usd", sa.Text()),
        sa.PrimaryKeyConstraint("decision_id", name="pk_waiting_outcomes"),
    )


def downgrade() -> None:
    """Drop them, and all decisions with them."""
    op.drop_table("waiting_outcomes")
    op.drop_index("ix_prune_decisions_created_at_decision_id", table_name="prune_decisions")
    op.drop_table("prune_decisions")
