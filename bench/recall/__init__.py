"""How much of what a model needs next survives pruning, beside how much was removed.

``python -m bench.recall`` prints the table. A sweep of one pruner's parameter::

    points = sample(load_sessions())
    for chars in (200, 400, 800):
        result = measure(partial(my_pruner, chars=chars), budgets=(0.5,), sample=points, jobs=2)
        print(chars, result.at(0.5).recall, result.at(0.5).reduction)

A pruner is any callable of OpenAI- or Anthropic-shaped messages and a budget in tokens that gives messages
back.
"""

from bench.recall.measure import BUDGETS, Result, Row, measure, measure_all
from bench.recall.needs import Sampled, sample
from bench.recall.policies import POLICIES, Policy, PolicyError, find_policy, policy
from bench.recall.sessions import CorpusError, Session, load_sessions, session_of

__all__ = [
    "BUDGETS",
    "POLICIES",
    "CorpusError",
    "Policy",
    "PolicyError",
    "Result",
    "Row",
    "Sampled",
    "Session",
    "find_policy",
    "load_sessions",
    "measure",
    "measure_all",
    "policy",
    "sample",
    "session_of",
]
