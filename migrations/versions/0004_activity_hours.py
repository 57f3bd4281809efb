"""What each hour's calls did, for the dashboard's plots.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make the table, and have every period added up again, so that none is without its activity."""
    op.create_table(
        "activity_hours",
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("length", "start", name="pk_activity_hours"),
        sa.ForeignKeyConstraint(
            ["length", "start"],
            ["savings_periods.length", "savings_periods.start"],
            name="fk_activity_hours_savings_periods",
            ondelete="CASCADE",
        ),
    )
    # Children first, for a connection that does not enforce foreign keys.
    for name in ("savings_values", "savings_sums", "savings_periods"):
        op.execute(sa.table(name).delete())


def downgrade() -> None:
    """Drop it: an older version adds up without it."""
    op.drop_table("activity_hours")
