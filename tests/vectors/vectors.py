"""The project's own vectors: one file each, read here, by the server's tests and by every client's."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.cases.cases import Case

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "schema.json"


def vector_files() -> list[Path]:
    """All vector files by name, those in folders too; the schema is none."""
    return [place for place in sorted(FOLDER.rglob("*.json")) if place != SCHEMA]


def load_vector(place: Path) -> Case:
    """One vector in the form of a case."""
    said: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    if "input" in said:
        body = said["input"].encode("utf-8")
    else:
        body = base64.b64decode(said["input_base64"], validate=True)
    return Case(said["name"], said["about"], said["format"], said["limits"], said["expect"], body)
