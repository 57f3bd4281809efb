"""The `pinch` command before its dependencies are known to be there."""

import pytest

from pinch_server import entry


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (list(entry.SERVER_MODULES), "holds the client only"),
        (["regex", "yaml"], "holds a part of the server"),
    ],
)
def test_what_is_missing_is_named_where_something_is_there(
    missing: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken install names the modules it lacks; one that never had the server names none of them."""
    monkeypatch.setattr(entry, "_is_installed", lambda name: name not in missing)
    assert entry.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert entry.INSTALL_COMMAND in said.err
    assert ("(missing: regex, yaml)" in said.err) == (missing == ["regex", "yaml"])
    assert said.err.count("\n") == 1
