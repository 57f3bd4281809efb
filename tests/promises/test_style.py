"""What every committed file keeps to, whatever its language."""

import re
import statistics
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = {".go", ".js", ".py", ".ts"}
LONGEST = 500
MEDIAN = 200

# Each is spelt so that this file does not match itself.
PRIVATE = re.compile(
    r"""
      (?<![\w.)}\]/-]) / (?: work | tmp/w | root | Users | home/(?!pinch\b)\w+ ) (?: / | (?=["'`\s:,;)]|$) )
    | pypi [.] org | pythonhosted [.] org | npmjs [.] (?:org|com) | yarnpkg [.] com
    | proxy [.] golang [.] org | crates [.] io | repo1? [.] maven | deb [.] debian [.] org
    | "resolved" : \s* "http
    | -- (?:extra-)? index-url | -- find-links | -- trusted-host
    """,
    re.VERBOSE | re.MULTILINE,
)

HASHED = re.compile(r"\S+==\S+ (?:; .+ )?\\\n    --hash=sha256:")


@cache
def committed() -> tuple[Path, ...]:
    """Every file that is, or would be, committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def is_written_by_hand(path: Path) -> bool:
    generated = "_pb2" in path.name or path.name.endswith(".pb.go") or "v1" in path.relative_to(ROOT).parts
    return path.suffix in SOURCE and not generated


@cache
def source_lines() -> dict[str, int]:
    """The number of lines of each source file written by hand."""
    paths = [path for path in committed() if is_written_by_hand(path)]
    return {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in paths}


def test_no_file_names_a_machine_or_a_registry() -> None:
    """No committed file holds a path of one machine or the address of a package registry."""
    found = []
    for path in committed():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
            for match in PRIVATE.finditer(text)
        ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "work/main",
        "cd /" + "tmp/w",
        "https://" + "pypi" + ".org/simple",
        '"resolved"' + ': "https://host/x.tgz"',
        "-" + "-index-url x",
    ],
)
def test_the_search_finds_what_it_forbids(line: str) -> None:
    """The pattern of the rule above catches an example of each kind."""
    assert PRIVATE.search(line)


@pytest.mark.parametrize("line", ["the/work/of", "../shared/cases", "net/workers", "/var/lib/pinch"])
def test_the_search_leaves_ordinary_text_alone(line: str) -> None:
    """Words that only resemble a machine's path are allowed."""
    assert not PRIVATE.search(line)


def test_no_source_file_is_long() -> None:
    """No source file written by hand has more than 500 lines."""
    assert {name: lines for name, lines in source_lines().items() if lines > LONGEST} == {}


def test_source_files_are_short() -> None:
    """The median source file has fewer than 200 lines; empty package markers do not count."""
    assert statistics.median(lines for lines in source_lines().values() if lines > 1) < MEDIAN


def test_every_lock_has_hashes() -> None:
    """Each locked requirement is one exact version with at least one hash."""
    for lock in (ROOT / "requirements").glob("*.txt"):
        blocks = re.findall(r"^(?![#\s])(.+(?:\n    --hash.+)*)", lock.read_text(), re.MULTILINE)
        assert blocks, lock.name
        assert [
            block for block in blocks if not re.match(r"\S+==\S+ (?:; .+ )?\\\n    --hash=sha256:", block)
        ] == []
