"""What filters left of tool results, what they cost, and originals of trimmed results.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make the tables and their indices by age."""
    op.create_table(
        "extraction_texts",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_extraction_texts"),
    )
    op.create_index("ix_extraction_texts_used_at", "extraction_texts", ["used_at"])
    op.create_table(
        "extraction_forms",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_extraction_forms"),
    )
    op.create_index("ix_extraction_forms_created_at", "extraction_forms", ["created_at"])
    op.create_table(
        "extraction_spend",
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("nanos", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_extraction_spend"),
    )
    op.create_table(
        "originals",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expanded_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_originals"),
    )
    op.create_index("ix_originals_created_at", "originals", ["created_at"])


def downgrade() -> None:
    """Drop them: results are elided again, and originals are to be had from the tools."""
    for table in ("originals", "extraction_spend", "extraction_forms", "extraction_texts"):
        op.drop_table(table)
