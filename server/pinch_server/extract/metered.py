"""The model behind its meter: what a call cost, what a day may cost, a breaker that spares an endpoint."""

import math
from collections.abc import Callable
from typing import Final, Protocol

from pinch_server.core.counting import COUNTERS
from pinch_server.core.extraction.economics import ModelPrices
from pinch_server.core.extraction.guard import MOST_BILLED_PER_TOKEN
from pinch_server.extract.api import Api, UnreadableError
from pinch_server.extract.exchange import CLOSED, MALFORMED, TOO_LARGE, Exchange
from pinch_server.extract.model import DEADLINE, REPLY_TOKENS, ModelFault, Reply, Usage
from pinch_server.extract.prefix_marks import PrefixMarks
from pinch_server.extract.prompts.prompt import Prompt
from pinch_server.outbound.breaker import Breaker

BREAKER_OPEN: Final = "breaker_open"
SPEND_CAP: Final = "spend_cap"
SPEND_UNKNOWN: Final = "spend_unknown"
_FAIR_SECONDS: Final = 1.0
"""A timeout within less says nothing about the endpoint (seconds)."""
_CALLERS_FAULT: Final = frozenset({"400", "413", "422"})
_UNTOLD: Final = frozenset({DEADLINE, CLOSED, TOO_LARGE, MALFORMED})
"""Calls that were sent and did not tell what they cost: a reply may have been written, and billed."""
_TOKENS_PER_CHAR: Final = 2
"""More than any language has: what is set aside for a call is never too little."""


class Spending(Protocol):
    """What the calls of a day cost, all processes together. Shared by threads, and never raises."""

    def today(self) -> str:
        """Names the day."""
        ...

    def set_aside(self, usd: float, day: str) -> bool | None:
        """Takes an amount out of a day's; False when so much is not left, None when nobody knows (USD)."""
        ...

    def settle(self, usd: float, cost_usd: float, day: str) -> None:
        """Puts back what was set aside of a day's, and takes what the call cost instead (USD)."""
        ...


class MeteredModel:
    """A model at an endpoint. Shared by threads.

    Args:
        name: The model's name there.
        api: Its provider's API.
        exchange: The way there.
        prices: What it charges; None where that is not known.
        spending: What a day may cost.
        breaker: Spares an endpoint that fails.
        monotonic: A clock that never goes back (seconds).
        on_ended: Told of every call that was tried: its fault or nothing, its cost, its time (milliseconds).
    """

    def __init__(
        self,
        name: str,
        api: Api,
        exchange: Exchange,
        prices: ModelPrices | None,
        spending: Spending,
        breaker: Breaker,
        monotonic: Callable[[], float],
        on_ended: Callable[[Reply | ModelFault], None] = lambda _: None,
    ) -> None:
        self._name = name
        self._api = api
        self._exchange = exchange
        self._prices = prices or ModelPrices()
        self._spending = spending
        self._breaker = breaker
        self._marks = PrefixMarks(name, monotonic)
        self._monotonic = monotonic
        self._on_ended = on_ended

    def ask(self, prompt: Prompt, *, seconds: float, max_tokens: int = REPLY_TOKENS) -> Reply | ModelFault:
        """Asks once; whatever goes wrong is the value that comes back.

        Args:
            prompt: What to ask.
            seconds: Time for all of it (seconds).
            max_tokens: Most tokens of the reply.
        """
        answer = self._asked(prompt, seconds, max_tokens)
        self._on_ended(answer)
        return answer

    def close(self) -> None:
        """Closes the connections."""
        self._exchange.close()

    def _asked(self, prompt: Prompt, seconds: float, max_tokens: int) -> Reply | ModelFault:
        if seconds <= 0:
            return ModelFault(DEADLINE)
        if not self._breaker.allows():
            return ModelFault(BREAKER_OPEN)
        verdict = self._breaker.abandoned
        most = self._most(prompt, max_tokens)
        try:
            day = self._spending.today()
            is_enough = self._spending.set_aside(most, day)
            if not is_enough:
                return ModelFault(SPEND_UNKNOWN if is_enough is None else SPEND_CAP)
            # Set aside for good unless the call tells what it cost: one that hangs may have been billed.
            answer = self._posted(prompt, seconds, max_tokens)
            is_untold = isinstance(answer, ModelFault) and answer.slug in _UNTOLD
            self._spending.settle(most, most if is_untold else answer.cost_usd, day)
            if isinstance(answer, Reply):
                verdict = self._breaker.succeeded
            elif answer.slug not in _CALLERS_FAULT and not (
                answer.slug == DEADLINE and seconds < _FAIR_SECONDS
            ):
                verdict = self._breaker.failed
        finally:
            verdict()
        return answer

    def _posted(self, prompt: Prompt, seconds: float, max_tokens: int) -> Reply | ModelFault:
        before = self._monotonic()
        mark = self._marks.begin(prompt)
        is_written = False
        try:
            body = self._api.body(self._name, prompt, max_tokens, marks_prefix=mark is not None)
            answer = self._exchange.post(body, seconds)
            latency_ms = 1_000 * (self._monotonic() - before)
            if isinstance(answer, str):
                return ModelFault(answer, cost_usd=self._unbilled(answer, prompt), latency_ms=latency_ms)
            try:
                read = self._api.read(answer.body)
            except UnreadableError:
                # It was answered with success, so it was billed, and nobody knows how much.
                return ModelFault(MALFORMED, cost_usd=self._most(prompt, max_tokens), latency_ms=latency_ms)
            is_written = True
        finally:
            if mark is not None:
                self._marks.end(mark, is_written=is_written)
        usage = self._estimated(prompt, read.text) if read.usage == Usage() else read.usage
        cost = self._prices.cost(usage.prompt, usage.completion, usage.cache_read, usage.cache_write)
        return Reply(read.text, read.is_truncated, usage, cost, latency_ms)

    @staticmethod
    def _estimated(prompt: Prompt, text: str) -> Usage:
        """What was billed at most where the endpoint does not say, by the widest ratio seen (tokens)."""
        counter = COUNTERS["o200k"]
        texts = [*(block.text for block in prompt.system), prompt.user]
        asked, answered = counter.tokens(sum(counter.units(texts))), counter.tokens(counter.units([text])[0])
        return Usage(*(math.ceil(tokens * MOST_BILLED_PER_TOKEN) for tokens in (asked, answered)))

    def _most(self, prompt: Prompt, max_tokens: int) -> float:
        """More than a call can cost (USD)."""
        chars = len(prompt.user) + sum(len(block.text) for block in prompt.system)
        return self._prices.cost(0, max_tokens, cache_write=chars * _TOKENS_PER_CHAR)

    def _unbilled(self, slug: str, prompt: Prompt) -> float:
        """What a call without an answer may have cost: its input, when it was sent and nothing came back."""
        return self._most(prompt, 0) if slug in (DEADLINE, CLOSED, TOO_LARGE) else 0.0
