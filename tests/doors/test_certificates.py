"""A certificate is tried before it is used, and what is wrong with it is told."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pinch_server.doors.certificates import read_certificate, watched_certificate
from pinch_server.doors.watched import DoorFileError
from tests.services.certificates import Authority, Pair


def test_a_good_pair_is_read_with_its_names_and_its_end(authority: Authority, pair: Pair) -> None:
    """What is read are the bytes of the files, the names of the certificate and its last day."""
    read = read_certificate(pair.chain, pair.key, authority.roots)
    assert (read.chain, read.key) == (pair.chain.read_bytes(), pair.key.read_bytes())
    assert read.client_roots == authority.roots.read_bytes()
    assert read.names == ("pinch.test", "127.0.0.1")
    assert read.expires == datetime(2099, 1, 1, tzinfo=UTC)
    assert pair.key.read_text()[40:80] not in repr(read)


def expired(authority: Authority, _pair: Pair) -> Pair:
    return authority.issue("expired", ends="20200102000000Z")


def not_yet_valid(authority: Authority, _pair: Pair) -> Pair:
    return authority.issue("future", begins="20980101000000Z")


def with_another_key(authority: Authority, pair: Pair) -> Pair:
    return Pair(pair.chain, authority.issue("other").key)


def without_a_certificate(authority: Authority, pair: Pair) -> Pair:
    empty = authority.folder / "empty.pem"
    empty.write_text("nothing here\n")
    return Pair(empty, pair.key)


def with_a_garbled_key(authority: Authority, pair: Pair) -> Pair:
    garbled = authority.folder / "garbled.key"
    garbled.write_text(pair.key.read_text()[:90])
    garbled.chmod(0o600)
    return Pair(pair.chain, garbled)


def with_an_open_key(authority: Authority, _pair: Pair) -> Pair:
    made = authority.issue("open")
    made.key.chmod(0o644)
    return made


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (expired, "certificate has expired"),
        (not_yet_valid, "certificate is not yet valid"),
        (with_another_key, "is not that of the certificate"),
        (without_a_certificate, "hold no certificate and key in PEM"),
        (with_a_garbled_key, "hold no certificate and key in PEM"),
        (with_an_open_key, "has mode 0644: others may read or change it; run chmod 640"),
    ],
)
def test_a_bad_pair_is_refused_with_the_reason(
    authority: Authority, pair: Pair, make: Callable[[Authority, Pair], Pair], words: str
) -> None:
    """Each fault is told in words of its own, with the file and without what is in it."""
    bad = make(authority, pair)
    with pytest.raises(DoorFileError, match=words) as refused:
        read_certificate(bad.chain, bad.key)
    assert str(authority.folder) in str(refused.value)
    assert "BEGIN" not in str(refused.value)


def test_roots_for_clients_that_are_none_are_refused(pair: Pair, tmp_path: Path) -> None:
    """A file of client roots without a certificate in it would let nobody in, and is refused."""
    (tmp_path / "roots.pem").write_text("none")
    with pytest.raises(DoorFileError, match="holds no certificate in PEM"):
        read_certificate(pair.chain, pair.key, tmp_path / "roots.pem")


def test_a_change_is_taken_or_the_old_pair_is_kept(
    authority: Authority, place: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """A new pair is taken once both files are there; a bad one is told once, and the old one stays."""
    told: list[tuple[str, str]] = []
    watched = watched_certificate(place.chain, place.key, None, lambda: 0.0)
    watched.tell(lambda kind, result: told.append((kind, result)))
    first = watched.current()
    new = authority.issue("new")
    place.chain.write_bytes(new.chain.read_bytes())
    with caplog.at_level(logging.WARNING):
        assert watched.current() is first
        assert watched.current() is first
    assert told == [("certificate", "kept")]
    assert "the certificates stay as they were" in caplog.text
    new.copy_to(place)
    assert watched.current().chain == new.chain.read_bytes()
    assert told[1:] == [("certificate", "taken")]
    place.key.unlink()
    assert watched.current().chain == new.chain.read_bytes()
    assert told[2:] == [("certificate", "kept")]
