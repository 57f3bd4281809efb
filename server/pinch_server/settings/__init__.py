"""Every knob of the service in one table, and how it is read; pydantic is known here and nowhere else."""

from pinch_server.settings.cache import CacheSettings
from pinch_server.settings.checks import default_state_dir
from pinch_server.settings.describe import Knob, json_schema, knobs, redacted
from pinch_server.settings.doors import TlsSettings
from pinch_server.settings.extract import ExtractModelSettings, ExtractSettings
from pinch_server.settings.gateways import GatewaySettings, MouthName
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
from pinch_server.settings.originals import OriginalsSettings
from pinch_server.settings.relevance import RelevanceSettings
from pinch_server.settings.runtime import RUNTIME_KEYS, knobs_of, turned
from pinch_server.settings.shown import ShownSetting, Source, shown_settings, sources
from pinch_server.settings.traces import TracesSettings

__all__ = [
    "CONFIG_VARIABLE",
    "RUNTIME_KEYS",
    "CacheSettings",
    "ExtractModelSettings",
    "ExtractSettings",
    "GatewaySettings",
    "JournalSettings",
    "Knob",
    "LogSettings",
    "MouthName",
    "ObjectiveSettings",
    "OriginalsSettings",
    "RelevanceSettings",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "ShownSetting",
    "Source",
    "StoreSettings",
    "TlsSettings",
    "TracesSettings",
    "default_state_dir",
    "json_schema",
    "knobs",
    "knobs_of",
    "load_settings",
    "redacted",
    "shown_settings",
    "sources",
    "to_limits",
    "turned",
]
