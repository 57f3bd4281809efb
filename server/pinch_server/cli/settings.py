"""The settings as a command sees them: its options over the environment over the file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from pinch_server.cli.console import EXIT_REFUSED, stop
from pinch_server.settings import Settings, SettingsError, Source, load_settings, sources

config_option: Final = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file: .toml, .yaml or .yml. Else the one that PINCH_CONFIG names.",
)
"""The option that every command with settings has."""


def settings_or_stop(config_path: Path | None, options: Mapping[str, tuple[str, str | None]]) -> Settings:
    """Loads the settings; when they cannot be used, names every problem and ends the command with status 2.

    Args:
        config_path: The settings file, when the command line names one.
        options: For each option the variable it stands for and its value, None when it was not given.

    Raises:
        SystemExit: The settings cannot be used.
    """
    given = {variable: value for variable, value in options.values() if value is not None}
    try:
        return load_settings(config_path, {**os.environ, **given})
    except SettingsError as error:
        names = {variable: option for option, (variable, value) in options.items() if value is not None}
        stop((_as_option(problem, names) for problem in error.problems), EXIT_REFUSED)


def sources_of(config_path: Path | None, options: Mapping[str, tuple[str, str | None]]) -> dict[str, Source]:
    """Where each setting's value comes from; of the arguments of `settings_or_stop`."""
    given = {variable: value for variable, value in options.values() if value is not None}
    return sources(config_path, {**os.environ, **given}, given)


def _as_option(problem: str, names: Mapping[str, str]) -> str:
    """A problem with a variable that an option set, in terms of the option."""
    for variable, option in names.items():
        problem = problem.replace(f"({variable}), in the environment", f"({option})")
    return problem
