"""`pinch config`: what the settings are, and whether they can be used."""

import json
import os
from pathlib import Path
from typing import Any, Final

import click

from pinch_server.cli.console import say
from pinch_server.cli.help import lines
from pinch_server.cli.settings import config_option, settings_or_stop
from pinch_server.settings import json_schema, knobs, redacted
from pinch_server.settings.origin import origins

_EPILOG: Final = lines(
    "Examples",
    "pinch config check --config pinch.toml     every problem at once; exit status 2 when there is one",
    "pinch config show                          what is in force here and where it is set, secrets hidden",
    "pinch config show > pinch.toml             the same as a settings file to begin with",
    "pinch config schema > pinch.schema.json    for an editor that completes settings files",
)


@click.group("config", epilog=_EPILOG)
def config_command() -> None:
    """Check the settings, show them, or print their schema.

    Settings come from PINCH_ variables, else from a file, else from defaults.
    """


@config_command.command("check")
@config_option
def check_command(config_path: Path | None) -> None:
    """Check file and environment; name every problem at once."""
    settings_or_stop(config_path, {})
    say("The settings can be used.")


@config_command.command("show")
@config_option
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON, for programs; no settings file has this form."
)
def show_command(config_path: Path | None, as_json: bool) -> None:
    """Show every setting in force with where it comes from, secrets hidden, as a TOML settings file."""
    settings = settings_or_stop(config_path, {})
    shown = redacted(settings)
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    plain = settings.model_dump(mode="json")
    places = origins(config_path, os.environ)
    for knob in knobs():
        value = _value(shown, knob.key)
        # TOML has no null; and what is hidden must not be read back as if it were the value.
        is_told = value is None or value != _value(plain, knob.key)
        text = "none" if value is None else json.dumps(value, ensure_ascii=False)
        click.echo(f"{'# ' if is_told else ''}{knob.key} = {text}  # {places[knob.key]}")


@config_command.command("schema")
def schema_command() -> None:
    """Print the JSON schema of a settings file."""
    click.echo(json.dumps(json_schema(), indent=2))


def _value(shown: dict[str, Any], key: str) -> Any:
    value: Any = shown
    for part in key.split("."):
        value = value[part]
    return value
