"""`pinch token`: tokens, and the lines by which a service knows them."""

from pathlib import Path

import pytest

from pinch_server.doors.access import Role
from pinch_server.doors.tokens import admitted, read_tokens
from tests.cli.commands import invoke


def test_a_new_token_goes_to_standard_output_and_its_hash_into_the_file(tmp_path: Path) -> None:
    """The file is made for its owner alone, gets a line for each token, and has none of the tokens."""
    path = tmp_path / "tokens.txt"
    made = [
        invoke("token", "new", "router", "--role", "prune", "--add-to", str(path)),
        invoke("token", "new", "boss", "--role", "admin", "--role", "insight", "--add-to", str(path)),
    ]
    assert [one.exit_code for one in made] == [0, 0]
    assert path.stat().st_mode & 0o777 == 0o600
    tokens = read_tokens(path)
    assert [(one.name, one.roles) for one in tokens] == [
        ("router", {Role.PRUNE}),
        ("boss", {Role.ADMIN, Role.INSIGHT}),
    ]
    for one, token in zip(made, tokens, strict=True):
        secret = one.stdout.strip()
        assert secret not in path.read_text()
        assert admitted(tokens, f"Bearer {secret}", token.roles, "this") is token


def test_a_line_goes_behind_one_without_an_end(tmp_path: Path) -> None:
    """A file whose last line has no end keeps that line whole."""
    path = tmp_path / "tokens.txt"
    path.write_text(f"a prune plain:{'x' * 20}")
    path.chmod(0o600)
    assert invoke("token", "new", "b", "--role", "prune", "--add-to", str(path)).exit_code == 0
    assert [token.name for token in read_tokens(path)] == ["a", "b"]


def test_without_a_file_the_line_is_said(tmp_path: Path) -> None:
    """The token alone is on standard output; the line, which is no secret, is said."""
    made = invoke("token", "new", "router", "--role", "prune")
    assert len(made.stdout.split()) == 1
    path = tmp_path / "tokens.txt"
    path.write_text(made.stderr)
    path.chmod(0o600)
    assert admitted(read_tokens(path), f"Bearer {made.stdout.strip()}", frozenset({Role.PRUNE}), "this")


def test_a_token_that_is_there_gets_its_line() -> None:
    """`hash` reads a token from standard input and prints its line."""
    hashed = invoke("token", "hash", "router", "--role", "prune", stdin=b"tellnoone-tellnoone-tellnoone\n")
    assert hashed.exit_code == 0
    assert hashed.stdout.startswith("router prune sha256:")
    assert "tellnoone" not in hashed.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("hash", "router", "--role", "prune"), b"tellnoone", "a token has 20 printable"),
        (("hash", "a b", "--role", "prune"), b"x" * 20, "a name has 1 to 64"),
        (("new", "router"), b"", "--role"),
        (("new", "router", "--role", "root"), b"", "root"),
        (("new", "a b", "--role", "prune", "--add-to", "none"), b"", "a name has 1 to 64"),
    ],
)
def test_what_is_wrong_is_refused(arguments: tuple[str, ...], stdin: bytes, words: str) -> None:
    """A bad name, role or token ends with status 2, says what is legal, and quotes no token."""
    result = invoke("token", *arguments, stdin=stdin)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "tellnoone" not in result.output


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Where the file cannot be, the command fails and prints no token."""
    result = invoke("token", "new", "a", "--role", "prune", "--add-to", str(tmp_path / "no" / "file"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No such file" in result.stderr
