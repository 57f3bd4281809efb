"""Every reported fault through the command line; one in a process of its own, all of them in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.cases.cases import FOLDER, Case, expectation_violations, load_cases
from tests.checker.check import apply, check, check_edits
from tests.checker.recount import recount

CASES = load_cases()
pytestmark = pytest.mark.skipif(not CASES, reason="the folder shared/cases does not lie beside the project")
SUPPORTED = ("openai-chat", "anthropic", "openai-responses", "gemini", "bedrock")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case leaves no database and no journal outside its own folder."""
    monkeypatch.chdir(tmp_path)


def arguments(case: Case, folder: Path) -> tuple[list[str], Path]:
    """The command's words for a case, and where its stats will lie."""
    body, stats = folder / "body.json", folder / "stats.json"
    body.write_bytes(case.body)
    words = ["prune", str(body), "--format", case.format, *case.limit_arguments(), "--stats", str(stats)]
    return words, stats


def prune(case: Case, folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The pruned bytes and the stats file of one call of the command in this process."""
    from pinch_server.cli import main

    words, stats = arguments(case, folder)
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 0, f"exit {ran.exit_code}: {ran.stderr} {ran.exception!r}"
    return ran.stdout_bytes, json.loads(stats.read_text(encoding="utf-8"))


def each_case(*, without: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Parametrises a test over the cases whose dialect the server reads."""
    chosen = [case for case in CASES if case.format in SUPPORTED and case.id not in without]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.id)


@each_case()
def test_case_meets_its_expectation(case: Case, tmp_path: Path) -> None:
    """What the report of a fault expects holds of the pruned body and of its stats."""
    after, said = prune(case, tmp_path)
    assert expectation_violations(case, case.body, after, said["stats"]) == []


@each_case()
def test_case_satisfies_the_checker(case: Case, tmp_path: Path) -> None:
    """The independent checker finds nothing wrong with a pruned body."""
    after, _ = prune(case, tmp_path)
    assert check(case.format, case.body, after, limits=case.limits) == []


@each_case()
def test_case_edits_give_the_same_body(case: Case, tmp_path: Path) -> None:
    """The edits are sound byte ranges, and applied to the body as sent they give the printed bytes."""
    after, said = prune(case, tmp_path)
    assert check_edits(case.body, said["edits"]) == []
    assert apply(case.body, said["edits"]) == after


@each_case()
def test_case_is_pruned_once(case: Case, tmp_path: Path) -> None:
    """A pruned body that is pruned again comes out as the same bytes."""
    once, _ = prune(case, tmp_path)
    again = Case(case.id, case.about, case.format, case.limits, case.expect, once)
    assert prune(again, tmp_path)[0] == once


@each_case()
def test_case_stats_agree_with_the_recount(case: Case, tmp_path: Path) -> None:
    """Under chars3 the sizes in the stats are those of an independent recount, before and after."""
    after, said = prune(case, tmp_path)
    stats = said["stats"]
    if said["measured"]["method"] != "chars3":
        pytest.skip(f"counted as {said['measured']['method']}")
    before_tokens = recount(case.format, case.body).total
    after_tokens = recount(case.format, after).total
    assert (int(stats["original_tokens"]), int(stats["final_tokens"])) == (before_tokens, after_tokens)
    assert int(stats.get("tokens_saved", 0)) == max(before_tokens - after_tokens, 0)


def test_command_in_its_own_process(tmp_path: Path) -> None:
    """The command writes the exact bytes, and nothing else, to standard output of a real process."""
    case = next(case for case in CASES if case.id == "byte-identity")
    words, stats = arguments(case, tmp_path)
    root = Path(__file__).parents[2]
    roots = os.pathsep.join(map(str, (root / "server", root / "clients" / "python")))
    ran = subprocess.run(
        [sys.executable, "-m", "pinch_server", *words],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": roots},
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    said = json.loads(stats.read_text(encoding="utf-8"))
    assert check(case.format, case.body, ran.stdout, limits=case.limits) == []
    assert expectation_violations(case, case.body, ran.stdout, said["stats"]) == []


def test_every_case_is_run() -> None:
    """No folder of the cases is passed over."""
    assert {case.id for case in CASES} == {place.name for place in FOLDER.iterdir() if place.is_dir()}
