"""Every setting in force as an operator is shown it: its value, where that came from, never a secret."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pinch_server.settings.describe import knobs, redacted
from pinch_server.settings.model import PREFIX, Settings
from pinch_server.settings.origin import DEFAULT, origins

Source = Literal["default", "file", "environment", "command_line", "runtime"]
"""Where a value came from; the later ones win over the earlier."""

_HIDDEN: Final = "[redacted]"


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting.

    Attributes:
        key: Its dotted name.
        value_json: Its value as JSON; of a secret that is set, only that it is.
        source: Where the value came from.
        is_secret: Whether the value is not shown.
    """

    key: str
    value_json: str
    source: Source
    is_secret: bool


def sources(
    config_path: Path | None, environ: Mapping[str, str], options: Collection[str]
) -> dict[str, Source]:
    """Where each setting's value came from at the start.

    Args:
        config_path: The settings file, when the command line names one.
        environ: The environment, with what the options stand for.
        options: The variables that options stand for.
    """
    found: dict[str, Source] = {}
    for key, origin in origins(config_path, environ).items():
        if origin in options:
            found[key] = "command_line"
        elif origin == DEFAULT:
            found[key] = "default"
        else:
            found[key] = "environment" if origin.startswith(PREFIX) else "file"
    return found


def shown_settings(
    settings: Settings, start: Mapping[str, Source], knobs_turned: Collection[str]
) -> tuple[ShownSetting, ...]:
    """Every setting, by name.

    Args:
        settings: The settings in force.
        start: Where each value came from at the start; a key that is missing had its default.
        knobs_turned: Keys of the knobs that were turned since.
    """
    values = redacted(settings)
    found = []
    for knob in sorted(knobs(), key=lambda one: one.key):
        value: Any = values
        for part in knob.key.split("."):
            value = value[part]
        if knob.secret and value:
            value = _HIDDEN
        source: Source = "runtime" if knob.key in knobs_turned else start.get(knob.key, "default")
        found.append(ShownSetting(knob.key, json.dumps(value), source, knob.secret))
    return tuple(found)
