"""One certificate authority for each test file: making keys takes a while."""

from pathlib import Path

import pytest

from tests.services.certificates import Authority, Pair


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    """A certificate for pinch.test and 127.0.0.1 that is good."""
    return authority.issue("server")


@pytest.fixture
def place(tmp_path: Path, pair: Pair) -> Pair:
    """Where a server looks for its certificate: a good one, which the test may replace."""
    at = Pair(tmp_path / "cert.pem", tmp_path / "key.pem")
    pair.copy_to(at)
    return at
