"""docs/security.md: what it says to paste works as pasted."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, environment

PAGE = ROOT / "docs" / "security.md"
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script(ports: dict[str, int]) -> str:
    """All commands of the page in their order, on ports that are free."""
    text = "set -eu\n"
    for language, block in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        text += block if language == "sh" else f"python - <<'END'\n{block}END\n"
    for port, free in ports.items():
        text = text.replace(port, str(free))
    return text


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """Pasted one after the other into an empty directory, every command of the page ends well."""
    if not all(map(shutil.which, ("bash", "curl", "openssl"))):
        pytest.skip("bash, curl and openssl are what the page uses")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, options in (("pinch", "-m pinch_server"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
        (commands / name).chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = {"50051": one.getsockname()[1], "9464": two.getsockname()[1]}
    variables = environment(tmp_path, PINCH_SERVER__WORKERS="2")
    variables["PATH"] = f"{commands}{os.pathsep}{variables['PATH']}"
    with (tmp_path / "said").open("w+b") as said:
        # A group of its own, which ends with the test: the page leaves its server running.
        with subprocess.Popen(
            ["bash", "-c", script(ports)],
            cwd=work,
            env=variables,
            stdout=said,
            stderr=said,
            start_new_session=True,
        ) as pasted:
            try:
                status = pasted.wait(120)
            finally:
                os.killpg(pasted.pid, signal.SIGTERM)
        said.seek(0)
        words = said.read().decode()
    assert status == 0, words
    assert (work / "same.json").read_bytes() == (work / "body.json").read_bytes()
    assert "pinch_decisions_total" in (work / "metrics.txt").read_text()
    for name in ("router.token", "grafana.token"):
        assert (work / name).read_text().strip() not in (work / "tokens.txt").read_text() + words
