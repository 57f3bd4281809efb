"""`pinch prune` with many files."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import invoke
from tests.rpc.conversations import body

SMALL = ("--limit", "budget_tokens=2000", "--limit", "keep_last_turns=1")


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    """Three files, of which the second is no JSON."""
    contents = {"one.json": body(), "two.json": b"nope", "three.json": body()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return [str(tmp_path / name) for name in contents]


def test_one_that_fails_does_not_stop_the_others(names: list[str], tmp_path: Path) -> None:
    """Each good file is written under its own name; the bad one is named, and the status is 1."""
    out, stats = tmp_path / "out", tmp_path / "stats.json"
    result = invoke("prune", *names, *SMALL, "--out-dir", str(out), "--stats", str(stats))
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert sorted(path.name for path in out.iterdir()) == ["one.json", "three.json"]
    alone = invoke("prune", names[0], *SMALL).stdout_bytes
    assert (out / "one.json").read_bytes() == (out / "three.json").read_bytes() == alone
    assert "1 of 3 files failed" in result.stderr
    assert f"\n{names[1]}: is not JSON" in result.stderr
    assert "Pruning" not in result.stderr, "the progress bar is for terminals"

    told = json.loads(stats.read_bytes())
    assert [one["file"] for one in told] == names
    assert [set(one) - {"file"} for one in told][1] == {"problems"}
    assert told[0]["stats"]["pruned"] is True


def test_wrong_options_stop_it_before_anything_is_written(names: list[str], tmp_path: Path) -> None:
    """What is wrong with the options is told once, then what is wrong with each file, with status 2."""
    out = tmp_path / "out"
    limits = ("--limit", "budget_tokens=0", "--limit", "min_gain=much")
    result = invoke("prune", *names, *limits, "--out-dir", str(out))
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    first, second, third = result.stderr.splitlines()
    assert first.startswith("limits.min_gain: ")
    assert second.startswith("limits.budget_tokens: ")
    assert third.startswith(f"{names[1]}: is not JSON")
    assert not out.exists()


def test_a_file_that_cannot_be_read_is_named_once(names: list[str], tmp_path: Path) -> None:
    """A missing file's line begins with its name, which does not stand there twice."""
    missing = str(tmp_path / "missing.json")
    result = invoke("prune", names[0], missing, "--out-dir", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert f"\n{missing}: cannot be read: " in result.stderr
    assert result.stderr.count(missing) == 1


def test_the_table_fits_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the names, no line is longer than the terminal, and the sizes stay whole."""
    monkeypatch.setenv("COLUMNS", "80")
    names = [str(tmp_path / f"{'a-long-name-' * 8}{number}.json") for number in range(2)]
    for name in names:
        Path(name).write_bytes(body())
    result = invoke("prune", *names, "--out-dir", str(tmp_path / "out"))
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert str(tmp_path) not in result.stderr
    for words in ("before", "after", "saved", "budget", "it is within its budget"):
        assert words in " ".join(result.stderr.split())


def test_good_files_end_with_status_0(names: list[str], tmp_path: Path) -> None:
    """When every file works out, the status is 0."""
    result = invoke("prune", names[0], names[2], *SMALL, "--out-dir", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "failed" not in result.stderr


def test_several_files_need_a_directory(names: list[str]) -> None:
    """Several bodies cannot share standard output."""
    result = invoke("prune", *names)
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "--out-dir" in result.stderr


def test_nothing_is_written_over(names: list[str], tmp_path: Path) -> None:
    """Files of one name, and a directory that holds an input, are refused before anything is written."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.json").write_bytes(body())
    out = tmp_path / "out"
    clash = invoke("prune", names[0], str(tmp_path / "other" / "one.json"), "--out-dir", str(out))
    assert clash.exit_code == 2
    assert not out.exists()
    own = invoke("prune", *names, "--out-dir", str(tmp_path))
    assert own.exit_code == 2
    assert "written over itself" in own.stderr
    assert Path(names[0]).read_bytes() == body()


@pytest.mark.parametrize(
    "options", [["-", "--out-dir", "out"], ["body.json", "--out", "a", "--out-dir", "out"]], ids=["-", "both"]
)
def test_options_that_exclude_each_other(options: list[str]) -> None:
    """Standard input has no name for a directory, and one place for the output is enough."""
    assert invoke("prune", *options).exit_code == 2


def test_the_same_file_twice_is_refused(names: list[str], tmp_path: Path) -> None:
    """A file that is named twice would be written twice."""
    result = invoke("prune", names[0], names[0], "--out-dir", str(tmp_path / "out"))
    assert result.exit_code == 2
