"""How long each client is: lines written by hand, and lines of its tests."""

from __future__ import annotations

from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2] / "clients"

# Generated code, examples and benchmarks are neither; nor is what tests need to run counted as the client.
_SOURCES = {
    "python": ("python/pinch/*.py",),
    "go": ("go/*.go",),
    "typescript": ("typescript/src/*.ts",),
}
_TESTS = {
    "python": ("../tests/clients/python/*.py",),
    "go": ("go/*_test.go", "go/internal/pinchtest/*.go"),
    "typescript": ("typescript/test/*.ts", "typescript/test/support/*.ts"),
}


def lines(language: str) -> tuple[int, int]:
    """The lines of a client, and those of its tests."""
    sources = [path for path in _found(_SOURCES[language]) if not path.name.endswith("_test.go")]
    return _count(sources), _count(_found(_TESTS[language]))


def _found(patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in CLIENTS.glob(pattern)]


def _count(files: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
