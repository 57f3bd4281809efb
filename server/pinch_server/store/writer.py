"""What the drain thread writes into the database: new decisions, and outcomes joined to them by id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Table, and_, bindparam, delete, exists, not_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

from pinch_server.core.decision import Decision, Outcome
from pinch_server.store import rollup
from pinch_server.store.engine import writing
from pinch_server.store.insertion import insert_new
from pinch_server.store.observer import StoreObserver
from pinch_server.store.rows import outcome_row
from pinch_server.store.tables import prune_decisions, waiting_outcomes

_OUTCOME_COLUMNS = tuple(c.name for c in waiting_outcomes.c if c.name not in ("decision_id", "waiting_since"))
_AT_ONCE = 500
_TRIAL_ID = "00000000-0000-7000-8000-000000000000"


class DecisionWriter:
    """Writes batches, each in one transaction; writing one again changes nothing."""

    def __init__(self, engine: Engine, observer: StoreObserver) -> None:
        """Write through `engine` and tell `observer` what came of it."""
        self._engine = engine
        self._observer = observer

    def write(self, decisions: Sequence[Decision], outcomes: Sequence[Outcome], now: int) -> None:
        """Insert the decisions that are not there yet, and set the outcomes.

        An outcome without its decision waits in a table of its own: another worker's journal may hold it.

        Args:
            decisions: Any number of them, in any order.
            outcomes: Any number of them; of several for one decision the latest wins.
            now: Microseconds since the epoch, from when waiting is counted.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database refused; nothing of the batch is in it.
        """
        latest, replaced = _latest(outcomes)
        stored = 0
        changed_at = [decision.created_at for decision in decisions]
        with writing(self._engine) as connection:
            if decisions:
                stored = insert_new(connection, decisions)
            if latest:
                settled = _set_outcomes(connection, latest)
                replaced += settled.replaced
                changed_at += settled.changed_at
                if settled.unmatched:
                    replaced += _keep_waiting(connection, settled.unmatched, now)
            rollup.forget(connection, changed_at)
        self._observer.decisions_stored(stored)
        if replaced:
            self._observer.outcomes_replaced(replaced)

    def try_a_row(self, now: int) -> None:
        """Make sure that the database takes a sound decision and its report; neither stays in it.

        Args:
            now: Microseconds since the epoch.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: It takes none.
        """
        with self._engine.connect() as connection, connection.begin() as transaction:
            insert_new(connection, [_sound_decision(now)])
            _set_outcomes(connection, [outcome_row(Outcome(_TRIAL_ID, now, "DISPATCHED"))])
            transaction.rollback()

    def settle_waiting(self, now: int, grace_us: int) -> None:
        """Give waiting outcomes to decisions that came meanwhile, and give up those that waited too long.

        Args:
            now: Microseconds since the epoch.
            grace_us: How long an outcome may wait, in microseconds.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database refused; nothing changed.
        """
        matched = (
            select(waiting_outcomes)
            .join(prune_decisions, prune_decisions.c.decision_id == waiting_outcomes.c.decision_id)
            .order_by(waiting_outcomes.c.decision_id)
            .limit(_AT_ONCE)
            # A report that takes the place of one of these meanwhile has to wait.
            .with_for_update(of=waiting_outcomes)
        )
        has_come = exists().where(prune_decisions.c.decision_id == waiting_outcomes.c.decision_id)
        # Those whose decision has come since, or that did not fit in, are for the next time.
        expired = and_(waiting_outcomes.c.waiting_since < now - grace_us, not_(has_come))
        with self._engine.connect() as connection:
            # Most of the time nothing waits, and then nothing is locked for it.
            if connection.execute(select(waiting_outcomes.c.decision_id).limit(1)).first() is None:
                return
        replaced = 0
        with writing(self._engine) as connection:
            rows = [dict(row) for row in connection.execute(matched).mappings()]
            if rows:
                for row in rows:
                    del row["waiting_since"]
                settled = _set_outcomes(connection, rows)
                # A later report may have met its decision before the one that waited did.
                replaced = settled.replaced + settled.outdated
                _forget_waiting(connection, rows)
                rollup.forget(connection, settled.changed_at)
            given_up = connection.execute(delete(waiting_outcomes).where(expired)).rowcount
        if replaced:
            self._observer.outcomes_replaced(replaced)
        if given_up:
            self._observer.outcomes_unmatched(given_up)


def _sound_decision(now: int) -> Decision:
    """Return the plainest decision there is."""
    return Decision(
        decision_id=_TRIAL_ID,
        created_at=now,
        request_id=None,
        session_hash=None,
        route="UNSPECIFIED",
        model=None,
        format="unknown",
        pinch_original_tokens=1,
        pinch_final_tokens=1,
        extra_fixed_tokens=0,
        messages=0,
        candidates=0,
        elided=0,
        omitted=0,
        capped=0,
        budget_tokens=1,
        budget_met=True,
        ranking="NOT_NEEDED",
        ranking_reason=None,
        unchanged_reason="within_budget",
        stability="REPLAY",
        trim_style="KEYED",
        dry_run=False,
        latency_us=0,
        settings_fingerprint="",
        pinch_enabled=True,
    )


@dataclass(frozen=True, slots=True)
class _Settled:
    """What became of a batch of reports.

    Attributes:
        replaced: How many took the place of a different, earlier one.
        outdated: How many came too late, for a different and later one was there.
        unmatched: Those whose decision is not there.
        changed_at: When the decisions that they were set on had been made.
    """

    replaced: int
    outdated: int
    unmatched: list[dict[str, Any]]
    changed_at: list[int]


def _latest(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], int]:
    """Keep the latest report for each decision.

    Returns:
        One row for each decision, sorted so that two workers cannot lock each other out, and how many reports
        took the place of a different, earlier one of the same batch.
    """
    rows: dict[str, dict[str, Any]] = {}
    replaced = 0
    for row in map(outcome_row, outcomes):
        earlier = rows.get(row["decision_id"])
        if earlier is None or earlier["reported_at"] <= row["reported_at"]:
            rows[row["decision_id"]] = row
            replaced += earlier is not None and _differ(earlier, row)
    return [rows[decision_id] for decision_id in sorted(rows)], replaced


def _set_outcomes(connection: Connection, rows: list[dict[str, Any]]) -> _Settled:
    """Set outcomes on the decisions that are there."""
    columns = [prune_decisions.c[name] for name in ("decision_id", "created_at", *_OUTCOME_COLUMNS)]
    ids = [row["decision_id"] for row in rows]
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        query = select(*columns).where(prune_decisions.c.decision_id.in_(some))
        query = query.order_by(prune_decisions.c.decision_id).with_for_update()
        found |= {row["decision_id"]: dict(row) for row in connection.execute(query).mappings()}
    changes, unmatched, changed_at, replaced, outdated = [], [], [], 0, 0
    for row in rows:
        there = found.get(row["decision_id"])
        if there is None:
            unmatched.append(row)
        elif _takes_over(there, row):
            changes.append({"decided": row["decision_id"]} | {name: row[name] for name in _OUTCOME_COLUMNS})
            changed_at.append(there["created_at"])
            replaced += there["reported_at"] is not None and _differ(there, row)
        elif there["reported_at"] > row["reported_at"]:
            outdated += _differ(there, row)
    if changes:
        statement = update(prune_decisions).where(prune_decisions.c.decision_id == bindparam("decided"))
        connection.execute(statement.values({name: bindparam(name) for name in _OUTCOME_COLUMNS}), changes)
    return _Settled(replaced, outdated, unmatched, changed_at)


def _takes_over(there: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a report takes the place of what is there; of two in the same microsecond the one seen last."""
    if there["reported_at"] is None or there["reported_at"] < row["reported_at"]:
        return True
    return there["reported_at"] == row["reported_at"] and _differ(there, row)


def _differ(there: dict[str, Any], row: dict[str, Any]) -> bool:
    return any(there[name] != row[name] for name in _OUTCOME_COLUMNS if name != "reported_at")


def _keep_waiting(connection: Connection, rows: list[dict[str, Any]], now: int) -> int:
    """Keep reports until their decisions come; return how many took the place of a different, earlier one."""
    by_id = {row["decision_id"]: row for row in rows}
    replaced = 0
    for start in range(0, len(rows), _AT_ONCE):
        some = list(by_id)[start : start + _AT_ONCE]
        query = select(waiting_outcomes).where(waiting_outcomes.c.decision_id.in_(some))
        query = query.order_by(waiting_outcomes.c.decision_id).with_for_update()
        for there in connection.execute(query).mappings():
            row = by_id[there["decision_id"]]
            replaced += there["reported_at"] <= row["reported_at"] and _differ(dict(there), row)
    insert = _insert(connection, waiting_outcomes)
    later = insert.on_conflict_do_update(
        index_elements=["decision_id"],
        set_={name: insert.excluded[name] for name in _OUTCOME_COLUMNS},
        where=waiting_outcomes.c.reported_at <= insert.excluded.reported_at,
    )
    connection.execute(later, [row | {"waiting_since": now} for row in rows])
    return replaced


def _forget_waiting(connection: Connection, rows: list[dict[str, Any]]) -> None:
    # A newer report that another worker put in its place meanwhile has to stay.
    settled = delete(waiting_outcomes).where(
        waiting_outcomes.c.decision_id == bindparam("settled"),
        waiting_outcomes.c.reported_at == bindparam("reported"),
    )
    connection.execute(settled, [{"settled": r["decision_id"], "reported": r["reported_at"]} for r in rows])


def _insert(connection: Connection, table: Table) -> SqliteInsert | PostgresqlInsert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
