"""docs/extraction.md: its settings can be used, and what it names is there."""

import re
from pathlib import Path

from pinch_server.core.extraction.candidate_gate import Gate
from pinch_server.settings import load_settings
from tests.promises.declared import ROOT

PAGE = (ROOT / "docs" / "extraction.md").read_text(encoding="utf-8")


def test_the_settings_of_the_page_switch_extraction_on(tmp_path: Path) -> None:
    """The block to paste is legal as it stands, key or no key, and turns extraction on."""
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    config = tmp_path / "pinch.toml"
    config.write_text(block)
    settings = load_settings(config, {})
    assert settings.extract.enabled
    assert settings.extract.model.prompt_price
    assert settings.extract.model.completion_price


def test_every_gate_of_the_page_is_one() -> None:
    """The slugs of the table of gates are those of the reply."""
    table = PAGE[PAGE.index("| gate | means |") :].partition("\n\n")[0]
    named = {slug for row in table.splitlines()[2:] for slug in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(named) > 5
    assert named <= set(Gate)


def test_every_setting_and_metric_of_the_page_is_one() -> None:
    """Keys, variables and metrics that the page names stand in the generated pages."""
    settings, metrics = ((ROOT / "docs" / name).read_text() for name in ("configuration.md", "metrics.md"))
    keys = set(re.findall(r"`((?:extract|originals)\.[\w.]+)", PAGE))
    variables = set(re.findall(r"`(PINCH_\w+)`", PAGE))
    assert len(keys) > 3
    assert variables
    assert [name for name in keys | variables if f"`{name}`" not in settings] == []
    counted = set(re.findall(r"`(pinch_\w+)`", PAGE))
    assert counted
    assert [name for name in counted if name not in metrics] == []
