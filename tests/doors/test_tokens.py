"""The file of tokens: its lines, its mode, its changes, and who is let in."""

import logging
from pathlib import Path

import pytest

from pinch_server.doors.access import Role
from pinch_server.doors.tokens import (
    Refused,
    admitted,
    digest_of,
    hashed_line,
    new_token,
    read_tokens,
    watched_tokens,
)
from pinch_server.doors.watched import DoorFileError

SECRET = "tellnoone-tellnoone-tellnoone"
PRUNE = frozenset({Role.PRUNE})


def written(path: Path, text: str, mode: int = 0o640) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_lines_are_plain_or_hashed(tmp_path: Path) -> None:
    """A plain line and a hashed one give the same token; comments and blank lines give none."""
    path = written(
        tmp_path / "tokens",
        f"# the routers\n\nrouter prune plain:{SECRET}\n  {hashed_line('boss', frozenset(Role), SECRET)}\n",
    )
    router, boss = read_tokens(path)
    assert (router.name, router.roles) == ("router", PRUNE)
    assert (boss.name, boss.roles) == ("boss", frozenset(Role))
    assert router.digest == boss.digest == digest_of(SECRET)
    assert router.digest.hex() not in repr(router)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"router prune {SECRET}", "line 1: the third word is neither plain:TOKEN nor sha256:"),
        ("router prune sha256:abc", "line 1: the third word is neither plain:TOKEN nor sha256:"),
        ("router prune plain:short", "line 1: a token has 20 printable ASCII characters or more"),
        (f"#\nrouter plain:{SECRET} prune", "line 2: "),
        (f"router plain:{SECRET}", "line 1: has not the form NAME ROLES TOKEN"),
        (f"router root plain:{SECRET}", "line 1: a role is none of prune, insight, admin"),
        (f"{SECRET * 3} prune plain:{SECRET}", "line 1: a name has 1 to 64 of the characters"),
        ("# nothing\n", "holds no token; pinch token new"),
    ],
)
def test_a_bad_line_is_named_by_number_and_not_quoted(tmp_path: Path, text: str, words: str) -> None:
    """Whatever is wrong with a line, the problem tells its number and no word of it."""
    with pytest.raises(DoorFileError) as refused:
        read_tokens(written(tmp_path / "tokens", text))
    assert words in str(refused.value)
    assert "tellnoone" not in str(refused.value)
    assert "short" not in str(refused.value)


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    """A file in another encoding is named."""
    path = written(tmp_path / "tokens", "")
    path.write_bytes(b"\xff")
    with pytest.raises(DoorFileError, match="is not UTF-8"):
        read_tokens(path)


@pytest.mark.parametrize(("mode", "is_fit"), [(0o600, True), (0o640, True), (0o644, False), (0o660, False)])
def test_strangers_must_not_read_the_file_nor_others_change_it(
    tmp_path: Path, mode: int, is_fit: bool
) -> None:
    """Its owner alone may change the file, and its group at most read it."""
    path = written(tmp_path / "tokens", f"router prune plain:{SECRET}", mode)
    if is_fit:
        assert len(read_tokens(path)) == 1
        return
    with pytest.raises(DoorFileError, match=f"has mode 0{mode:o}: .* run chmod 640"):
        read_tokens(path)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (None, "no_token"),
        ("", "no_token"),
        (SECRET, "no_token"),
        (f"Basic {SECRET}", "no_token"),
        ("Bearer", "no_token"),
        ("Bearer ", "unknown_token"),
        (f"Bearer {SECRET}x", "unknown_token"),
        (f"Bearer {SECRET[:-1]}", "unknown_token"),
        ("Bearer \udcff", "unknown_token"),
    ],
)
def test_who_has_no_known_token_is_refused(tmp_path: Path, header: str | None, problem: str) -> None:
    """A header that is missing, of another scheme or with another token lets nobody in, and is not quoted."""
    tokens = read_tokens(written(tmp_path / "tokens", f"router prune plain:{SECRET}"))
    with pytest.raises(Refused) as refused:
        admitted(tokens, header, PRUNE, "this")
    assert refused.value.problem == problem
    assert "tellnoone" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_token_of_the_role_is_let_in(tmp_path: Path, scheme: str) -> None:
    """The scheme is read in either case, the role decides, and no role includes another."""
    text = f"router prune plain:{SECRET}\nboss admin plain:{SECRET[::-1]}"
    tokens = read_tokens(written(tmp_path / "tokens", text))
    assert admitted(tokens, f"{scheme} {SECRET}", PRUNE, "this").name == "router"
    with pytest.raises(Refused, match="this needs a token of the role prune") as refused:
        admitted(tokens, f"{scheme} {SECRET[::-1]}", PRUNE, "this")
    assert refused.value.problem == "wrong_role"


def test_the_file_is_read_anew_within_a_second(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A change is seen at the next look, one second after the last; a broken file leaves the old tokens."""
    now = 0.0
    path = written(tmp_path / "tokens", f"router prune plain:{SECRET}")
    watched = watched_tokens(path, lambda: now)
    told: list[str] = []
    watched.tell(lambda _kind, result: told.append(result))
    written(path, f"a prune plain:{SECRET}\nb prune plain:{SECRET[::-1]}")
    assert [token.name for token in watched.current()] == ["router"]
    now = 1.0
    assert [token.name for token in watched.current()] == ["a", "b"]
    now = 2.0
    written(path, f"c prune {SECRET}")
    with caplog.at_level(logging.WARNING):
        assert [token.name for token in watched.current()] == ["a", "b"]
    assert told == ["taken", "kept"]
    assert "line 1" in caplog.text
    assert "tellnoone" not in caplog.text


def test_a_new_token_is_long_and_new() -> None:
    """Tokens are made by chance, fit for a header, and never twice the same."""
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(len(token) >= 43 and hashed_line("n", PRUNE, token) for token in made)
