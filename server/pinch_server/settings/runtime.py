"""The knobs that may be turned while the service runs, and the settings once they are."""

from collections.abc import Mapping
from typing import Any, Final

from pinch_server.settings.model import Settings

RUNTIME_KEYS: Final = ("enabled", "prefix_probe", "relevance.enabled")
"""Their keys, each of them a truth value."""


def turned(settings: Settings, knobs: Mapping[str, bool]) -> Settings:
    """The settings with some knobs turned.

    Args:
        settings: The settings in force at the start.
        knobs: New values by key; each key one of `RUNTIME_KEYS`.
    """
    update: dict[str, Any] = {name: value for name, value in knobs.items() if "." not in name}
    for key, value in knobs.items():
        group, dot, name = key.partition(".")
        if dot:
            below = update.get(group, getattr(settings, group))
            update[group] = below.model_copy(update={name: value})
    return settings.model_copy(update=update)


def knobs_of(settings: Settings) -> dict[str, bool]:
    """How every knob stands."""
    found: dict[str, bool] = {}
    for key in RUNTIME_KEYS:
        value: Any = settings
        for part in key.split("."):
            value = getattr(value, part)
        found[key] = value
    return found
