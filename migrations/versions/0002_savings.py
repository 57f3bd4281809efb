"""Savings by the hour and the day, and indexes for what decisions are looked up by.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: None = None
depends_on: None = None

_PERIOD = ("length", "start")
_SUMS = ("route", "model", "format", "prompt_rate", "cached_rate", "cache_write_rate", "priced_model")
_SUMMED = (
    "calls",
    "pruned_calls",
    "tokens_saved",
    "measured_tokens",
    "cached_parts",
    "induced_tokens",
)


def upgrade() -> None:
    """Make the tables, the columns that tell induced cache writes, and the indexes."""
    for column in ("sent_before_tokens", "unchanged_prefix_tokens"):
        op.add_column("prune_decisions", sa.Column(column, sa.BigInteger()))
    op.create_index("ix_prune_decisions_request_id", "prune_decisions", ["request_id"])
    op.create_index(
        "ix_prune_decisions_session_hash_created_at_decision_id",
        "prune_decisions",
        ["session_hash", "created_at", "decision_id"],
    )
    op.create_table(
        "savings_periods",
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _PERIOD),
        sa.PrimaryKeyConstraint(*_PERIOD, name="pk_savings_periods"),
    )
    op.create_table(
        "savings_sums",
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _PERIOD),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _SUMS),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _SUMMED),
        sa.PrimaryKeyConstraint(*_PERIOD, *_SUMS, name="pk_savings_sums"),
        _of_a_period("savings_sums"),
    )
    op.create_table(
        "savings_values",
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _PERIOD),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("route", "model", "format")),
        sa.Column("digits", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(*_PERIOD, "route", "model", "format", "digits", name="pk_savings_values"),
        _of_a_period("savings_values"),
    )


def downgrade() -> None:
    """Drop them; the decisions stay, without the two columns."""
    op.drop_table("savings_values")
    op.drop_table("savings_sums")
    op.drop_table("savings_periods")
    op.drop_index("ix_prune_decisions_session_hash_created_at_decision_id", table_name="prune_decisions")
    op.drop_index("ix_prune_decisions_request_id", table_name="prune_decisions")
    for column in ("unchanged_prefix_tokens", "sent_before_tokens"):
        op.drop_column("prune_decisions", column)


def _of_a_period(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        _PERIOD,
        [f"savings_periods.{name}" for name in _PERIOD],
        name=f"fk_{table}_savings_periods",
        ondelete="CASCADE",
    )
