"""`pinch migrate` on SQLite."""

import sqlite3
import sys
from pathlib import Path

import pytest

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

    down = invoke("migrate", "down", "base", "--yes", *at)
    assert (down.exit_code, down.stdout) == (0, "")
    assert invoke("migrate", "current", *at).stdout == "none\n"


def test_one_step_down(tmp_path: Path) -> None:
    """`down -1` is a revision, not an option."""
    at = ("--state-dir", str(tmp_path))
    invoke("migrate", "up", *at)
    assert invoke("migrate", "down", "-1", "--yes", *at).exit_code == 0


def test_what_is_stored_goes_only_when_that_is_said(tmp_path: Path) -> None:
    """Without --yes, a way down that loses tables tells their rows, ends with 2 and changes nothing."""
    at = ("--state-dir", str(tmp_path))
    invoke("migrate", "up", *at)
    with sqlite3.connect(tmp_path / "pinch.sqlite3") as database:
        database.execute(
            "INSERT INTO waiting_outcomes (decision_id, waiting_since, outcome, reported_at)"
            " VALUES ('a', 1, 'ok', 1)"
        )
    database.close()
    refused = invoke("migrate", "down", "base", *at)
    assert (refused.exit_code, refused.stdout) == (2, "")
    for words in ("waiting_outcomes (1 row)", "prune_decisions (0 rows)", "nothing has changed", "--yes"):
        assert words in refused.stderr
    assert "alembic" not in refused.stderr
    assert invoke("migrate", "current", *at).stdout == f"{migrate.head()}\n"
    with sqlite3.connect(tmp_path / "pinch.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM waiting_outcomes").fetchone() == (1,)
    database.close()


def test_columns_are_not_lost_in_silence(tmp_path: Path) -> None:
    """A step down that takes columns from a table that stays names them."""
    at = ("--state-dir", str(tmp_path))
    invoke("migrate", "up", "0002", *at)
    refused = invoke("migrate", "down", "0001", *at)
    assert refused.exit_code == 2
    assert "the column prune_decisions.sent_before_tokens" in refused.stderr


def test_every_word_names_the_database(tmp_path: Path) -> None:
    """A mistyped directory is seen at once: standard error has the file's path, and whether it is there."""
    at = ("--state-dir", str(tmp_path))
    missing = invoke("migrate", "current", *at)
    assert (missing.exit_code, missing.stdout) == (0, "none\n")
    assert f"{tmp_path}/pinch.sqlite3: there is no such file" in missing.stderr
    for command in ("up", "up", "current", "check"):
        assert f"{tmp_path}/pinch.sqlite3" in invoke("migrate", command, *at).stderr


def test_a_driver_that_is_not_installed_is_told_with_the_line_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without psycopg, `migrate` and `serve` end with status 2 and the same words."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    at = ("--state-dir", str(tmp_path), "--database-url", "postgresql://pinch@localhost/pinch")
    free = ("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    words = []
    for arguments in (("migrate", "up"), ("migrate", "current"), ("serve", *free)):
        result = invoke(*arguments, *at)
        assert (result.exit_code, result.stdout) == (2, "")
        words.append(result.stderr)
    assert "pip install '.[server,postgres]'" in words[0]
    assert len(set(words)) == 1


def test_sql_is_printed_and_nothing_is_done(tmp_path: Path) -> None:
    """`sql` prints statements that SQLite takes, and makes no file."""
    result = invoke("migrate", "sql", "--state-dir", str(tmp_path))
    assert result.exit_code == 0
    assert list(tmp_path.glob("*.sqlite3")) == []
    assert result.stdout.startswith("-- For SQLite;")
    with sqlite3.connect(":memory:") as memory:
        memory.executescript(result.stdout)
        assert memory.execute("SELECT count(*) FROM prune_decisions").fetchone() == (0,)
    memory.close()


def test_sql_is_for_the_database_of_the_url() -> None:
    """The kind of database stands at the head of the SQL, and the types are its own."""
    heads = {}
    for url in ("sqlite:////var/lib/pinch.db", "postgresql://pinch@db/pinch"):
        result = invoke("migrate", "sql", "--database-url", url)
        assert result.exit_code == 0
        heads[result.stdout.partition(";")[0]] = "BYTEA" in result.stdout
    assert heads == {"-- For SQLite": False, "-- For PostgreSQL": True}


@pytest.mark.parametrize("command", ["up", "down", "sql"])
def test_an_unknown_revision_is_named(command: str, tmp_path: Path) -> None:
    """A revision that does not exist ends with status 2, its name, and the names that would do."""
    result = invoke("migrate", command, "9999", "--state-dir", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "revision '9999': there is no such revision; give one of base, 0001" in result.stderr
    assert f"{migrate.head()}, head" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (("up", "base"), "`pinch migrate down base`"),
        (("down", "+1"), "`pinch migrate up +1`"),
        (("down", "0007"), "`pinch migrate up 0007`"),
        (("down", "head"), "`pinch migrate up head`"),
        (("down", "-3"), "2 steps lead down from 0002, to base"),
        (("up", "+9999"), "lead up from 0002"),
        (("up", ""), "give one of base, 0001"),
        (("up", "+0"), "give one of base, 0001"),
        (("down", "0001+2"), "give one of base, 0001"),
        (("sql", ""), "give one of base, 0001"),
        (("sql", "base"), "FROM:base"),
        (("sql", "-1:head"), "FROM takes no steps"),
        (("sql", "0001:0002:0003"), "no FROM:TO"),
        (("sql", "0002:-3"), "2 steps lead down from 0002, to base"),
        (("sql", "base:-1"), "no steps lead down from base"),
    ],
)
def test_a_way_that_leads_nowhere_is_told_with_the_one_that_does(
    arguments: tuple[str, ...], mend: str, tmp_path: Path
) -> None:
    """A revision on the wrong side, too many steps, or no revision end with status 2 and what to say."""
    at = ("--state-dir", str(tmp_path))
    invoke("migrate", "up", "0002", *at)
    command, revision = arguments
    result = invoke("migrate", command, *at, "--", revision)
    assert (result.exit_code, result.stdout) == (2, "")
    assert mend in result.stderr
    assert invoke("migrate", "current", *at).stdout == "0002\n"


@pytest.mark.parametrize(
    ("arguments", "status"), [(("up", "9999"), 2), (("down", "9999"), 2), (("down", "base"), 0)]
)
def test_no_file_is_made_for_nothing(arguments: tuple[str, ...], status: int, tmp_path: Path) -> None:
    """A revision that is refused, and a way down from nothing, leave no directory and no file behind."""
    result = invoke("migrate", *arguments, "--state-dir", str(tmp_path / "mistyped"))
    assert result.exit_code == status
    assert list(tmp_path.iterdir()) == []


def test_the_sql_between_a_revision_and_itself_is_none() -> None:
    """Where FROM and TO are one revision a comment says so, and no empty transaction is printed."""
    for same in ("head:head", "0003:0003", f"{migrate.head()}:head"):
        result = invoke("migrate", "sql", same)
        assert (result.exit_code, "same revision" in result.stdout) == (0, True)
        assert all(line.startswith("--") for line in result.stdout.splitlines())


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
