"""What the distribution declares it needs, and what its source imports."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "server" / "pinch_server"
CLIENT = ROOT / "clients" / "python" / "pinch"


def declared(extra: str = "") -> set[str]:
    """The normalised names of the distributions in the base, or in one extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def closure(requirements: list[Requirement]) -> set[str]:
    """The normalised names of all distributions that installing `requirements` here brings along."""
    found: set[str] = set()
    open_ends = list(requirements)
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_ends:
        requirement = open_ends.pop()
        name = canonicalize_name(requirement.name)
        key = (name, frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found.add(name)
        open_ends += wanted(distribution(name).requires or [], requirement.extras)
    return found


def wanted(lines: list[str], extras: set[str]) -> list[Requirement]:
    """The requirements among `lines` that hold on this interpreter with these extras."""
    parsed = [Requirement(line) for line in lines]
    return [
        requirement
        for requirement in parsed
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in ({""} | extras))
    ]


def imported_modules(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each absolute import below a folder: the file and the dotted name."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield path, alias.name
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                for alias in node.names:
                    yield path, f"{node.module}.{alias.name}"


# It reads every installed distribution's list of files, so once is enough.
_installed = cache(packages_distributions)


@cache
def providers(module: str) -> frozenset[str]:
    """The normalised names of the installed distributions that hold a dotted module.

    Several distributions share the top-level name `google`, so the second level decides there.
    """
    top, _, rest = module.partition(".")
    candidates = {canonicalize_name(name) for name in _installed().get(top, [])}
    if len(candidates) > 1 and rest:
        prefix = f"{top}/{rest.partition('.')[0]}"
        candidates = {
            name
            for name in candidates
            if any(
                str(file).startswith((f"{prefix}/", f"{prefix}.py"))
                for file in distribution(name).files or []
            )
        }
    return frozenset(candidates)
