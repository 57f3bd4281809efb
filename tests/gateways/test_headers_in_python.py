"""The headers `x-pinch-*` as the client's integrations in Python read them, against the service itself."""

from __future__ import annotations

import pytest

from pinch import (
    CacheContext,
    CacheState,
    Format,
    Limits,
    RequestContext,
    Route,
    Stability,
    ToolGlobs,
    TrimStyle,
)
from pinch.integrations import headers as of_the_client
from pinch_server.core.limits import Limits as CoreLimits
from pinch_server.formats.format import Format as ServerFormat
from pinch_server.gateways import headers as of_the_server
from pinch_server.rpc.convert import FORMATS

RIGHT = {
    "x-pinch-budget-tokens": "50000",
    "x-pinch-keep-last-turns": "2",
    "x-pinch-max-summarize-chars": " 4000 ",
    "x-pinch-protected-max-chars": "0",
    "x-pinch-extra-fixed-tokens": "7",
    "x-pinch-keep-last-rounds": "1",
    "x-pinch-target-tokens": "40000",
    "x-pinch-min-tokens-saved": "100",
    "x-pinch-min-gain": "0.25",
    "x-pinch-protected-tools": "read_*, ls",
    "x-pinch-relevance": "False",
    "x-pinch-stability": "per_call",
    "x-pinch-trim-style": "KEYED",
    "x-pinch-bypass": "0",
    "x-pinch-dry-run": "1",
    "x-pinch-format": "bedrock",
    "x-pinch-route": "Passthrough",
    "x-pinch-session-id": "s-1",
    "x-pinch-model": "m",
    "x-pinch-prompt-rate": "2",
    "x-pinch-cached-rate": "0.2",
    "x-pinch-cache-write-rate": "2.5",
    "x-pinch-cache-state": "Cold",
    "x-pinch-cache-ttl-seconds": "300",
    "x-pinch-expected-further-calls": "0",
}
"""Each header that the service understands, with a value that it takes."""

WRONG = [
    ("x-pinch-budget-tokens", "abc"),
    ("x-pinch-budget-tokens", ""),
    ("x-pinch-budget-tokens", "1" * 400),
    ("x-pinch-budget-tokens", "1.5"),
    ("x-pinch-min-gain", "much"),
    ("x-pinch-min-gain", "0.25" + " " * 40 + "x"),
    ("x-pinch-relevance", "perhaps"),
    ("x-pinch-stability", "unspecified"),
    ("x-pinch-trim-style", "3"),
    ("x-pinch-bypass", "yes"),
    ("x-pinch-dry-run", ""),
    ("x-pinch-format", "openai"),
    ("x-pinch-route", "unspecified"),
    ("x-pinch-cache-state", "tepid"),
    ("x-pinch-cache-state", "unspecified"),
    ("x-pinch-cache-ttl-seconds", "-1"),
    ("x-pinch-cache-ttl-seconds", "2147483648"),
    ("x-pinch-cache-ttl-seconds", "0" * 400 + "1"),
    ("x-pinch-expected-further-calls", "1.5"),
    ("x-pinch-budget", "5"),
    ("x-pinch-", "5"),
]


def test_every_header_of_the_service_is_understood() -> None:
    """The client's integrations know the same headers, and give each the same meaning."""
    assert sorted(RIGHT) == sorted(of_the_server.NAMES)
    asked, served = of_the_client.read_headers(RIGHT), of_the_server.read_headers(RIGHT)
    assert (asked.problems, served.violations) == ((), ())
    assert asked.limits == Limits(
        budget_tokens=50_000,
        keep_last_turns=2,
        max_summarize_chars=4_000,
        protected_max_chars=0,
        extra_fixed_tokens=7,
        keep_last_rounds=1,
        target_tokens=40_000,
        min_tokens_saved=100,
        min_gain=0.25,
        protected_tools=ToolGlobs(globs=["read_*", "ls"]),
        relevance=False,
        stability=Stability.STABILITY_PER_CALL,
        trim_style=TrimStyle.TRIM_STYLE_KEYED,
    )
    for name, value in served.limits.items():
        if isinstance(value, bool | int | float):
            assert getattr(asked.limits, name) == value
    assert CoreLimits(**dict(served.limits)).protected_tools == tuple(asked.limits.protected_tools.globs)
    assert (asked.bypass, asked.dry_run) == (served.bypass, served.dry_run) == (False, True)
    assert asked.context.route == Route.ROUTE_PASSTHROUGH
    assert (asked.context.session_id, asked.context.model) == ("s-1", "m")
    assert asked.context.cache == CacheContext(
        state=CacheState.CACHE_STATE_COLD, ttl_seconds=300, expected_further_calls=0
    )
    assert (served.context.cache.ttl_seconds, served.context.cache.further_calls) == (300, 0)
    rates = asked.context.rates
    assert (rates.prompt, rates.cached_prompt, rates.cache_write) == ("2", "0.2", "2.5")


@pytest.mark.parametrize("format", ServerFormat)
def test_every_dialect_has_its_name(format: ServerFormat) -> None:
    """A dialect that the service knows by a name is the API's number of it."""
    asked = of_the_client.read_headers({"x-pinch-format": format})
    assert FORMATS[asked.format] is format
    assert Format.Name(asked.format)


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_what_the_service_refuses_is_a_problem(name: str, text: str) -> None:
    """A header that is unknown or malformed is told by its name, and its value is not taken for another."""
    assert of_the_server.read_headers({name: text}).violations
    asked = of_the_client.read_headers({name: text, "x-other": "1"})
    assert len(asked.problems) == 1
    assert asked.problems[0].startswith(name)
    assert len(asked.problems[0]) < 200
    assert not asked.limits.ListFields()


def test_headers_stand_over_limits_that_are_given() -> None:
    """A limit of a header replaces the given one; others stay, and what was given is not changed."""
    given = Limits(budget_tokens=9, keep_last_turns=3, protected_tools=ToolGlobs(globs=["a"]))
    none = of_the_client.read_headers({"x-request-id": "r"})
    assert none.over(given) is given
    assert none.over(None) is None
    assert none.context == RequestContext(request_id="r")
    some = of_the_client.read_headers({"x-pinch-budget-tokens": "5", "x-pinch-protected-tools": ""})
    merged = some.over(given)
    assert merged == Limits(budget_tokens=5, keep_last_turns=3, protected_tools=ToolGlobs())
    assert given.budget_tokens == 9
    assert of_the_client.read_headers({"x-pinch-budget-tokens": "5"}).over(None) == Limits(budget_tokens=5)
