"""Settings that nobody would write: each is refused in words, and none costs a traceback or a wait."""

import os
from pathlib import Path

import pytest

from pinch_server.settings import SettingsError, load_settings

NO_NUMBER = "9" * 5_000
SECRET = "s3cretPassword"


def problems(path: Path | None, environ: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ)
    return caught.value.problems


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("yaml", "budget_tokens: 2001-99-99\n"),
        ("yaml", 'budget_tokens: !!int "abc"\n'),
        ("yaml", 'budget_tokens: !!int ""\n'),
        ("yaml", 'min_gain: !!float "abc"\n'),
        ("yaml", 'enabled: !!bool "zz"\n'),
        ("yaml", 'budget_tokens: !!timestamp "zz"\n'),
        ("yaml", 'session_hash_key: !!binary "zz"\n'),
        ("yaml", "server: !!map [x]\n"),
        ("yaml", "? [a]\n: 1\n"),
        ("yaml", "? {a: b}\n: 1\n"),
        ("yaml", "[" * 20_000),
        ("yaml", "{" * 20_000),
        ("toml", "a = " + "[" * 20_000),
        ("yaml", f"budget_tokens: {NO_NUMBER}\n"),
        ("yaml", f"budget_tokens: 0x{'f' * 5_000}\n"),
        ("toml", f"budget_tokens = {NO_NUMBER}\n"),
        ("toml", f"budget_tokens = 0x{'f' * 5_000}\n"),
    ],
)
def test_a_file_that_breaks_its_reader_is_refused_in_words(tmp_path: Path, ending: str, text: str) -> None:
    """Whatever a file holds, the start ends with one short line that names it."""
    path = tmp_path / f"settings.{ending}"
    path.write_text(text)
    (problem,) = problems(path, {})
    assert str(path) in problem
    assert len(problem) < 250 + len(str(path))
    assert "\n" not in problem


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://pinch:{SECRET}@db:notaport/pinch",
        f"postgresql://pinch:{SECRET}",
        f"postgresql://pinch:{SECRET}@db:99999/pinch",
        f"postgresql://pinch:{SECRET}@db:5432%00/pinch",
        f"postgresql://pinch:{SECRET}@db/pinch%00",
        "sqlite:////tmp/pinch%00",
    ],
)
def test_a_url_that_no_database_can_have_is_refused_unseen(url: str) -> None:
    """A port that is none, or a zero byte, is refused with the settings, and the URL is not quoted."""
    (problem,) = problems(None, {"PINCH_STORE__DATABASE_URL": url})
    assert problem.startswith("store.database_url (PINCH_STORE__DATABASE_URL), in the environment")
    assert SECRET not in problem


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://pinch:p:q@db:5432/pinch",
        "postgresql://pinch@[::1]:5432/pinch",
        "postgresql:///pinch?host=/run/pg:1",
        "sqlite:////var/lib/a:b/pinch.db",
    ],
)
def test_a_url_with_colons_elsewhere_is_taken(url: str) -> None:
    """A colon in a password, an IPv6 address, a path or a query is not taken for a port's."""
    assert load_settings(None, {"PINCH_STORE__DATABASE_URL": url}).store.database_url == url


def test_a_key_that_is_no_utf_8_is_refused_unseen() -> None:
    """Bytes of the environment that no text has are told as such, and not quoted."""
    key = b"\xff\xfe" + SECRET.encode() * 2
    (problem,) = problems(None, {"PINCH_SESSION_HASH_KEY": key.decode("utf-8", "surrogateescape")})
    assert "not UTF-8" in problem
    assert SECRET not in problem


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """A settings file that is a pipe is refused at once."""
    path = tmp_path / "settings.toml"
    os.mkfifo(path)
    assert problems(path, {}) == (f"{path}: is no regular file; give one",)


def test_a_price_in_digits_is_taken_however_it_is_spelt(tmp_path: Path) -> None:
    """A number of a file becomes decimal text without an exponent."""
    path = tmp_path / "settings.toml"
    path.write_text("[objective]\nprompt_rate = 3e-7\n")
    assert load_settings(path, {}).objective.prompt_rate == "0.0000003"
