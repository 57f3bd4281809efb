"""Every pruner that is compared: importing this needs the environment of `make peers`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from headroom import compress
from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from litellm.utils import trim_messages as litellm_trim

from bench.latency.payloads import BUDGET_TOKENS
from bench.peers.pruner import Messages, Pruner
from pinch_server.core.limits import ORIGINAL
from pinch_server.core.prune_context import prune_context

_MODEL: Final = "gpt-4o"


def _original(messages: Messages) -> Messages:
    pruned, _ = prune_context(messages, ORIGINAL, budget_tokens=BUDGET_TOKENS)
    return list(pruned)


def _langchain(messages: Messages) -> Messages:
    kept = trim_messages(
        convert_to_messages(messages),
        max_tokens=BUDGET_TOKENS,
        token_counter=count_tokens_approximately,
        strategy="last",
        start_on="human",
        include_system=True,
    )
    return list(convert_to_openai_messages(kept))


def _headroom(messages: Messages) -> Messages:
    return list(compress(messages, model=_MODEL, model_limit=BUDGET_TOKENS).messages)


def _litellm(messages: Messages) -> Messages:
    return list(litellm_trim(messages, model=_MODEL, max_tokens=BUDGET_TOKENS))


PRUNERS: Final = (
    Pruner("the original's rules", _original),
    Pruner(f"langchain-core {version('langchain-core')} trim_messages", _langchain),
    Pruner(f"headroom-ai {version('headroom-ai')} compress", _headroom),
    Pruner(f"litellm {version('litellm')} trim_messages", _litellm, most_tokens=400_000, is_slow=True),
)
"""In the order of the table."""
