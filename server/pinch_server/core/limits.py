"""The limits one call is planned under, and the bounds each of them must keep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final


class Stability(StrEnum):
    """How the plan relates to the calls before this one."""

    REPLAY = "replay"
    """A pure function of the history: the same past call after call, so that prompt caches stay warm."""
    PER_CALL = "per_call"
    """Decided anew for the current turn: the original behaviour."""


class TrimStyle(StrEnum):
    """The form a trimmed tool result takes."""

    KEYED = "keyed"
    """What is left out is marked, and the identifiers that may be needed next stay."""
    PLAIN = "plain"
    """Head and tail around a marker, or a placeholder: the original behaviour."""

    @property
    def has_second_step(self) -> bool:
        """Whether an elided result may become a placeholder later."""
        return self is TrimStyle.KEYED


class Trigger(StrEnum):
    """What calls for an event under replay."""

    BUDGET = "budget"
    """A conversation over its budget."""
    ECONOMIC = "economic"
    """That, and below it whatever pays back at the cache's prices within the calls expected to follow."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The range one numeric limit must lie in.

    Attributes:
        low: The least legal value, inclusive.
        high: The greatest legal value, inclusive.
        zero_means: What 0 stands for where it is legal below `low`, or None where it is not.
    """

    low: float
    high: float
    zero_means: str | None = None

    def admits(self, value: float) -> bool:
        """Whether `value` is legal."""
        if value == 0 and self.zero_means is not None:
            return True
        return self.low <= value <= self.high

    def __str__(self) -> str:
        text = f"from {self.low} to {self.high}"
        return text if self.zero_means is None else f"{text}, or 0 ({self.zero_means})"


TARGET_SHARE: Final = 0.4
"""The low-water mark as a share of the budget, where no target is given: chosen by bench/economics."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller allows to ship, and what must stay untouched.

    Attributes:
        budget_tokens: The size, tool definitions included, above which results are trimmed (tokens).
        keep_last_turns: User turns from the end that form the protected window.
        max_summarize_chars: Results longer than this are elided, shorter ones become a placeholder
            (characters; 3,000 at least, below it an elided text would grow).
        protected_max_chars: Results inside the window longer than this are capped (characters; 0: no cap).
        extra_fixed_tokens: Tokens that ship beside the messages; None: counted from the body's own
            tool definitions, 0 where there is no body.
        keep_last_rounds: Newest rounds that stay protected when the window has to contract
            (0: the window never contracts).
        target_tokens: Where trimming stops once it has begun under replay (tokens; None: two fifths of the
            budget).
        min_tokens_saved: Less than this to gain in all, and nothing is trimmed (tokens).
        min_gain: Under replay, less than this share of the size to gain, and no event is held.
        protected_tools: Globs of tool names whose results are never trimmed: at most 256, of 200 characters
            each.
        relevance: Whether candidates are ranked; False gives the uniform order.
        stability: How the plan relates to the calls before this one.
        trim_style: The form a trimmed result takes.
        placeholder_chars: How long the list of identifiers in a keyed placeholder may be (characters).
        caps_on_arrival: Under replay, whether an outsized result is capped the first time it is seen,
            whatever the budget: that never changes a prefix that was sent.
        omit_images: Whether old images inside tool results may become a text part when the budget needs it.
        trigger: What calls for an event under replay.
        ledger_share: Under replay, no event that leaves the session dearer than this against an untrimmed
            one, by its calls so far at the cache's prices (share; None: not reckoned). An event that comes
            just before a session ends never pays back, and no history says that the end is near: this bounds
            what it can cost.
        ledger_ceiling: Above so many budgets an event is held whatever the ledger says (0: never).
        cache_write_multiplier: What a token written to the provider's cache costs, in uncached ones.
        cache_read_multiplier: What a token read from it costs, in uncached ones.
        cache_expected_calls: How many calls of a session are taken to follow an event.
    """

    budget_tokens: int = 50_000
    keep_last_turns: int = 4
    max_summarize_chars: int = 4_000
    protected_max_chars: int = 20_000
    extra_fixed_tokens: int | None = None
    keep_last_rounds: int = 2
    target_tokens: int | None = None
    min_tokens_saved: int = 0
    min_gain: float = 0.25
    protected_tools: tuple[str, ...] = ()
    relevance: bool = True
    stability: Stability = Stability.REPLAY
    trim_style: TrimStyle = TrimStyle.KEYED
    placeholder_chars: int = 800
    caps_on_arrival: bool = False
    omit_images: bool = True
    trigger: Trigger = Trigger.BUDGET
    ledger_share: float | None = None
    ledger_ceiling: float = 1.25
    cache_write_multiplier: float = 1.25
    cache_read_multiplier: float = 0.1
    cache_expected_calls: int = 20

    @property
    def acts_below_budget(self) -> bool:
        """Whether anything may be trimmed of a conversation that always was within its budget."""
        return self.caps_on_arrival or self.trigger is Trigger.ECONOMIC

    @property
    def is_reckoned(self) -> bool:
        """Whether an event has to be worth its price to stand."""
        return self.ledger_share is not None or self.trigger is Trigger.ECONOMIC

    @property
    def target(self) -> int:
        """Where trimming stops under replay (tokens): never above the budget."""
        wanted = (
            round(self.budget_tokens * TARGET_SHARE) if self.target_tokens is None else self.target_tokens
        )
        return min(wanted, self.budget_tokens)


ORIGINAL: Final = Limits(
    keep_last_rounds=0, min_gain=0.0, stability=Stability.PER_CALL, trim_style=TrimStyle.PLAIN
)
"""The rules of the original module: each call by itself, head and tail, a window that never contracts."""

PLAIN_KEPT_CHARS: Final = 3_000
"""Characters a plain elision keeps, head and tail together: the least a length limit may be."""

MOST_GLOBS: Final = 256
"""How many globs may protect tools."""
GLOB_CHARS: Final = 200
"""How long one of them may be (characters)."""

_MOST: Final = 2**31 - 1

BOUNDS: Final[Mapping[str, Bound]] = {
    "budget_tokens": Bound(1, _MOST),
    "keep_last_turns": Bound(1, _MOST),
    "max_summarize_chars": Bound(PLAIN_KEPT_CHARS, _MOST),
    "protected_max_chars": Bound(PLAIN_KEPT_CHARS, _MOST, zero_means="no cap"),
    "extra_fixed_tokens": Bound(0, _MOST),
    "keep_last_rounds": Bound(0, _MOST),
    "target_tokens": Bound(1, _MOST),
    "min_tokens_saved": Bound(0, _MOST),
    "min_gain": Bound(0, 0.99),
    "placeholder_chars": Bound(0, 4_000),
    "ledger_share": Bound(0, 1),
    "ledger_ceiling": Bound(1, 1_000, zero_means="no ceiling"),
    "cache_write_multiplier": Bound(0, 100),
    "cache_read_multiplier": Bound(0, 100),
    "cache_expected_calls": Bound(0, _MOST),
}
"""The bound of every numeric limit, by its name: settings, wire and command line all read it here."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that breaks its bound.

    Attributes:
        field: The name of the field, as the caller spells it.
        problem: What is wrong and what would mend it, with the offending value.
    """

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


def limit_violations(limits: Limits) -> tuple[Violation, ...]:
    """Every limit that lies outside its bound, in the order the limits are declared."""
    return tuple(_violations(limits))


def _violations(limits: Limits) -> Iterator[Violation]:
    for field in fields(limits):
        bound = BOUNDS.get(field.name)
        value = getattr(limits, field.name)
        if bound is not None and value is not None and not bound.admits(value):
            yield Violation(field.name, f"{value} is out of range; give {bound}")
    yield from _glob_violations(limits.protected_tools)


def _glob_violations(globs: tuple[str, ...]) -> Iterator[Violation]:
    """At most one violation of a kind: a list of any length must not become as long a list of words."""
    if len(globs) > MOST_GLOBS:
        yield Violation("protected_tools", f"{len(globs)} globs are too many; give {MOST_GLOBS} or fewer")
        return
    longest = max(map(len, globs), default=0)
    if longest > GLOB_CHARS:
        yield Violation(
            "protected_tools", f"a glob of {longest} characters is too long; give {GLOB_CHARS} or fewer"
        )
    if not all(glob.strip() for glob in globs):
        yield Violation("protected_tools", "a glob is blank; give a tool name or a pattern such as memory_*")
