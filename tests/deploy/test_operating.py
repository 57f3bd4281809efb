"""docs/operating.md: what it names is there, and its commands run."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bench.running_server import RunningServer, running_server
from pinch import PinchClient
from pinch_server.cli import main
from pinch_server.settings.describe import knobs
from tests.cli.commands import environment
from tests.deploy.named import (
    OPERATING,
    ROOT,
    anchors,
    metric_names,
    metrics_in,
    variable_names,
    variables_in,
)
from tests.rpc.conversations import body

PAGE = OPERATING.read_text()
CODE = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[list[str]]:
    """Every `pinch` command that the page names, as its words."""
    lines = [
        *CODE,
        *re.sub(
            r"kubectl .* -- ", "", "\n".join(re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL))
        ).splitlines(),
    ]
    known = [line.replace("$GRPC", "127.0.0.1:50051") for line in lines if line.startswith("pinch ")]
    return sorted(shlex.split(line)[1:] for line in known)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_is_one(words: list[str]) -> None:
    """Each `pinch` command on the page exists, with its options."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    command.make_context("pinch", list(words), resilient_parsing=False)


def test_every_metric_and_variable_is_there() -> None:
    """What is named like a metric or a setting's variable is one."""
    assert metrics_in(PAGE) <= metric_names()
    assert variables_in(PAGE) <= variable_names()


def test_every_setting_is_there() -> None:
    """What is written like the key of a setting is one."""
    keys = {knob.key for knob in knobs()}
    groups = {key.partition(".")[0] for key in keys if "." in key}
    written = {text for text in CODE if re.fullmatch(r"[a-z]+\.[a-z_]+", text)}
    assert {text for text in written if text.partition(".")[0] in groups} <= keys
    alone = {text.partition(" =")[0] for text in CODE if re.fullmatch(r"[a-z_]+( = \w+)?", text)}
    last = {key.rpartition(".")[2] for key in keys}
    assert {"retention_days", "keep_last_turns", "session_hash_key"} <= alone & last


def test_every_link_leads_somewhere() -> None:
    """Files that the page links to are there, and so are the sections."""
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, anchor = target.partition("#")
        file = OPERATING.parent / path if path else OPERATING
        assert file.resolve().is_relative_to(ROOT)
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text()), target


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("state"), "--workers", "2") as running:
        with PinchClient(running.grpc, timeout=60) as client:
            client.prune_body(body())
        yield running


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_to_be_run_runs(server: RunningServer, block: str, tmp_path: Path) -> None:
    """Each block of commands succeeds beside a running service."""
    shim = tmp_path / "pinch"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pinch_server "$@"\n')
    shim.chmod(0o755)
    variables = {
        "GRPC": server.grpc,
        "PINCH_STORE__DATABASE_URL": server.database,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["sh", "-e", "-c", block],
        env=environment(tmp_path, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_copy_is_made_beside_the_service(server: RunningServer, tmp_path: Path) -> None:
    """The page's SQL copies the database of a running service whole."""
    (statement,) = re.findall(r'^sqlite3 \S+ "(VACUUM INTO .*)"$', PAGE, re.MULTILINE)
    copy = tmp_path / "copy.sqlite3"
    source = sqlite3.connect(server.database.removeprefix("sqlite:///"))
    try:
        source.execute(statement.replace("pinch-backup.sqlite3", str(copy)))
    finally:
        source.close()
    copied = sqlite3.connect(copy)
    try:
        assert copied.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copied.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    finally:
        copied.close()


def test_a_log_line_has_what_the_page_says(server: RunningServer) -> None:
    """Every member of a call's line is in the page's table, and each line is JSON but those for people."""
    lines = server.log.read_text().splitlines()
    told = [json.loads(line) for line in lines if not line.startswith("Pinch ")]
    members = {name for line in told if line["event"] == "call" for name in line}
    assert {"decision_id", "milliseconds", "persisted", "worker"} <= members <= CODE
