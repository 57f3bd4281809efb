"""Vectors that came from an embedding endpoint.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make the table and the index by age."""
    op.create_table(
        "embedding_vectors",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_embedding_vectors"),
    )
    op.create_index("ix_embedding_vectors_created_at", "embedding_vectors", ["created_at"])


def downgrade() -> None:
    """Drop it: vectors can be asked for again."""
    op.drop_table("embedding_vectors")
