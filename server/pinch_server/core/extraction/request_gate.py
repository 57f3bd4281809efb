"""The gates a whole request passes before any of its results is looked at, in their order.

Design of extraction, section 2. The window is the size that a conversation may grow to: the budget it is
pruned to.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

HIGH_PRESSURE: Final = 0.60
MODERATE_PRESSURE: Final = 0.25
FAST_GROWTH: Final = 0.10
SIZE_FLOOR_TOKENS: Final = 2_000
"""The floor where size alone decides (tokens)."""
LEAST_FLOOR_TOKENS: Final = 300
"""The floor where a share of the window is set and no size (tokens), unless the share is more."""
_FLOORS: Final = ((0.80, 0.0005), (0.60, 0.0015), (0.25, 0.0030), (0.0, 0.0060))
_WORD: Final = regex.compile(
    r"[\p{L}\p{N}]{4,}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Khmer}\p{Lao}\p{Myanmar}]"
)
"""A word to go by: four letters or digits, or one character of a script that writes without spaces."""


class FireOn(StrEnum):
    """What calls for extraction."""

    PRESSURE = "pressure"
    """How full the window is, and how fast it fills."""
    SIZE = "size"
    """The size of a result alone, against the economic gate's advice."""


class Trigger(StrEnum):
    """Why a request may have results extracted, or may not."""

    SIZE = "size threshold (fire_on: size)"
    EXPLICIT = "explicit min_tokens/trigger configured"
    HIGH = "high context pressure"
    GROWING = "moderate pressure with fast context growth"
    STATIC = "moderate pressure but context near-static"
    LOW = "low context pressure"
    UNKNOWN = "context window unknown; absolute trigger only"
    COLD = "cold cache: prompt cache expired, whole transcript re-billed"


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator has set about requests; 0 is no constraint unless it says otherwise.

    Attributes:
        per_output: Whether results are extracted outside a cold sweep.
        fire_on: What calls for extraction.
        min_output_tokens: Least size of a result (tokens).
        min_request_tokens: Least size of a request (tokens).
        min_messages: Least number of its messages.
        min_request_share: Least share of the window that it fills.
        min_output_share: Least share of the window that a result fills.
        huge_output_share: From this share of the window on, a result needs no trigger.
        every_n_requests: Of the requests that qualify, the first and each so many after it may call.
        sweeps_cold: Whether a cold cache calls for extraction.
        cold_min_tokens: Least size of a result in a cold sweep (tokens).
        cold_min_idle_seconds: Least time since the last call in a cold sweep (seconds).
    """

    per_output: bool = True
    fire_on: FireOn = FireOn.PRESSURE
    min_output_tokens: int = 0
    min_request_tokens: int = 0
    min_messages: int = 0
    min_request_share: float = 0.0
    min_output_share: float = 0.0
    huge_output_share: float = 0.0
    every_n_requests: int = 1
    sweeps_cold: bool = False
    cold_min_tokens: int = 1_000
    cold_min_idle_seconds: float = 0.0

    @property
    def is_explicit(self) -> bool:
        """Whether the operator set a size himself."""
        return bool(self.min_output_tokens or self.min_request_tokens or self.min_messages)


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of a request.

    Attributes:
        tokens: Its size as it came (tokens).
        messages: How many messages it has.
        window_tokens: What it may grow to; 0 where that is not known (tokens).
        previous_tokens: The size of the session's request before; 0 where there was none (tokens).
        goal: What the conversation is about, in its own words.
        is_cold: Whether the provider's cache is gone for certain.
        idle_seconds: Time since the session's last call; None where nobody said (seconds).
        qualified: How many requests of the session have qualified before this one.
    """

    tokens: int
    messages: int
    window_tokens: int
    goal: str
    previous_tokens: int = 0
    is_cold: bool = False
    idle_seconds: float | None = None
    qualified: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """What a request may do.

    Attributes:
        may_call: Whether the model may be called; what is frozen is replayed in any case.
        gate: Why the model may not be called, as a slug; empty when it may.
        trigger: Why results are looked at, or are not.
        fires: Whether the triggers that the operator set are met.
        is_sweeping: Whether a cold cache is made use of.
        floor_tokens: Least size of a result (tokens).
        huge_tokens: From this size on a result needs no trigger; None for none (tokens).
    """

    may_call: bool
    gate: str
    trigger: Trigger
    fires: bool
    is_sweeping: bool
    floor_tokens: int
    huge_tokens: int | None = None


def open_request(rules: Rules, request: Request) -> Opened:
    """Takes a request through the gates."""
    is_sweeping = (
        rules.sweeps_cold and request.is_cold and (request.idle_seconds or 0.0) >= rules.cold_min_idle_seconds
    )
    fires = _fires(rules, request)
    trigger, is_called_for = _trigger(rules, request, fires, is_sweeping=is_sweeping)
    gate = ""
    if not rules.per_output and not is_sweeping:
        gate = "per_output_disabled"
    elif not _WORD.search(request.goal):
        gate = "no_goal_keywords"
    elif not is_called_for:
        gate = "request_trigger_not_fired"
    elif fires and not is_sweeping and request.qualified % max(1, rules.every_n_requests):
        gate = "no_model_this_request"
    huge = math.ceil(rules.huge_output_share * request.window_tokens)
    return Opened(
        not gate, gate, trigger, fires, is_sweeping, floor_tokens(rules, request, is_sweeping), huge or None
    )


def pressure(request: Request) -> float | None:
    """How full the window is; None where it is not known."""
    return request.tokens / request.window_tokens if request.window_tokens else None


def growth(request: Request) -> float:
    """By what share of itself the request grew since the one before; 0 where it did not, or nobody knows."""
    if request.tokens > request.previous_tokens > 0:
        return (request.tokens - request.previous_tokens) / request.tokens
    return 0.0


def floor_tokens(rules: Rules, request: Request, is_sweeping: bool) -> int:
    """Least size of a result that is looked at (tokens)."""
    if is_sweeping:
        return rules.cold_min_tokens
    by_share = math.ceil(rules.min_output_share * request.window_tokens)
    if rules.min_output_tokens or by_share:
        return max(rules.min_output_tokens or LEAST_FLOOR_TOKENS, by_share)
    if rules.fire_on is FireOn.SIZE:
        return SIZE_FLOOR_TOKENS
    filled = pressure(request)
    if filled is None:
        return SIZE_FLOOR_TOKENS
    share = next((share for above, share in _FLOORS if filled > above), _FLOORS[-1][1])
    return int(share * request.window_tokens)


def _fires(rules: Rules, request: Request) -> bool:
    least = max(rules.min_request_tokens, math.ceil(rules.min_request_share * request.window_tokens))
    return request.messages >= rules.min_messages and request.tokens >= least


def _trigger(rules: Rules, request: Request, fires: bool, *, is_sweeping: bool) -> tuple[Trigger, bool]:
    if is_sweeping:
        return Trigger.COLD, True
    if rules.fire_on is FireOn.SIZE:
        return Trigger.SIZE, True
    if rules.is_explicit:
        return Trigger.EXPLICIT, True
    filled = pressure(request)
    if filled is None:
        return Trigger.UNKNOWN, fires
    if filled > HIGH_PRESSURE:
        return Trigger.HIGH, True
    if filled > MODERATE_PRESSURE:
        is_fast = growth(request) > FAST_GROWTH
        return (Trigger.GROWING, True) if is_fast else (Trigger.STATIC, False)
    return Trigger.LOW, False
