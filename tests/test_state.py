"""The state directory."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from pinch_server import state
from pinch_server.settings import Settings, StoreSettings


def settings_in(directory: Path, **others: object) -> Settings:
    return Settings(store=StoreSettings(state_dir=directory), **others)  # type: ignore[arg-type] # by name


def test_starts_at_the_same_time_share_one_key(tmp_path: Path) -> None:
    """However many ask at once, the key is made once and is the same for all."""
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(state.session_key, [settings_in(tmp_path)] * 64))
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["session.key"]


def test_a_key_of_the_settings_comes_first(tmp_path: Path) -> None:
    """A key that is set is used, and none is made."""
    assert state.session_key(settings_in(tmp_path, session_hash_key="a" * 16)) == b"a" * 16
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_made_for_its_owner(tmp_path: Path) -> None:
    """The directory that is made lets nobody else in; one that is there stays as it is."""
    state.prepare(settings_in(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0
    state.prepare(settings_in(tmp_path / "a" / "b"))


@pytest.mark.parametrize("name", ["plain", "with space", "100%41", "what?", "at@colon:hash#"])
def test_any_directory_has_a_url(tmp_path: Path, name: str) -> None:
    """The default URL leads to the file in the directory, whatever the directory is called."""
    url = state.database_url(settings_in(tmp_path / name))
    assert make_url(url).database == str(tmp_path / name / "pinch.sqlite3")


def test_a_url_of_the_settings_comes_first(tmp_path: Path) -> None:
    """A URL that is set is the database's."""
    store = StoreSettings(state_dir=tmp_path, database_url="postgresql://db/pinch")
    assert state.database_url(Settings(store=store)) == "postgresql://db/pinch"


def test_an_empty_key_is_made_anew(tmp_path: Path) -> None:
    """A key file that a crash left empty is no key: one is made, and is the same for all who start then."""
    (tmp_path / "session.key").write_bytes(b"")
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(state.session_key, [settings_in(tmp_path)] * 64))
    assert {len(key) for key in keys} == {32}
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["session.key"]
