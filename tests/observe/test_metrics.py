"""The metrics: what each method moves on the page, and that the page is one Prometheus takes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pinch_server.observe.metrics import Metrics
from pinch_server.observe.metrics_doc import metrics_page

PRUNE = "/pinch.v1.PruneService/Prune"
DOC = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def values(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample that is not zero, by name and labels, buckets left out."""
    families = text_string_to_metric_families(metrics.page().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
        if sample.value and not sample.name.endswith("_bucket") and sample.name != "pinch_build_info"
    }


def moved(metrics: Metrics, name: str, **labels: str) -> float:
    return values(metrics).get((name, tuple(sorted(labels.items()))), 0.0)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="1.2.3", methods=[PRUNE])


def busy() -> Metrics:
    """Metrics that every method has moved."""
    metrics = Metrics(version="1.2.3", methods=[PRUNE])
    metrics.rpc_started(PRUNE)
    metrics.rpc_handled(PRUNE, "OK", 0.02)
    metrics.decided(
        route="routed",
        result="pruned",
        original_tokens=90_000,
        final_tokens=60_000,
        elided=2,
        omitted=3,
        capped=1,
        budget_met=False,
    )
    metrics.stage("plan", 0.001)
    metrics.ranked("uniform")
    metrics.journal_pending(4)
    metrics.journal_dropped()
    metrics.decisions_stored(5)
    metrics.store_failed()
    metrics.outcomes_unmatched(1)
    metrics.outcomes_replaced(1)
    return metrics


def test_a_decision_moves_every_number_it_carries(metrics: Metrics) -> None:
    """A pruned decision counts its tokens, its trimmed results by action and a missed budget."""
    metrics.decided(
        route="ROUTED",
        result="pruned",
        original_tokens=90_000,
        final_tokens=60_000,
        elided=2,
        omitted=3,
        capped=1,
        budget_met=False,
    )
    assert values(metrics) == {
        ("pinch_decisions_total", (("result", "pruned"), ("route", "routed"))): 1,
        ("pinch_tokens_original_total", ()): 90_000,
        ("pinch_tokens_final_total", ()): 60_000,
        ("pinch_tokens_saved_total", ()): 30_000,
        ("pinch_results_trimmed_total", (("action", "elided"),)): 2,
        ("pinch_results_trimmed_total", (("action", "omitted"),)): 3,
        ("pinch_results_trimmed_total", (("action", "capped"),)): 1,
        ("pinch_budget_missed_total", ()): 1,
    }


@pytest.mark.parametrize(("result", "final"), [("dry_run", 10), ("disabled", None)])
def test_only_what_ships_counts_as_saved(metrics: Metrics, result: str, final: int | None) -> None:
    """A dry run and a disabled call are decisions, and move no token and no trimmed result."""
    metrics.decided(route="routed", result=result, original_tokens=100, final_tokens=final, elided=4)
    assert values(metrics) == {("pinch_decisions_total", (("result", result), ("route", "routed"))): 1}


def test_saved_tokens_are_the_difference_of_the_other_two(metrics: Metrics) -> None:
    """Over any decisions, original minus final is saved."""
    for before, after in ((100, 40), (50, 50), (7, 6)):
        metrics.decided(route="routed", result="pruned", original_tokens=before, final_tokens=after)
    original, final, saved = (
        moved(metrics, f"pinch_tokens_{kind}_total") for kind in ("original", "final", "saved")
    )
    assert original - final == saved == 61


def test_no_label_value_comes_from_outside_its_set(metrics: Metrics) -> None:
    """Whatever values arrive, the page keeps the number of its series."""
    series = len(metrics.page().splitlines())
    for text in ("session-1", "gpt-x", "", "🙂", 'a"b\n'):
        metrics.decided(route=text, result=text, original_tokens=1, final_tokens=1)
        metrics.stage(text, 0.1)
        metrics.ranked(text)
        metrics.rpc_started(text)
        metrics.rpc_handled(text, text, 0.1)
    assert len(metrics.page().splitlines()) == series
    assert moved(metrics, "pinch_decisions_total", route="other", result="other") == 5
    unknown = {"grpc_service": "unknown", "grpc_method": "unknown"}
    assert moved(metrics, "grpc_server_handled_total", grpc_code="UNKNOWN", **unknown) == 5


def test_an_rpc_is_counted_at_both_ends(metrics: Metrics) -> None:
    """A served method counts under its own name, with its status code and its time."""
    metrics.rpc_started(PRUNE)
    metrics.rpc_handled(PRUNE, "INVALID_ARGUMENT", 0.5)
    labels = {"grpc_service": "pinch.v1.PruneService", "grpc_method": "Prune"}
    assert moved(metrics, "grpc_server_started_total", **labels) == 1
    assert moved(metrics, "grpc_server_handled_total", grpc_code="INVALID_ARGUMENT", **labels) == 1
    assert moved(metrics, "grpc_server_handling_seconds_sum", **labels) == 0.5


def test_the_store_reports_through_the_same_object() -> None:
    """Each of the store's reports moves its own metric by what it says."""
    metrics = busy()
    assert moved(metrics, "pinch_journal_pending") == 4
    assert moved(metrics, "pinch_journal_dropped_total") == 1
    assert moved(metrics, "pinch_decisions_stored_total") == 5
    assert moved(metrics, "pinch_store_errors_total") == 1
    assert moved(metrics, "pinch_outcomes_unmatched_total") == 1
    assert moved(metrics, "pinch_outcomes_replaced_total") == 1


def test_two_sets_of_metrics_share_nothing() -> None:
    """Each Metrics has a registry of its own, so two servers in one process do not mix."""
    first, second = busy(), Metrics(version="1.2.3")
    assert values(first)
    assert values(second) == {}


def test_every_metric_is_described_and_on_the_page() -> None:
    """The page holds exactly the described metrics, each with its type and a help text."""
    metrics = busy()
    lines = metrics.page().decode().splitlines()
    typed = {tuple(line.split()[2:]) for line in lines if line.startswith("# TYPE")}
    helped = {line.split()[2] for line in lines if line.startswith("# HELP") and len(line.split()) > 3}
    assert typed == {(line.name, line.kind) for line in metrics.descriptions()}
    assert helped == {line.name for line in metrics.descriptions()}


def test_promtool_finds_nothing_to_say() -> None:
    """`promtool check metrics` accepts the page of a busy server without a remark."""
    if shutil.which("promtool") is None and os.environ.get("CI") != "true":
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=busy().page(), capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_the_document_says_what_the_code_does() -> None:
    """docs/metrics.md is what `python -m pinch_server.observe.metrics_doc` prints."""
    assert DOC.read_text(encoding="utf-8") == metrics_page()


def test_the_document_has_every_value_of_a_label() -> None:
    """Whatever value a label of a series has, the document names it for that metric."""
    told: dict[tuple[str, str], set[str]] = {}
    page = DOC.read_text(encoding="utf-8").replace("\n  ", " ")
    lines = re.findall(r"^- `(\w+)`(?: of (.+?))?: (.+)$", page, re.MULTILINE)
    for label, names, values in lines:
        for name in re.findall(r"`(\w+)`", names) or [""]:
            told[label, name] = set(re.findall(r"`([^`]+)`", values))
    metrics = Metrics(version="")
    for line, family in zip(metrics.descriptions(), metrics.collect(), strict=True):
        for label in set(line.labels) - {"grpc_service", "grpc_method", "version"}:
            seen = {sample.labels[label] for sample in family.samples}
            assert seen <= told.get((label, line.name), told.get((label, ""), set())), (line.name, label)
