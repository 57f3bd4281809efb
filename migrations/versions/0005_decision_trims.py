"""Which results each decision trimmed: places, tools, reasons and sizes, never a text.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """Make the table, and the column that counts new trims by tool."""
    op.add_column("prune_decisions", sa.Column("trimmed_tools", sa.Text()))
    op.create_table(
        "decision_trims",
        sa.Column("decision_id", sa.Text(), nullable=False),
        sa.Column("trims", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("decision_id", name="pk_decision_trims"),
        sa.ForeignKeyConstraint(
            ["decision_id"],
            ["prune_decisions.decision_id"],
            name="fk_decision_trims_prune_decisions",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    """Drop both: a decision is whole without them."""
    op.drop_table("decision_trims")
    op.drop_column("prune_decisions", "trimmed_tools")
