"""What the settings say about the model, as extraction takes it."""

import pytest

from pinch_server.core.extraction.economics import HAIKU, ModelPrices
from pinch_server.extract.chosen import prices_of
from pinch_server.settings import ExtractModelSettings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, HAIKU),
        ({"completion_price": "4"}, ModelPrices(1.0, 4.0, 1.25, 0.1)),
        ({"name": "qwen3-coder", "prompt_price": "2"}, ModelPrices(2.0, 10.0, 2.5, 0.2)),
        ({"name": "qwen3-coder", "prompt_price": "0"}, ModelPrices(0.0, 0.0, 0.0, 0.0)),
        (
            {"name": "gpt-5-mini", "prompt_price": "2", "cache_write_price": "0", "cache_read_price": "0"},
            ModelPrices(2.0, 10.0, 0.0, 0.0),
        ),
        ({"name": "qwen3-coder"}, None),
    ],
)
def test_a_price_that_is_set_holds(given: dict[str, str], expected: ModelPrices | None) -> None:
    """Each price is the one that is set, zero too, else follows from the input's or from the name."""
    assert prices_of(ExtractModelSettings.model_validate(given)) == expected
