"""Extraction: who writes filters, when one may be asked for, and what it may cost."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from pinch_server.core.extraction.economics import Against
from pinch_server.core.extraction.form import Marking
from pinch_server.core.extraction.request_gate import FireOn
from pinch_server.core.limits import Bound
from pinch_server.settings import checks
from pinch_server.settings.marks import Told, Within

BASE_URLS: Final = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""Where a provider answers when nothing else is said."""

_MOST: Final = 2**31 - 1
_Share = Annotated[float, Within(Bound(0, 1))]
_Count = Annotated[int, Within(Bound(0, _MOST))]
_Price = Annotated[
    str, BeforeValidator(checks.rate), Told("USD per million tokens as a decimal such as 0.30, or empty")
]


class ExtractModelSettings(BaseModel, frozen=True, extra="forbid"):
    """The cheap model."""

    provider: Literal["anthropic", "openai"] = Field(
        default="anthropic", description="Whose API the model is asked through; openai: any compatible one."
    )
    base_url: Annotated[
        str,
        AfterValidator(checks.http_url),
        Told("http://HOST/v1, https://HOST/v1 or empty", "", checks.without_password),
    ] = Field(
        default="",
        repr=False,
        description=f"Where it answers; empty: {BASE_URLS['anthropic']} or {BASE_URLS['openai']}.",
    )
    name: Annotated[str, Told("a name that the endpoint knows")] = Field(
        default="claude-haiku-4-5", description="The model that writes the filters."
    )
    api_key: Annotated[
        str,
        AfterValidator(checks.header_key),
        Told("printable ASCII characters, or empty", "", lambda _: checks.HIDDEN),
    ] = Field(default="", repr=False, description="Key of the endpoint; empty: none.")
    auth: Literal["auto", "bearer", "x-api-key"] = Field(
        default="auto",
        description="The header that the key goes in: Authorization: Bearer or x-api-key; auto: as the"
        " provider has it.",
    )
    timeout_seconds: Annotated[float, Within(Bound(0.01, 3600))] = Field(
        default=90.0, description="Time for the filter of one result, all calls included (seconds)."
    )
    max_input_tokens: _Count = Field(
        default=0, description="The model's window (tokens); 0: by its name, else 32768."
    )
    prompt_price: _Price = Field(
        default="", description="Price of its input (USD per million tokens); empty: 1.00, as haiku's."
    )
    completion_price: _Price = Field(
        default="", description="Price of its output (USD per million tokens); empty: 5 x its input's."
    )
    cache_write_price: _Price = Field(
        default="", description="Price of input written to its cache (USD per million tokens); empty: 1.25 x."
    )
    cache_read_price: _Price = Field(
        default="", description="Price of input read from its cache (USD per million tokens); empty: 0.1 x."
    )

    @property
    def endpoint(self) -> str:
        """The base URL in use."""
        return self.base_url or BASE_URLS[self.provider]


class ExtractTriggerSettings(BaseModel, frozen=True, extra="forbid"):
    """What a request or a result must have for the model to be asked; 0 is no constraint."""

    min_output_tokens: _Count = Field(
        default=0, description="Least size of a result (tokens); 0: by how full the budget is."
    )
    min_request_tokens: _Count = Field(default=0, description="Least size of a request (tokens); 0: any.")
    min_messages: _Count = Field(default=0, description="Least number of messages of a request; 0: any.")
    min_request_share: _Share = Field(
        default=0.0, description="Least share of the budget a request fills; 0: any."
    )
    min_output_share: _Share = Field(
        default=0.0, description="Least share of the budget a result fills; 0: any."
    )
    huge_output_share: _Share = Field(
        default=0.0, description="Share of the budget from which on a result needs no trigger; 0: none."
    )


class ExtractColdSettings(BaseModel, frozen=True, extra="forbid"):
    """What is done when the provider's cache is known to have expired."""

    enabled: bool = Field(
        default=False, description="Whether a cold cache calls for extraction on its own terms."
    )
    min_tokens: _Count = Field(default=1_000, description="Least size of a result then (tokens).")
    min_idle_seconds: Annotated[float, Within(Bound(0, 31_536_000))] = Field(
        default=0.0, description="Least time since the session's last call then (seconds)."
    )
    max_calls: Annotated[int, Within(Bound(-1, 1_000_000))] = Field(
        default=4, description="Most results of one request then; -1: any number."
    )


class ExtractSettings(BaseModel, frozen=True, extra="forbid"):
    """Filters that a cheap model writes, in the place of elisions. See docs/extraction.md."""

    enabled: bool = Field(
        default=False, description="Whether a cheap model may write filters for long results."
    )
    mode: Literal["deferred", "inline"] = Field(
        default="deferred",
        description="deferred: after the reply, for later calls; inline: before it, within its deadline.",
    )
    allow_on_caching_backend: bool = Field(
        default=False, description="Whether it may run for a provider that caches prompts."
    )
    economic_gate: bool = Field(
        default=True, description="Whether a call must be expected to save more than it costs."
    )
    gate_against: Against = Field(
        default=Against.WHOLE,
        description="What that is reckoned against; whole: the result; excerpt: what is sent otherwise, so"
        " that only what lowers the bill is let through.",
    )
    strategy: Literal["code", "single", "rlm", "auto", "deterministic"] = Field(
        default="code", description="How a result is shortened; deterministic: without a model."
    )
    aggressiveness: Literal["low", "medium", "high"] = Field(
        default="high", description="How much of a result the model is asked to leave out."
    )
    context: Literal["goal", "recent", "full"] = Field(
        default="recent", description="How much of the conversation the model is shown."
    )
    context_messages: Annotated[int, Within(Bound(0, 1_000))] = Field(
        default=2, description="Newest messages shown beside all user turns, with context recent."
    )
    rewrite: bool = Field(
        default=True, description="Whether a filter may rewrite lines; false: it only leaves some out."
    )
    marker_mode: Marking = Field(
        default=Marking.FULL,
        description="What is said under a filtered result; full: how much is gone and, with originals, how to"
        " get it; summary: how much is gone; off: nothing.",
    )
    skip_reads: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Whether files read with line numbers are left alone; auto: where the provider caches.",
    )
    per_output: bool = Field(
        default=True, description="Whether results are extracted outside a cold sweep too."
    )
    fire_on: FireOn = Field(
        default=FireOn.PRESSURE,
        description="What calls for it; size: against the gate's advice, where most losses were made.",
    )
    every_n_requests: Annotated[int, Within(Bound(1, 1_000_000))] = Field(
        default=1, description="Of a session's qualifying requests, the first and each Nth after it may ask."
    )
    max_per_request: _Count = Field(default=0, description="Most results of one request; 0: any number.")
    max_per_session: _Count = Field(
        default=0, description="Most results of one session, counted in each process; 0: any number."
    )
    max_chars: Annotated[int, Within(Bound(0, 1_000_000))] = Field(
        default=4_000, description="Longest window of text that is kept without a model (characters)."
    )
    daily_usd: Annotated[float, Within(Bound(0, 1_000_000))] = Field(
        default=5.0,
        description="Most that calls may cost in a UTC day, all processes together (USD).",
    )
    queue: Annotated[int, Within(Bound(1, 10_000))] = Field(
        default=64, description="Most results of each process that wait for a deferred filter."
    )
    keep_days: Annotated[int, Within(Bound(1, 36_500))] = Field(
        default=30, description="How long extracted texts are kept after their last use (days)."
    )
    tenant: Annotated[str, Told("a name, or empty")] = Field(
        default="", description="Whose results these are where callers need no token; tenants share nothing."
    )
    model: ExtractModelSettings = ExtractModelSettings()
    trigger: ExtractTriggerSettings = ExtractTriggerSettings()
    cold_cache: ExtractColdSettings = ExtractColdSettings()
