"""Migrations: once, both ways, and refused with words that help."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from pinch_server.store import migrate
from pinch_server.store.engine import open_engine, writing
from pinch_server.store.errors import (
    DatabaseRefused,
    DatabaseUnreachable,
    MigrationFailed,
    SchemaAhead,
    SchemaBehind,
    WrongRevision,
)

_ROOT = Path(__file__).resolve().parents[2]
_UP = "import sys; from pinch_server.store import migrate; print(migrate.up(sys.argv[1]).changed)"


def _execute(url: str, statement: str) -> None:
    engine = open_engine(url, pooled=False)
    with writing(engine) as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_up_and_down_lead_there_and_back(database_url: str) -> None:
    """Up leads to this version's schema, a second up does nothing, and down to base leaves none."""
    assert migrate.up(database_url) == migrate.Migrated(None, migrate.head())
    assert not migrate.up(database_url).changed
    assert migrate.current(database_url) == migrate.head()
    assert migrate.down(database_url, "base") == migrate.Migrated(migrate.head(), None)
    assert migrate.current(database_url) is None
    assert migrate.up(database_url).changed


def test_migrations_lead_to_the_tables_of_the_code(database_url: str) -> None:
    """After up, comparing the database with the tables finds no difference."""
    migrate.up(database_url)
    assert migrate.check(database_url) == ()


def test_check_names_what_differs(database_url: str) -> None:
    """A column that was changed by hand is named."""
    migrate.up(database_url)
    _execute(database_url, "ALTER TABLE prune_decisions ADD COLUMN invented TEXT")
    assert any("invented" in difference for difference in migrate.check(database_url))


def test_current_makes_no_sqlite_file(tmp_path: Path) -> None:
    """Asking for the revision of a SQLite file that is not there does not make it."""
    assert migrate.current(f"sqlite:///{tmp_path}/none.sqlite3") is None
    assert list(tmp_path.iterdir()) == []


def test_four_processes_migrate_once(database_url: str) -> None:
    """Of four processes that migrate at the same time, one does it and the others find it done."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _UP, database_url],
            cwd=_ROOT,
            env={"PYTHONPATH": "server", "PATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=120) for process in processes]
    assert sorted(out for out, _ in answers) == ["False\n"] * 3 + ["True\n"], answers
    assert migrate.check(database_url) == ()


def test_a_start_brings_sqlite_up_to_date(tmp_path: Path) -> None:
    """A SQLite file is migrated on start without being asked, its directory made."""
    url = f"sqlite:///{tmp_path}/new/pinch.sqlite3"
    migrate.ensure_current(url, migrate=False)
    assert migrate.current(url) == migrate.head()


def test_a_start_refuses_postgresql_that_is_behind(postgres_url: str) -> None:
    """PostgreSQL that is behind stops the start with the command to run, unless migrating was asked for."""
    with pytest.raises(SchemaBehind, match="run `pinch migrate up`"):
        migrate.ensure_current(postgres_url, migrate=False)
    assert migrate.current(postgres_url) is None
    migrate.ensure_current(postgres_url, migrate=True)
    migrate.ensure_current(postgres_url, migrate=False)


def test_check_of_a_database_that_is_behind(database_url: str) -> None:
    """Check of a database without a schema says that it is behind."""
    with pytest.raises(SchemaBehind, match="no Pinch schema yet"):
        migrate.check(database_url)


def test_a_database_that_is_ahead_is_left_alone(database_url: str) -> None:
    """A revision that this version does not know is named, and nothing is done."""
    migrate.up(database_url)
    _execute(database_url, "UPDATE alembic_version SET version_num = '9999'")
    for attempt in (
        lambda: migrate.up(database_url),
        lambda: migrate.down(database_url, "-1"),
        lambda: migrate.check(database_url),
        lambda: migrate.ensure_current(database_url, migrate=True),
    ):
        with pytest.raises(SchemaAhead, match="9999"):
            attempt()
    assert migrate.current(database_url) == "9999"


def test_a_migration_that_fails_changes_nothing(database_url: str) -> None:
    """When a step is refused, the steps before it are undone, and the schema can still be made later."""
    _execute(database_url, "CREATE TABLE waiting_outcomes (decision_id TEXT)")
    with pytest.raises(MigrationFailed, match="waiting_outcomes"):
        migrate.up(database_url)
    assert migrate.current(database_url) is None
    _execute(database_url, "DROP TABLE waiting_outcomes")
    assert migrate.up(database_url).changed


def test_an_unknown_revision_is_named(database_url: str) -> None:
    """Migrating to a revision that does not exist is refused by its name, with those that do."""
    for migrated in (migrate.up, migrate.down):
        with pytest.raises(WrongRevision, match=f"'nowhere'.*base, 0001.*{migrate.head()}, head"):
            migrated(database_url, "nowhere")
    assert migrate.current(database_url) is None


def test_steps_are_counted_from_where_the_database_is(database_url: str) -> None:
    """`+2` and `-1` lead from the revision found, and a step beyond either end is refused."""
    assert migrate.up(database_url, "+2") == migrate.Migrated(None, "0002")
    assert migrate.up(database_url, "+1") == migrate.Migrated("0002", "0003")
    assert migrate.down(database_url, "-1") == migrate.Migrated("0003", "0002")
    with pytest.raises(WrongRevision, match="2 steps lead down from 0002, to base"):
        migrate.down(database_url, "-3")
    with pytest.raises(WrongRevision, match=f"lead up from 0002, to {migrate.head()}"):
        migrate.up(database_url, "+99")
    assert migrate.current(database_url) == "0002"


def test_an_unreachable_database_is_said_so_without_its_password(tmp_path: Path) -> None:
    """The error of a database that does not answer names it, but never its password."""
    with pytest.raises(DatabaseUnreachable) as raised:
        migrate.current(f"postgresql://pinch:secret@/pinch?host={tmp_path}")
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database_is_said_so(tmp_path: Path) -> None:
    """A file that SQLite cannot read is named, and left as it was."""
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, " * 100)
    with pytest.raises(DatabaseUnreachable, match=r"notes\.txt: file is not a database"):
        migrate.up(f"sqlite:///{path}")
    assert path.read_text() == "no database at all, " * 100


@pytest.mark.parametrize("url", ["sqlite:////nowhere/x.db", "postgresql://nowhere.invalid/x"])
def test_sql_is_printed_without_a_database(url: str) -> None:
    """The SQL of both directions is made without connecting, in one transaction."""
    upwards = migrate.sql(url)
    assert upwards.startswith("BEGIN")
    assert "CREATE TABLE prune_decisions" in upwards
    assert "COMMIT;" in upwards
    assert "DROP TABLE prune_decisions" in migrate.sql(url, "head:base")


@pytest.mark.parametrize(
    ("revisions", "statement"),
    [
        ("0007:0008", "ADD COLUMN tenant_hash"),
        ("0007:head", "ADD COLUMN tenant_hash"),
        ("base:0001", "CREATE TABLE prune_decisions"),
        ("0008:0007", "DROP COLUMN tenant_hash"),
        ("head:0007", "DROP COLUMN tenant_hash"),
        ("0008:-1", "DROP COLUMN tenant_hash"),
        ("0007:+1", "ADD COLUMN tenant_hash"),
    ],
)
@pytest.mark.parametrize("url", ["sqlite:////nowhere/x.db", "postgresql://nowhere.invalid/x"])
def test_the_sql_between_two_revisions_leads_from_the_first_to_the_second(
    url: str, revisions: str, statement: str
) -> None:
    """Whichever of two revisions is the earlier one, the SQL leads from the first to the second."""
    assert statement in migrate.sql(url, revisions)


def test_the_sql_of_an_unknown_revision_is_refused() -> None:
    """A revision that does not exist is named, wherever it stands, and one that is left out is asked for."""
    for revisions in ("0007:", ":0007", ":"):
        with pytest.raises(WrongRevision, match="give both revisions"):
            migrate.sql("sqlite:////nowhere/x.db", revisions)
    for revisions in ("nothere", "nothere:head", "head:nothere"):
        with pytest.raises(WrongRevision, match=r"nothere.*give one of base, 0001"):
            migrate.sql("sqlite:////nowhere/x.db", revisions)


def test_plain_alembic_works_in_a_checkout(database_url: str) -> None:
    """`alembic upgrade head`, `check` and `downgrade base` work at the top of a checkout."""
    for arguments in (["upgrade", "head"], ["check"], ["downgrade", "base"]):
        done = subprocess.run(
            [sys.executable, "-m", "alembic", *arguments],
            cwd=_ROOT,
            env={"PINCH_STORE__DATABASE_URL": database_url, "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert migrate.current(database_url) is None


@pytest.mark.parametrize("part", ["database", "username"])
def test_a_database_or_user_that_is_not_there_is_no_outage(postgres_url: str, part: str) -> None:
    """A server that answers and lets this user into no such database is told from one out of reach."""
    wrong = make_url(postgres_url).set(**{part: "nobody_knows_it"})
    with pytest.raises(DatabaseRefused, match="nobody_knows_it"):
        migrate.ensure_current(wrong.render_as_string(hide_password=False), migrate=False)
