"""What a decision adds to the savings, as SQL: which count, how they are grouped, what is summed."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Label,
    Select,
    Text,
    TextClause,
    and_,
    case,
    cast,
    func,
    literal,
    not_,
    or_,
    select,
    text,
)

from pinch_server.core.insight import SavingsQuery
from pinch_server.core.savings import SHARE_PARTS
from pinch_server.store.rows import storable
from pinch_server.store.tables import PENDING, prune_decisions

_DISPATCHED: Final = "dispatched"
_d: Final = prune_decisions.c

_SAVED: Final = _d.pinch_original_tokens - _d.pinch_final_tokens
_IS_PRUNED: Final = _SAVED > 0
_IS_MEASURED: Final = and_(_IS_PRUNED, _d.outcome_prompt_tokens > 0, _d.outcome_cached_tokens.is_not(None))

# What came from the cache cannot be more than there was, whatever a router reports.
_CACHED: Final = case(
    (_d.outcome_cached_tokens > _d.outcome_prompt_tokens, _d.outcome_prompt_tokens),
    else_=_d.outcome_cached_tokens,
)
_CACHED_SHARE: Final = cast(_CACHED, Double) / cast(_d.outcome_prompt_tokens, Double)
_CACHED_PARTS: Final = cast(func.round(cast(_SAVED, Double) * _CACHED_SHARE * SHARE_PARTS), BigInteger)

# The cache gave back its prefix up to the first new trim, or more; without one it would have given back all
# that had been sent before. What it did not, and then took in anew, is what trims made it write. A cache that
# gave back nothing had nothing: that is not the trims' doing.
_KEPT: Final = case(
    (_d.outcome_cached_tokens > _d.unchanged_prefix_tokens, _d.outcome_cached_tokens),
    else_=_d.unchanged_prefix_tokens,
)
_LOST: Final = _d.sent_before_tokens - _KEPT
_INDUCED: Final = case(
    (_LOST <= 0, 0),
    (_d.outcome_cache_write_tokens < _LOST, _d.outcome_cache_write_tokens),
    else_=_LOST,
)
_IS_INDUCED: Final = and_(
    _IS_PRUNED,
    _d.outcome_cached_tokens > 0,
    _d.outcome_cache_write_tokens.is_not(None),
    _d.sent_before_tokens.is_not(None),
    _d.unchanged_prefix_tokens.is_not(None),
)

SUMS: Final = (
    "calls",
    "pruned_calls",
    "tokens_saved",
    "measured_tokens",
    "cached_parts",
    "induced_tokens",
)
"""What is summed, by the names of `core.savings.Sums`."""
FILTERED: Final = ("route", "model", "format")
"""What decisions are grouped by because savings are asked for by it."""
PRICED: Final = ("prompt_rate", "cached_rate", "cache_write_rate", "priced_model")
"""What they are grouped by because they are priced by it."""


def counted(start: int, end: int, pending_before: int) -> ColumnElement[bool]:
    """Whether a decision counts: dispatched, or unreported and older than the grace period.

    Dry runs saved nothing and disabled calls measured nothing; neither counts.

    Args:
        start: Made at or after this (microseconds since the Unix epoch).
        end: Made before this.
        pending_before: An unreported one counts when it was made before this.
    """
    return and_(
        _d.created_at >= start,
        _d.created_at < end,
        not_(_d.dry_run),
        _d.pinch_original_tokens.is_not(None),
        _d.pinch_final_tokens.is_not(None),
        or_(_d.outcome == _DISPATCHED, and_(_d.outcome == PENDING, _d.created_at < pending_before)),
    )


def filtered(columns: Any, query: SavingsQuery) -> list[ColumnElement[bool]]:
    """The conditions of a query on a table with the columns of `FILTERED`."""
    wanted = ((name, getattr(query, name)) for name in FILTERED)
    return [columns[name] == storable(value) for name, value in wanted if value is not None]


def _groups() -> tuple[Label[Any], ...]:
    has_price = and_(_d.prompt_rate.is_not(None), _d.prompt_rate != "")
    called = func.coalesce(_d.outcome_model, _d.model, "")
    return (
        *FILTER_GROUPS,
        *(case((has_price, func.coalesce(_d[name], "")), else_="").label(name) for name in PRICED[:-1]),
        case((has_price, ""), else_=called).label("priced_model"),
    )


def _sums() -> tuple[Label[Any], ...]:
    summed = (
        ("pruned_calls", _IS_PRUNED, literal(1)),
        ("tokens_saved", _IS_PRUNED, _SAVED),
        ("measured_tokens", _IS_MEASURED, _SAVED),
        ("cached_parts", _IS_MEASURED, _CACHED_PARTS),
        ("induced_tokens", _IS_INDUCED, _INDUCED),
    )
    columns = (
        func.coalesce(func.sum(case((condition, value), else_=0)), 0).label(name)
        for name, condition, value in summed
    )
    return (func.count().label("calls"), *columns)


FILTER_GROUPS: Final = tuple(func.coalesce(_d[name], "").label(name) for name in FILTERED)
"""The columns of `FILTERED`, computed from a decision; empty text where there is nothing."""
GROUPS: Final = _groups()
"""Those of `FILTERED` and `PRICED`, likewise."""
SUM_COLUMNS: Final = _sums()
"""Those of `SUMS`, computed from decisions."""


def saved_lists() -> Select[Any]:
    """What each pruned decision saved, as one comma-separated text for each group of `FILTERED`."""
    saved = func.aggregate_strings(cast(_SAVED, Text), ",").label("saved")
    return select(*FILTER_GROUPS, saved).where(_IS_PRUNED).group_by(*positions(len(FILTERED)))


def positions(number: int, first: int = 1) -> list[TextClause]:
    """The first columns of a query for its GROUP BY: their expressions would bind their values a second time.

    Args:
        number: How many columns.
        first: The place of the first of them, counted from 1.
    """
    return [text(str(place)) for place in range(first, first + number)]
