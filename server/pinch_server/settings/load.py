"""Reads the settings: environment over file over defaults, every problem told at once."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource

from pinch_server.settings.checks import default_state_dir, shown
from pinch_server.settings.describe import Knob, knobs
from pinch_server.settings.file import SettingsFileError, read_settings_file
from pinch_server.settings.model import PREFIX, Settings
from pinch_server.settings.together import wrong_together

CONFIG_VARIABLE: Final = "PINCH_CONFIG"
"""Names the settings file when the command line does not."""

_Tree = dict[str, Any]


class SettingsError(Exception):
    """The settings cannot be used.

    Attributes:
        problems: A line for each: the key, the value, what it may be.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def load_settings(config_path: Path | None, environ: Mapping[str, str]) -> Settings:
    """Reads and checks all settings.

    Args:
        config_path: The settings file; None: the one `PINCH_CONFIG` names, if it names one.
        environ: The environment, usually `os.environ`.

    Raises:
        SettingsError: Something in the file or the environment is unknown or not legal.
    """
    known = knobs()
    problems: list[str] = []
    named = environ.get(CONFIG_VARIABLE, "")
    path = config_path or (Path(named) if named else None)
    tree: _Tree = {}
    if path is not None:
        try:
            tree = _known_part(read_settings_file(path), "", known, problems)
        except SettingsFileError as error:
            problems.append(str(error))
    problems.extend(_unknown_variables(environ, known))
    variables = {knob.variable.lower(): environ[knob.variable] for knob in known if knob.variable in environ}
    source = EnvSettingsSource(Settings)
    source.env_vars = variables
    tree = _merged(tree, source())
    tree = _merged({"store": {"state_dir": default_state_dir(environ)}}, tree)
    settings = _checked(tree, known, environ, path, problems)
    problems.extend(wrong_together(settings))
    if problems:
        raise SettingsError(tuple(problems))
    return settings


def _known_part(table: Mapping[Any, Any], place: str, known: tuple[Knob, ...], problems: list[str]) -> _Tree:
    """The keys that exist; each other one becomes a problem."""
    keys = {knob.key for knob in known}
    found: _Tree = {}
    for name, value in table.items():
        key = f"{place}{name}"
        inside = [other for other in keys if other.startswith(f"{key}.")]
        if key in keys:
            found[str(name)] = value
        elif not inside:
            problems.append(f"{key}: unknown key in the settings file; {_nearest(key, sorted(keys))}")
        elif isinstance(value, dict):
            found[str(name)] = _known_part(value, f"{key}.", known, problems)
        elif value is not None:
            problems.append(f"{key}: {shown(value)} is not a table; give its keys, such as {min(inside)}")
    return found


def _unknown_variables(environ: Mapping[str, str], known: tuple[Knob, ...]) -> Iterator[str]:
    names = [knob.variable for knob in known]
    for name in sorted(environ):
        # Any case: a variable in small letters would be silently without effect.
        if name.upper().startswith(PREFIX) and name not in (*names, CONFIG_VARIABLE):
            yield f"{name}: unknown variable; {_nearest(name.upper(), names)}"


def _nearest(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else "remove it (pinch config show lists the known ones)"


def _merged(under: _Tree, over: Mapping[str, Any]) -> _Tree:
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        merged[name] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _checked(
    tree: _Tree, known: tuple[Knob, ...], environ: Mapping[str, str], path: Path | None, problems: list[str]
) -> Settings:
    """The settings; the default stands in for a value that is not legal, so that the rest is checked too."""
    try:
        return Settings(**tree)
    except ValidationError as refused:
        errors = refused.errors(include_url=False)
    by_key = {knob.key: knob for knob in known}
    told: set[str] = set()
    for error in errors:
        key = _key(error, by_key)
        if key not in told:
            told.add(key)
            problems.append(_line(error, by_key[key], environ, path))
            _remove(tree, key)
    return Settings(**tree)


def _key(error: ErrorDetails, by_key: Mapping[str, Knob]) -> str:
    parts = [str(part) for part in error["loc"]]
    return next(key for end in range(1, len(parts) + 1) if (key := ".".join(parts[:end])) in by_key)


def _line(error: ErrorDetails, knob: Knob, environ: Mapping[str, str], path: Path | None) -> str:
    where = "in the environment" if knob.variable in environ else f"in {path}"
    if error["type"] == "value_error":
        problem = str(error["ctx"]["error"])
    else:
        value = "the value (not shown)" if knob.secret else shown(error["input"])
        # A bound alone does not say that 1.5 is refused.
        kinds = {"int": "a whole number ", "float": "a number "}
        kind = kinds.get(error["type"].partition("_")[0], "") if knob.legal.startswith("from ") else ""
        problem = f"{value} is not legal; give {kind}{knob.legal}"
    return f"{knob.key} ({knob.variable}), {where}: {problem}"


def _remove(tree: _Tree, key: str) -> None:
    *groups, name = key.split(".")
    for group in groups:
        tree = tree[group]
    del tree[name]
