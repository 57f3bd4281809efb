"""The table of prices, and the many spellings of a model's name."""

from datetime import date
from decimal import Decimal

import pytest

from pinch_server.core import price_table
from pinch_server.core.price_table import listed_rates, plain_name
from pinch_server.core.rates import Rates


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4-5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
        "openrouter/anthropic/Claude-Sonnet-4-5",
    ],
)
def test_a_model_is_known_in_its_usual_spellings(spelling: str) -> None:
    """Provider, region, version and date in a name do not hide its price."""
    assert listed_rates(spelling) == Rates(Decimal(3), Decimal("0.3"), Decimal("3.75"))


def test_a_model_that_is_not_listed_has_no_price() -> None:
    """No price is made up: not by likeness of names, not for a longer name, not for none."""
    for name in ("house-model", "claude-sonnet-4-5-mega", "gpt-4.1-ultra", ""):
        assert listed_rates(name) is None


def test_names_keep_what_tells_models_apart() -> None:
    """Dots and sizes belong to a name: only versions and dates are taken off its end."""
    assert plain_name("gpt-4.1-mini-2025-04-14") == "gpt-4.1-mini"
    assert plain_name("gpt-4.1") == "gpt-4.1"
    assert plain_name("gemini-2.5-flash-preview-04-17") == "gemini-2.5-flash"


def test_every_line_is_a_price() -> None:
    """Each line has a plain name, a price of the prompt, and no cached price above it."""
    date.fromisoformat(price_table.AS_OF)
    names = [line.split()[0] for line in price_table._TABLE.splitlines()]
    assert len(names) == len(set(names)) > 200
    for name in names:
        rates = listed_rates(name)
        assert rates is not None
        assert plain_name(name) == name
        assert 0 <= rates.read <= rates.prompt


def test_the_table_is_that_of_its_source() -> None:
    """Where the source is installed in the version named, writing the table anew changes nothing."""
    genai_prices = pytest.importorskip("genai_prices", reason="`make prices` has its own environment")
    from importlib.metadata import version

    from bench.prices import lines

    assert genai_prices
    if f"genai-prices {version('genai-prices')}" != price_table.SOURCE:
        pytest.skip("another version of the source is installed")
    written = sorted(lines(date.fromisoformat(price_table.AS_OF)))
    assert written == price_table._TABLE.splitlines()
