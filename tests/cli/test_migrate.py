"""`pinch migrate` on SQLite."""

import sqlite3
from pathlib import Path

from pinch_server.store import migrate
from tests.cli.commands import invoke


def test_up_current_check_down(tmp_path: Path) -> None:
    """The way up and back: each command says where the database is."""
    at = ("--state-dir", str(tmp_path))
    assert invoke("migrate", "current", *at).stdout == "none\n"
    behind = invoke("migrate", "check", *at)
    assert behind.exit_code == 1
    assert "pinch migrate up" in behind.stderr

    assert invoke("migrate", "up", *at).exit_code == 0
    assert invoke("migrate", "current", *at).stdout == f"{migrate.head()}\n"
    assert invoke("migrate", "check", *at).exit_code == 0
    assert "Nothing to do" in invoke("migrate", "up", *at).stderr

    down = invoke("migrate", "down", "base", *at)
    assert (down.exit_code, down.stdout) == (0, "")
    assert invoke("migrate", "current", *at).stdout == "none\n"


def test_one_step_down(tmp_path: Path) -> None:
    """`down -1` is a revision, not an option."""
    at = ("--state-dir", str(tmp_path))
    invoke("migrate", "up", *at)
    assert invoke("migrate", "down", "-1", *at).exit_code == 0


def test_sql_is_printed_and_nothing_is_done(tmp_path: Path) -> None:
    """`sql` prints statements that SQLite takes, and makes no file."""
    result = invoke("migrate", "sql", "--state-dir", str(tmp_path))
    assert result.exit_code == 0
    assert list(tmp_path.glob("*.sqlite3")) == []
    with sqlite3.connect(":memory:") as memory:
        memory.executescript(result.stdout)
        assert memory.execute("SELECT count(*) FROM prune_decisions").fetchone() == (0,)
    memory.close()


def test_an_unknown_revision_is_named(tmp_path: Path) -> None:
    """A revision that does not exist ends with status 1 and its name."""
    result = invoke("migrate", "up", "9999", "--state-dir", str(tmp_path))
    assert result.exit_code == 1
    assert "9999" in result.stderr


def test_a_foreign_database_is_refused() -> None:
    """A URL of another database ends with status 2 and is told as the option that held it."""
    result = invoke("migrate", "up", "--database-url", "mysql://root:pa55word@host/db")
    assert result.exit_code == 2
    assert "--database-url" in result.stderr
    assert "pa55word" not in result.output


def test_a_database_out_of_reach_is_told_without_its_password(tmp_path: Path) -> None:
    """An unreachable PostgreSQL ends with status 1, and its password stays unsaid."""
    url = f"postgresql://pinch:pa55word@/pinch?host={tmp_path}"
    result = invoke("migrate", "current", "--database-url", url)
    assert result.exit_code == 1
    assert "cannot open the database" in result.stderr
    assert "pa55word" not in result.output
