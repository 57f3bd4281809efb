"""How tokens are estimated."""

import pytest
import toktok
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.counting import COUNTERS, Chars3, O200k


def test_chars3_has_one_floor_a_message() -> None:
    """Characters are added up over a message and divided once; an empty message costs nothing."""
    counter = Chars3()
    assert counter.tokens(sum(counter.units(["ab", "ab"]))) == 1
    assert counter.tokens(sum(counter.units(["", ""]))) == 0
    assert counter.units(["漢字\U0001f600"]) == [3]


@given(st.lists(st.text(max_size=60), max_size=6))
def test_o200k_agrees_with_its_vocabulary(texts: list[str]) -> None:
    """A text of ordinary length counts exactly what the vocabulary says, whatever stands beside it."""
    assert O200k().units(texts) == toktok.batch_count(texts, "o200k_base", 1)


@pytest.mark.parametrize("text", ["word " * 40_000, "x" * 300_000, "漢字" * 50_000, "a1-" * 70_000])
def test_long_texts_are_sampled_within_the_bound(text: str) -> None:
    """Pieces and samples of a long text stay within the error bound that the reply names."""
    counter = O200k()
    exact = toktok.batch_count([text], "o200k_base", 1)[0]
    assert abs(counter.units([text])[0] - exact) <= counter.error_bound([text]) * exact


def test_the_bound_tells_what_was_sampled() -> None:
    """A text made to mislead the samples is within the bound that its sampling widens."""
    text = ("\U0001f1e9x9Qz" * 2_048 + " " * 8_192) * 6
    exact = toktok.batch_count([text], "o200k_base", 1)[0]
    assert O200k().error_bound(["short"]) == pytest.approx(0.05)
    assert abs(O200k().units([text])[0] - exact) <= O200k().error_bound([text]) * exact


def test_lone_surrogates_and_special_tokens_are_text() -> None:
    """Unpaired surrogates raise nothing, and text like a control token counts as the characters it is."""
    surrogate, special = O200k().units(["bad \ud83d here", "<|endoftext|>"])
    assert surrogate > 0
    assert special > 1


def test_estimates_are_chosen_by_name() -> None:
    """Each estimate is known by the name that settings and replies use."""
    assert {name: counter.method for name, counter in COUNTERS.items()} == {
        "chars3": "chars3",
        "o200k": "o200k",
    }
