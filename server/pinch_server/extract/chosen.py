"""The extractor that the settings choose."""

import hashlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, Protocol
from urllib.parse import urlsplit

from pinch_server.core.counting import Counter
from pinch_server.core.extraction.candidate_gate import Caps
from pinch_server.core.extraction.economics import HAIKU, ModelPrices
from pinch_server.core.extraction.form import Marking
from pinch_server.core.extraction.guard import window_of
from pinch_server.core.extraction.record import FilterRecord
from pinch_server.core.extraction.request_gate import Rules
from pinch_server.extract.anthropic import Anthropic
from pinch_server.extract.api import Api
from pinch_server.extract.consideration import ExtractionObserver, Originals, SettlesForms
from pinch_server.extract.endpoint_log import EndpointLog
from pinch_server.extract.exchange import Exchange
from pinch_server.extract.extractor import ModelExtractor
from pinch_server.extract.filtering import Filtering
from pinch_server.extract.metered import MeteredModel, Spending
from pinch_server.extract.model import ModelFault, Reply
from pinch_server.extract.openai import OWN_HOST, OpenAI
from pinch_server.extract.outcome import Aggressiveness, FilterOptions, Strategy
from pinch_server.extract.policy import ExtractionPolicy
from pinch_server.extract.prompts.context import ContextMode
from pinch_server.extract.prompts.task import PROMPT_VERSION
from pinch_server.extract.recording import MadeWith
from pinch_server.extract.sandbox import Sandbox
from pinch_server.extract.weighing import RemembersCalls
from pinch_server.extract.writing import FilterWriter
from pinch_server.outbound.breaker import Breaker
from pinch_server.settings import ExtractModelSettings, ExtractSettings

_SKIPS: Final = {"auto": None, "on": True, "off": False}
_HAIKU: Final = "haiku"
_VERSION: Final = "/v1"


class ChosenObserver(ExtractionObserver, Protocol):
    """Counts what extraction does, and what its model is asked."""

    def model_called(
        self, result: str, *, cost_usd: float, latency_ms: float, tokens: tuple[int, int, int, int]
    ) -> None:
        """Counts a call to the model: how it ended, its cost (USD), time (milliseconds) and tokens."""
        ...


def open_extractor(
    settings: ExtractSettings,
    observer: ChosenObserver,
    monotonic: Callable[[], float],
    counter: Counter,
    store: SettlesForms,
    spending: Spending,
    originals: Originals | None = None,
    *,
    past_calls: RemembersCalls | None = None,
    log_filter: Callable[[FilterRecord], None] = lambda _: None,
) -> tuple[ModelExtractor, Callable[[], None]]:
    """Makes ready what extraction needs; nothing is asked of a model yet.

    Args:
        settings: What the operator has set.
        observer: Counts.
        monotonic: A clock that never goes back (seconds).
        counter: The estimate in force.
        store: Keeps texts and forms.
        spending: What a day may cost.
        originals: Keeps originals; None where nobody does.
        past_calls: Knows the last calls of sessions; None where nobody does.
        log_filter: Takes the record of each filter.

    Returns:
        The extractor, and what closes it.

    Raises:
        SandboxError: Programs cannot be run here.
    """
    policy = policy_of(settings, keeps_originals=originals is not None)
    sandbox = Sandbox()
    sandbox.start()
    model = _model(settings.model, observer, monotonic, spending) if policy.needs_model else None
    writer = FilterWriter(
        model,
        sandbox,
        counter,
        options_of(settings),
        ContextMode(settings.context),
        settings.context_messages,
        settings.marker_mode,
    )
    filtering = Filtering(
        writer,
        store,
        observer,
        monotonic,
        seconds=policy.seconds,
        most_waiting=settings.queue,
        shares=policy.shares,
        made_with=MadeWith(policy.model, settings.strategy, settings.aggressiveness),
        log=log_filter,
    )
    extractor = ModelExtractor(policy, filtering, store, observer, originals, past_calls)

    def close() -> None:
        # What is under way ends with its endpoint and its sandbox, so that nobody waits for it.
        if model is not None:
            model.close()
        sandbox.close()
        extractor.close()

    return extractor, close


def policy_of(settings: ExtractSettings, *, keeps_originals: bool) -> ExtractionPolicy:
    """What the settings say about extraction.

    Args:
        settings: The settings.
        keeps_originals: Whether originals are kept, and others may have a text that names its own.
    """
    trigger, cold = settings.trigger, settings.cold_cache
    model = settings.model
    needs_model = Strategy(settings.strategy) is not Strategy.DETERMINISTIC
    shares = keeps_originals and settings.marker_mode is Marking.FULL
    return ExtractionPolicy(
        rules=Rules(
            per_output=settings.per_output,
            fire_on=settings.fire_on,
            min_output_tokens=trigger.min_output_tokens,
            min_request_tokens=trigger.min_request_tokens,
            min_messages=trigger.min_messages,
            min_request_share=trigger.min_request_share,
            min_output_share=trigger.min_output_share,
            huge_output_share=trigger.huge_output_share,
            every_n_requests=settings.every_n_requests,
            sweeps_cold=cold.enabled,
            cold_min_tokens=cold.min_tokens,
            cold_min_idle_seconds=cold.min_idle_seconds,
        ),
        caps=Caps(settings.max_per_request, settings.max_per_session, cold.max_calls),
        is_inline=settings.mode == "inline",
        seconds=model.timeout_seconds,
        model=model.name if needs_model else "",
        prices=prices_of(model),
        window=window_of(model.max_input_tokens, model.name),
        prompt_version=PROMPT_VERSION,
        fingerprint=_fingerprint(settings, names_originals=shares),
        needs_model=needs_model,
        allows_caching=settings.allow_on_caching_backend,
        has_gate=settings.economic_gate,
        against=settings.gate_against,
        skips_reads=_SKIPS[settings.skip_reads],
        keep_ratio=FilterOptions().min_keep_ratio,
        context=ContextMode(settings.context),
        context_messages=settings.context_messages,
        shares=shares,
        marking=settings.marker_mode,
    )


def options_of(settings: ExtractSettings) -> FilterOptions:
    """How the settings have results filtered."""
    strategy = Strategy(settings.strategy)
    return FilterOptions(
        strategy=strategy,
        aggressiveness=Aggressiveness(settings.aggressiveness),
        rewrite=settings.rewrite,
        # Where a model fails the elision stands: a window of text is no better.
        allow_deterministic=strategy is Strategy.DETERMINISTIC,
        max_chars=settings.max_chars,
        floor_tokens=settings.trigger.min_output_tokens or FilterOptions().floor_tokens,
        seconds=settings.model.timeout_seconds,
    )


def prices_of(settings: ExtractModelSettings) -> ModelPrices | None:
    """What the model charges: as set, nothing included, else by its name; None where neither says."""
    if not settings.prompt_price and _HAIKU not in settings.name:
        return None
    prompt = _price(settings.prompt_price, HAIKU.prompt)
    return ModelPrices(
        prompt,
        _price(settings.completion_price, 5 * prompt),
        _price(settings.cache_write_price, 1.25 * prompt),
        _price(settings.cache_read_price, 0.1 * prompt),
    )


def _price(text: str, otherwise: float) -> float:
    return float(Decimal(text)) if text else otherwise


def _fingerprint(settings: ExtractSettings, *, names_originals: bool) -> str:
    options = options_of(settings)
    shaping = [
        settings.strategy,
        options.floor_tokens if options.strategy is Strategy.AUTO else 0,
        options.rewrite,
        options.allow_deterministic,
        round(options.min_keep_ratio, 4),
        options.max_chars,
        settings.aggressiveness,
        settings.marker_mode,
        # A text that names an original must not outlive the keeping of originals in new sessions.
        names_originals,
    ]
    return hashlib.sha256(json.dumps(shaping).encode()).hexdigest()[:16]


def _model(
    settings: ExtractModelSettings,
    observer: ChosenObserver,
    monotonic: Callable[[], float],
    spending: Spending,
) -> MeteredModel:
    api: Api = Anthropic()
    if settings.provider == "openai":
        api = OpenAI(is_own=urlsplit(settings.endpoint).hostname == OWN_HOST)
    exchange = Exchange(address_of(settings.endpoint, api), headers_of(settings, api))
    endpoint = EndpointLog(settings.name)

    def ended(answer: Reply | ModelFault) -> None:
        endpoint.ended(answer)
        usage = answer.usage
        result = answer.slug if isinstance(answer, ModelFault) else _answered(answer)
        observer.model_called(
            result,
            cost_usd=answer.cost_usd,
            latency_ms=answer.latency_ms,
            tokens=(usage.prompt, usage.completion, usage.cache_read, usage.cache_write),
        )

    prices = prices_of(settings)
    return MeteredModel(settings.name, api, exchange, prices, spending, Breaker(monotonic), monotonic, ended)


def headers_of(settings: ExtractModelSettings, api: Api) -> Mapping[str, str]:
    """What goes with every question: what the API asks for, and the key in the header that is set."""
    key = settings.api_key
    if not key or settings.auth == "auto":
        return api.headers(key)
    name, value = ("Authorization", f"Bearer {key}") if settings.auth == "bearer" else (settings.auth, key)
    return {**api.headers(""), name: value}


def address_of(endpoint: str, api: Api) -> str:
    """Where a question is posted; a version that both the base URL and the API have stands there once.

    Args:
        endpoint: The base URL.
        api: The provider's API.
    """
    return endpoint.rstrip("/").removesuffix(_VERSION if api.path.startswith(_VERSION) else "") + api.path


def _answered(reply: Reply) -> str:
    return "truncated" if reply.is_truncated else "answered"
