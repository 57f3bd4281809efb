"""What can be said of the knobs: their table, their JSON schema, and values fit to be shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pinch_server.settings.marks import Told, Within
from pinch_server.settings.model import NESTED, PREFIX, Settings


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting, as people read of it.

    Attributes:
        key: Its place in a settings file, `server.listen`.
        variable: The environment variable that sets it.
        default: Its default, as a settings file spells it.
        legal: What it may be.
        meaning: One line, with its unit.
        secret: Whether its value is hidden wherever it would be shown.
    """

    key: str
    variable: str
    default: str
    legal: str
    meaning: str
    secret: bool


def knobs() -> tuple[Knob, ...]:
    """Every knob, in the order of declaration."""
    return tuple(_knob(path, field) for path, field in _leaves(Settings, ()))


def redacted(settings: Settings) -> dict[str, Any]:
    """All values as plain data, secrets hidden."""
    shown = settings.model_dump(mode="json")
    for path, field in _leaves(Settings, ()):
        hide = _told(field).hide
        if hide is not None:
            group = shown
            for part in path[:-1]:
                group = group[part]
            group[path[-1]] = hide(group[path[-1]]) if group[path[-1]] else ""
    return shown


def json_schema() -> dict[str, Any]:
    """The JSON schema of a settings file."""
    return Settings.model_json_schema()


def _leaves(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, (*path, name))
        else:
            yield (*path, name), field


def _told(field: FieldInfo) -> Told:
    return next((mark for mark in field.metadata if isinstance(mark, Told)), Told(""))


def _knob(path: tuple[str, ...], field: FieldInfo) -> Knob:
    told = _told(field)
    return Knob(
        key=".".join(path),
        variable=PREFIX + NESTED.join(path).upper(),
        default=told.default or _spelt(field.default),
        legal=told.legal or _legal(field),
        meaning=field.description or "",
        secret=told.hide is not None,
    )


def _legal(field: FieldInfo) -> str:
    kind = field.annotation
    for mark in field.metadata:
        if isinstance(mark, Within):
            return str(mark.bound)
    if get_origin(kind) is Literal:
        return " or ".join(str(choice) for choice in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(str(choice.value) for choice in kind)
    return "true or false"


def _spelt(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[]" if not value else ", ".join(str(item) for item in value)
    return '""' if value == "" else str(value.value if isinstance(value, Enum) else value)
