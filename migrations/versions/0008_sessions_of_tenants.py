"""Whose session a decision belongs to, and how long its caller said that a provider's cache holds.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Add both columns, empty for the decisions that there are."""
    op.add_column("prune_decisions", sa.Column("tenant_hash", sa.Text()))
    op.add_column("prune_decisions", sa.Column("cache_ttl_seconds", sa.BigInteger()))


def downgrade() -> None:
    """Drop both: a decision is whole without them."""
    op.drop_column("prune_decisions", "cache_ttl_seconds")
    op.drop_column("prune_decisions", "tenant_hash")
