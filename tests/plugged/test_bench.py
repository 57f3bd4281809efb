"""The bench of docs/integrations.md runs against the gateways it names."""

from __future__ import annotations

import shutil

import pytest

from bench.gateways.__main__ import main
from tests.plugged.installed import gateway


def test_the_bench_prints_a_row_for_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    """Each way is measured for each size, in milliseconds."""
    gateway("envoy")
    main({2_000: 2})
    in_go = [2] if shutil.which("go") else []
    for table, ways in zip(capsys.readouterr().out.split("\n\n"), [4, 4, 5, *in_go], strict=True):
        head, _, row = table.splitlines()
        assert head.count("|") == row.count("|")
        assert row.count(" ms |") == ways
