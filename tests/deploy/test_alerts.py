"""The alert rules: each fires when it should and not otherwise, and leads to what to do."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.deploy.named import DEPLOY, OPERATING, ROOT, anchors, metrics_in, series_names
from tests.deploy.scraping import program

RULES = [
    rule for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
UNIT_TESTS = ROOT / "tests" / "deploy" / "alerts_test.yml"


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program("promtool"), *arguments], capture_output=True, text=True, check=False)


def test_the_rules_are_rules() -> None:
    """Prometheus's own tool takes the file."""
    done = promtool("check", "rules", str(DEPLOY / "alerts.yml"))
    assert done.returncode == 0, done.stderr


def test_each_alert_does_as_its_unit_tests_say() -> None:
    """Under the series of each unit test, exactly the expected alerts fire, worded as expected."""
    done = promtool("test", "rules", str(UNIT_TESTS))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_unit_test_either_way() -> None:
    """No alert is without a case in which it fires and one in which it stays quiet."""
    cases = yaml.safe_load(UNIT_TESTS.read_text())["tests"]
    asked = {
        (check["alertname"], bool(check["exp_alerts"])) for case in cases for check in case["alert_rule_test"]
    }
    assert asked == {(rule["alert"], fires) for rule in RULES for fires in (True, False)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_leads_to_what_to_do(rule: dict[str, Any]) -> None:
    """Each has a severity, a sentence, and a section of its own in docs/operating.md."""
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"].endswith(".")
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert ROOT / page == OPERATING
    assert anchor == rule["alert"].lower()
    assert anchor in anchors(OPERATING.read_text())


def test_the_page_has_no_section_about_an_alert_that_is_gone() -> None:
    """Each section of docs/operating.md that is named like an alert is about one."""
    named = set(re.findall(r"^#+ (Pinch[A-Z]\w+)$", OPERATING.read_text(), re.MULTILINE))
    assert named == {rule["alert"] for rule in RULES}


@pytest.mark.parametrize("file", ["alerts.yml", "grafana-dashboard.json"])
def test_every_series_asked_for_is_on_the_page(file: str) -> None:
    """Alerts and dashboard name series that the page of metrics has."""
    assert metrics_in((DEPLOY / file).read_text()) <= series_names()


def test_every_metric_is_on_the_dashboard() -> None:
    """No metric is without a panel: an operator need not know their names."""
    shown = metrics_in((DEPLOY / "grafana-dashboard.json").read_text())
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}
    known = {re.sub(r"_(bucket|sum|count)$", "", name) for name in series_names()}
    assert known - families == set()
