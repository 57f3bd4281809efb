"""Where each value in force comes from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pinch_server.settings.describe import knobs
from pinch_server.settings.file import SettingsFileError, read_settings_file
from pinch_server.settings.load import CONFIG_VARIABLE

DEFAULT: Final = "default"


def origins(config_path: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """For the key of every setting: its variable, else the settings file, else `default`.

    Args:
        config_path: The settings file; None: the one `PINCH_CONFIG` names, if it names one.
        environ: The environment, usually `os.environ`.
    """
    named = environ.get(CONFIG_VARIABLE, "")
    path = config_path or (Path(named) if named else None)
    tree = _tree(path)
    return {
        knob.key: knob.variable
        if knob.variable in environ
        else str(path)
        if _is_in(tree, knob.key.split("."))
        else DEFAULT
        for knob in knobs()
    }


def _tree(path: Path | None) -> dict[Any, Any]:
    if path is None:
        return {}
    try:
        return read_settings_file(path)
    except SettingsFileError:
        # Whoever loaded the settings has been told.
        return {}


def _is_in(tree: Any, key: list[str]) -> bool:
    for part in key:
        if not isinstance(tree, dict) or part not in tree:
            return False
        tree = tree[part]
    return True
