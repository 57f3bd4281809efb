"""Pruners by name. Anything that takes messages and a budget and gives messages back can be one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final

from bench.recall import orders
from bench.recall.by_signals import find_by_signals
from bench.recall.ours import ORIGINAL_UNIFORM, PINCH, PINCH_HYBRID, PINCH_LEXICAL, pinch_with
from bench.recall.shapes import Json


@dataclass(frozen=True, slots=True)
class Policy:
    """A pruner under test.

    Attributes:
        name: What reports call it.
        prune: Takes OpenAI- or Anthropic-shaped messages that end at a call point, and a budget (tokens);
            gives the messages that ship. It must not change what it is given. Where it has a parameter
            `fixed_tokens` it is told what ships beside the messages and its budget covers both.
        takes_fixed_tokens: Whether it has that parameter.
        plan_all: The faster way some pruners offer: the payload of every call point of a whole history at
            once, arguments as for `prune`; None where there is none.
        is_foreign: Whether it is handed copies, so that it may do with its messages what it likes.
    """

    name: str
    prune: Callable[..., list[Json]]
    takes_fixed_tokens: bool
    plan_all: Callable[..., list[list[Json]]] | None = None
    is_foreign: bool = False

    def __call__(self, messages: Sequence[Json], budget_tokens: int, fixed_tokens: int) -> list[Json]:
        """Prunes a prefix to a budget that covers `fixed_tokens` too."""
        given = self._given(messages)
        if self.takes_fixed_tokens:
            return self.prune(given, budget_tokens, fixed_tokens=fixed_tokens)
        return self.prune(given, max(budget_tokens - fixed_tokens, 1))

    def _given(self, messages: Sequence[Json]) -> list[Json]:
        return deepcopy(list(messages)) if self.is_foreign else list(messages)

    def payloads(
        self, messages: Sequence[Json], ends: Sequence[int], budget_tokens: int, fixed_tokens: int
    ) -> Iterator[list[Json]]:
        """What ships at each call point of a history, in order; `ends` are its call points."""
        if self.plan_all is None:
            for end in ends:
                yield self(messages[:end], budget_tokens, fixed_tokens)
        elif self.takes_fixed_tokens:
            yield from self.plan_all(self._given(messages), budget_tokens, fixed_tokens=fixed_tokens)
        else:
            yield from self.plan_all(self._given(messages), max(budget_tokens - fixed_tokens, 1))


class PolicyError(Exception):
    """There is no such pruner; the text says what there is."""


def policy(name: str, prune: Callable[..., list[Json]]) -> Policy:
    """Makes a callable a policy; its attribute `plan_all`, if any, is the faster way."""
    takes_fixed = "fixed_tokens" in inspect.signature(prune).parameters
    return Policy(name, prune, takes_fixed, getattr(prune, "plan_all", None))


def _ordered(order: orders.Order, newest_kept: int = orders.NEWEST_KEPT) -> Callable[..., list[Json]]:
    return partial(orders.trim_in_order, order=order, newest_kept=newest_kept)


POLICIES: Final[Mapping[str, Policy]] = {
    made.name: made
    for made in (
        policy("uniform", ORIGINAL_UNIFORM),
        policy("uniform-newest-4", orders.trim_all),
        policy("random", _ordered(orders.shuffled)),
        policy("oldest-first", _ordered(orders.oldest)),
        policy("largest-first", _ordered(orders.largest)),
        policy("lexical", _ordered(orders.least_like_last_user)),
        policy("drop-oldest", orders.drop_oldest),
        policy("pinch", PINCH),
        policy("pinch-lexical", PINCH_LEXICAL),
        policy("pinch-hybrid", PINCH_HYBRID),
    )
}
"""The pruners the yardstick knows by name. `uniform` is the original as it stands (a window of four user
turns); every other trimming baseline protects the newest four results and stops when the budget is met."""


def find_policy(name: str, registered: Mapping[str, Policy] = POLICIES) -> Policy:
    """A registered pruner, Pinch under other limits, or the pruner that `module:function` names.

    `pinch?min_gain=0.1&target=0.5` is Pinch with these limits and the rest of its defaults; `target` is a
    share of the budget. `pinch-signals`, `pinch-no-size` and `pinch-only-size` order by named signals.

    Raises:
        PolicyError: There is none.
    """
    if name in registered:
        return registered[name]
    by_signals = find_by_signals(name)
    if by_signals is not None:
        return policy(name, by_signals)
    if name.startswith("pinch?"):
        try:
            return policy(name, pinch_with(name.removeprefix("pinch?")))
        except ValueError as error:
            raise PolicyError(f"{name!r}: {error}") from error
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise PolicyError(f"no policy {name!r}; give module:function or one of {', '.join(registered)}")
    try:
        found: Any = import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PolicyError(f"cannot load policy {name!r}: {error}") from error
    if not callable(found):
        raise PolicyError(f"{name!r} is not callable")
    return replace(policy(name, found), is_foreign=True)
