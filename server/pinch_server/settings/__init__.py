"""Every knob of the service in one table, and how it is read; pydantic is known here and nowhere else."""

from pinch_server.settings.cache import CacheSettings
from pinch_server.settings.checks import default_state_dir
from pinch_server.settings.describe import Knob, json_schema, knobs, redacted
from pinch_server.settings.load import CONFIG_VARIABLE, SettingsError, load_settings
from pinch_server.settings.model import (
    JournalSettings,
    LogSettings,
    ServerSettings,
    Settings,
    StoreSettings,
    to_limits,
)
from pinch_server.settings.objective import ObjectiveSettings
from pinch_server.settings.relevance import RelevanceSettings

__all__ = [
    "CONFIG_VARIABLE",
    "CacheSettings",
    "JournalSettings",
    "Knob",
    "LogSettings",
    "ObjectiveSettings",
    "RelevanceSettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "default_state_dir",
    "json_schema",
    "knobs",
    "load_settings",
    "redacted",
    "to_limits",
]
