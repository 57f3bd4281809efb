"""Sizes of originals in the index by age, so that adding them up reads no text.

Revision ID: 0007
Revises: 0006
"""

from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make the index with the sizes in the place of the one without."""
    op.drop_index("ix_originals_created_at", "originals")
    op.create_index("ix_originals_created_at_key_size", "originals", ["created_at", "key", "size"])


def downgrade() -> None:
    """Make the index without them again."""
    op.drop_index("ix_originals_created_at_key_size", "originals")
    op.create_index("ix_originals_created_at", "originals", ["created_at"])
