"""What pruning costs and saves once a provider's prompt cache is reckoned with.

``python -m bench.economics`` prints the table. A sweep of one pruner's parameter::

    sessions = load_sessions()
    for target in (0.3, 0.5, 0.7):
        pruner = policy(f"target {target}", pinch_with(f"target={target}"))
        rows = tally(replay_all([pruner], sessions, jobs=2), RATES["sonnet"], Pauses())

A pruner is what it is for `bench.recall`. One that has an attribute ``plan_all(messages, budget_tokens)`` is
replayed through that: it is given the whole history once, and gives the payload of each of its call points
(`call_points`), each a function of what stands before that point alone.
"""

from bench.economics.dollars import Pauses, call_dollars
from bench.economics.measure import Replayed, Row, replay_all, tally
from bench.economics.policies import POLICIES
from bench.economics.rates import RATES, Rates
from bench.economics.replay import Call, replay

__all__ = [
    "POLICIES",
    "RATES",
    "Call",
    "Pauses",
    "Rates",
    "Replayed",
    "Row",
    "call_dollars",
    "replay",
    "replay_all",
    "tally",
]
