"""The economic gate: every figure that follows from its formulas is worked out again."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pinch_server.core.extraction.classes import CLASSES
from pinch_server.core.extraction.economics import (
    BILLED_PER_TOKEN,
    GOAL_TOKENS,
    HAIKU,
    PREAMBLE_TOKENS,
    UNPRICED_CALL_USD,
    Allowance,
    ModelPrices,
    PromptPrices,
    Reason,
    Terms,
    call_cost,
    expected_reuses,
    least_reuses,
    weigh,
)
from pinch_server.core.pricing import CacheState
from pinch_server.core.rates import read_rates

ANY = Allowance(on_caching_backend=True)
PRIOR_SHARE = 0.12
"""What the design takes a filter to remove of a text of no class, with nothing learned."""
SHARES = {one.name: one.removed_share for one in CLASSES}
MEASURED_CALL_USD = 0.0035
MEASURED_GOAL_TOKENS = 1_143


def least_that_pays(terms: Callable[[int], Terms]) -> int:
    """The smallest size that the gate lets through, by halving; savings and costs both grow with it."""
    low, high = 0, 10_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if weigh(terms(middle), ANY).is_allowed else (middle, high)
    return high


def of_size(
    share: float,
    state: CacheState,
    *,
    was_seen: bool,
    goal: int = GOAL_TOKENS,
    observed: float | None = None,
) -> Callable[[int], Terms]:
    def terms(tokens: int) -> Terms:
        return Terms(
            tokens,
            share,
            state,
            was_seen,
            least_reuses(1, was_seen=was_seen),
            PromptPrices(),
            call_cost(tokens, goal, HAIKU, observed),
        )

    return terms


@pytest.mark.parametrize(
    ("state", "was_seen", "least"),
    [
        (CacheState.WARM, False, 56_384),
        (CacheState.WARM, True, 40_274),
        (CacheState.NONE, True, 3_008),
    ],
)
def test_break_even_sizes(state: CacheState, was_seen: bool, least: int) -> None:
    """With nothing learned, a warm cache asks for more than 56,383 tokens, 40,273 of a recurring content."""
    assert least_that_pays(of_size(PRIOR_SHARE, state, was_seen=was_seen)) == least


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("ls_listing", 1_600),
        ("markdown_doc", 5_100),
        ("multi_file_bundle", 5_300),
        ("source_code", 6_150),
        ("read_with_line_numbers", 6_300),
        ("yaml_config", 7_050),
    ],
)
def test_cold_break_even_by_class_at_list_prices(name: str, least: int) -> None:
    """At list prices a cold recurring result of a class pays from the size that the design works out."""
    found = least_that_pays(of_size(SHARES[name], CacheState.COLD, was_seen=True))
    assert found == pytest.approx(least, rel=0.015)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("multi_file_bundle", 2_300),
        ("read_with_line_numbers", 3_100),
        ("grep_output", 17_500),
        ("ls_listing", 1_000),
        ("test_result_log", 77_800),
        ("markdown_doc", 2_200),
        ("json_blob", 41_700),
        ("yaml_config", 3_900),
        ("ansi_cli_output", 14_600),
        ("source_code", 3_000),
    ],
)
def test_cold_break_even_by_class_at_the_measured_price(name: str, least: int) -> None:
    """With calls measured at $0.0035, the table of classes of the design comes out, to its own rounding."""
    terms = of_size(
        SHARES[name],
        CacheState.COLD,
        was_seen=True,
        goal=GOAL_TOKENS + MEASURED_GOAL_TOKENS,
        observed=MEASURED_CALL_USD,
    )
    assert least_that_pays(terms) == pytest.approx(least, rel=0.05)


@pytest.mark.parametrize(
    ("was_seen", "messages", "reuses"), [(True, 1, 6), (True, 50, 6), (False, 20, 3), (False, 19, 4)]
)
def test_least_reuses(was_seen: bool, messages: int, reuses: int) -> None:
    """By the design's prior a result is sent six more times when seen, else three in a long conversation."""
    assert least_reuses(messages, was_seen=was_seen) == reuses


@pytest.mark.parametrize(
    ("was_seen", "messages", "mean", "reuses"),
    [(False, 1, 12.0, 12), (False, 20, 12.0, 22), (True, 20, 0.0, 10), (True, 3, 0.0, 6), (False, 1, 0.0, 4)],
)
def test_expected_reuses(was_seen: bool, messages: int, mean: float, reuses: int) -> None:
    """As many calls are expected as trims outlive on average and as were made, never fewer than the prior."""
    assert expected_reuses(messages, mean, was_seen=was_seen) == reuses


def test_what_is_written_behind_the_reply_saves_nothing_in_it() -> None:
    """A filter that comes too late for its own call saves in the later ones alone."""
    now = Terms(10_000, 0.3, CacheState.COLD, False, 4, PromptPrices(), 0.01)
    later = replace(now, saves_now=False)
    assert now.saving_usd - later.saving_usd == pytest.approx(3_000 * 3.75 / 1e6)
    assert later.saving_usd == pytest.approx(3_000 * 4 * 0.3 / 1e6)


@pytest.mark.parametrize(
    ("state", "values"),
    [
        (CacheState.WARM, (0.3, 0.3)),
        (CacheState.COLD, (3.75, 0.3)),
        (CacheState.NONE, (3.0, 3.0)),
    ],
)
def test_what_a_token_is_worth(state: CacheState, values: tuple[float, float]) -> None:
    """A removed token is worth a read when warm, a write first when cold, the plain price without a cache."""
    assert PromptPrices().values(state) == pytest.approx(values)


def test_missing_rates_follow_from_the_price_of_the_prompt() -> None:
    """A read costs a tenth and a write five quarters where nobody said; without any price, a list price."""
    assert PromptPrices.of(read_rates("2", "", "")) == PromptPrices(2.0, 0.2, 2.5)
    assert PromptPrices.of(read_rates("2", "0.5", "4")) == PromptPrices(2.0, 0.5, 4.0)
    assert PromptPrices.of(None) == PromptPrices(3.0, pytest.approx(0.3), 3.75)


def test_an_agent_s_model_that_is_free_leaves_nothing_to_save() -> None:
    """A prompt price of 0 is a price, and no call that costs anything pays then."""
    free = PromptPrices.of(read_rates("0", "", ""))
    assert free == PromptPrices(0.0, 0.0, 0.0)
    terms = Terms(1_000_000, 0.6, CacheState.NONE, True, 100, free, 0.000001)
    assert not weigh(terms, Allowance()).is_allowed


@pytest.mark.parametrize(("observed", "cost"), [(None, 0.0), (0.0, 0.0), (0.02, 0.01)])
def test_an_extraction_model_that_is_free(observed: float | None, cost: float) -> None:
    """A model of one's own at a price of 0 has a cost like any other, before its first call and after."""
    assert call_cost(2_000, GOAL_TOKENS, ModelPrices(0.0, 0.0, 0.0, 0.0), observed) == cost


def test_the_price_of_a_call() -> None:
    """A call costs what its formula says, scaled to what calls were seen to cost, averaged where far off."""
    listed = (int((1_893 + 2_000 + 200) * 1.29) + 5 * 200) / 1e6
    assert call_cost(2_000, 200, HAIKU) == pytest.approx(listed)
    assert call_cost(5_000, 200, HAIKU) == call_cost(500_000, 200, HAIKU)
    assert call_cost(2_000, 200, HAIKU, listed / 2) == pytest.approx(listed / 2)
    assert call_cost(2_000, 200, HAIKU, listed * 20) == pytest.approx(listed * 10.5)
    assert call_cost(2_000, 200, None) == UNPRICED_CALL_USD
    assert call_cost(2_000, 200, None, 0.004) == 0.004


def test_what_was_billed() -> None:
    """A bill adds up each kind of token at its own price."""
    assert ModelPrices(1, 5, 1.25, 0.1).cost(1_000, 200, 4_217, 100) == pytest.approx(
        (1_000 + 1_000 + 421.7 + 125) / 1e6
    )


@pytest.mark.parametrize("state", [CacheState.WARM, CacheState.COLD])
def test_a_caching_backend_declines_whatever_it_saves(state: CacheState) -> None:
    """Without leave, nothing is extracted for a provider that caches prompts, but in a cold sweep."""
    terms = Terms(1_000_000, 0.6, state, True, 1, PromptPrices(), 0.01)
    assert weigh(terms, Allowance()).reason is Reason.CACHING
    assert not weigh(terms, Allowance(may_explore=True)).is_allowed
    assert weigh(terms, Allowance(is_sweeping=True)).is_allowed
    assert weigh(terms, ANY).reason is Reason.RECURRING


@pytest.mark.parametrize(
    ("state", "was_seen", "reason"),
    [
        (CacheState.WARM, True, Reason.RECURRING),
        (CacheState.COLD, False, Reason.COLD),
        (CacheState.NONE, False, Reason.NON_CACHING),
        (CacheState.WARM, False, Reason.PAYS),
    ],
)
def test_reasons_to_allow(state: CacheState, was_seen: bool, reason: Reason) -> None:
    """What pays says why it does."""
    terms = Terms(1_000_000, 0.6, state, was_seen, 1, PromptPrices(), 0.01)
    assert weigh(terms, ANY).reason is reason


def test_as_much_saved_as_spent_does_not_pay() -> None:
    """The gate lets through what saves strictly more than it costs; below it, only what is explored."""
    even = Terms(1_000_000, 0.1, CacheState.WARM, False, 4, PromptPrices(), 0.15)
    assert even.saving_usd == pytest.approx(0.15)
    even = Terms(1_000_000, 0.1, CacheState.WARM, False, 4, PromptPrices(), even.saving_usd)
    assert weigh(even, ANY).reason is Reason.NOT_PAID_WARM
    assert weigh(even, Allowance(True, False, True)).reason is Reason.EXPLORING
    cold = Terms(1, 0.1, CacheState.COLD, False, 1, PromptPrices(), 1.0)
    assert weigh(cold, ANY).reason is Reason.NOT_PAID


def test_the_figures_of_billing() -> None:
    """The preamble counted twice adds 2,442 billed tokens; a write costs 12.5 reads."""
    assert round(PREAMBLE_TOKENS * BILLED_PER_TOKEN) == 2_442
    now, later = PromptPrices().values(CacheState.COLD)
    assert now / later == pytest.approx(12.5)
