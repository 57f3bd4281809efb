"""A real `pinch serve --testing`, as the tests of every client start one."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.commands import command, environment


@contextmanager
def serving_tests(home: Path, *options: str) -> Iterator[dict[str, str]]:
    """Where a server for tests is; at the end it is stopped as a supervisor would.

    Args:
        home: Its home directory, where it must leave nothing.
        options: Further options.
    """
    with subprocess.Popen(
        command("serve", "--testing", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(home),
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            assert process.wait(30) == 0
