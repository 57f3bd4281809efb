"""Prices of models whose requests bring none: input tokens of the makers' own APIs, USD per million.

The lines are written by `make prices`. Of prices that rise with the length of the request or the time of day
the lowest counts, so that no dear tier is claimed as saved. A model that is not here has no price, and its
savings are shown in tokens alone.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from pinch_server.core.rates import Rates, read_rates

SOURCE: Final = "genai-prices 0.2.3"
"""Where the prices are from."""
AS_OF: Final = "2026-11-30"
"""The day they were taken."""

_PREFIX: Final = re.compile(r".*/|^(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z])")
_SUFFIX: Final = re.compile(
    r"(?:[@:].*|-v\d+|-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-(?:preview|exp)-\d{2}-\d{2,4}|-\d{4})$"
)


def plain_name(model: str) -> str:
    """A model's name without provider, region, version and date: `us.anthropic.claude-x-20250929-v1:0`."""
    name = _PREFIX.sub("", model.strip().lower())
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name


def listed_rates(model: str) -> Rates | None:
    """The table's prices of a model, by its name in any of its usual spellings; None when it is not there."""
    table = _prices()
    return table.get(model) or table.get(plain_name(model))


@cache
def _prices() -> Mapping[str, Rates]:
    found: dict[str, Rates] = {}
    for line in _TABLE.splitlines():
        name, *texts = line.split()
        rates = read_rates(*("" if text == "-" else text for text in texts))
        if rates is not None:
            found[name] = rates
    return found


_TABLE: Final = """\
ada 0.4 - -
babbage 0.5 - -
babbage-002 0.4 - -
chat 5 0.5 -
chatgpt-4o 5 - -
claude 8 - -
claude-2 8 - -
claude-3-5-haiku 0.8 0.08 1
claude-3-5-sonnet 3 0.3 3.75
claude-3-7-sonnet 3 0.3 3.75
claude-3-haiku 0.25 0.03 0.3
claude-3-opus 15 1.5 18.75
claude-3-sonnet 3 0.3 3.75
claude-3.5-haiku 0.8 0.08 1
claude-3.5-sonnet 3 0.3 3.75
claude-3.7-sonnet 3 0.3 3.75
claude-4-5-haiku 1 0.1 1.25
claude-4-5-opus 5 0.5 6.25
claude-4-6-opus 5 0.5 6.25
claude-4-7-opus 5 0.5 6.25
claude-4-8-opus 5 0.5 6.25
claude-4-opus 15 1.5 18.75
claude-4-sonnet 3 0.3 3.75
claude-4.5-haiku 1 0.1 1.25
claude-4.5-opus 5 0.5 6.25
claude-4.6-opus 5 0.5 6.25
claude-4.7-opus 5 0.5 6.25
claude-4.8-opus 5 0.5 6.25
claude-5-5-haiku 0.1 0.01 0.125
claude-5-5-opus 4 0.2 5
claude-5-5-sonnet 2 0.1 2.5
claude-5-opus 5 0.5 6.25
claude-5-sonnet 2 0.2 2.5
claude-5.0-opus 5 0.5 6.25
claude-5.0-sonnet 2 0.2 2.5
claude-5.5-haiku 0.1 0.01 0.125
claude-5.5-opus 4 0.2 5
claude-5.5-sonnet 2 0.1 2.5
claude-fable-5 10 1 12.5
claude-fable-5-1 10 0.25 12.5
claude-fable-5-2 8 0.2 10
claude-haiku-4-5 1 0.1 1.25
claude-haiku-4.5 1 0.1 1.25
claude-haiku-5-5 0.1 0.01 0.125
claude-haiku-5.5 0.1 0.01 0.125
claude-mythos-5-2 8 0.2 10
claude-opus-4 15 1.5 18.75
claude-opus-4-0 15 1.5 18.75
claude-opus-4-1 15 1.5 18.75
claude-opus-4-5 5 0.5 6.25
claude-opus-4-6 5 0.5 6.25
claude-opus-4-7 5 0.5 6.25
claude-opus-4-8 5 0.5 6.25
claude-opus-4.1 15 1.5 18.75
claude-opus-4.5 5 0.5 6.25
claude-opus-4.6 5 0.5 6.25
claude-opus-4.7 5 0.5 6.25
claude-opus-4.8 5 0.5 6.25
claude-opus-5 5 0.5 6.25
claude-opus-5-5 4 0.2 5
claude-opus-5.0 5 0.5 6.25
claude-opus-5.5 4 0.2 5
claude-sonnet-3-7 3 0.3 3.75
claude-sonnet-3.7 3 0.3 3.75
claude-sonnet-4 3 0.3 3.75
claude-sonnet-4-0 3 0.3 3.75
claude-sonnet-4-5 3 0.3 3.75
claude-sonnet-4-6 3 0.3 3.75
claude-sonnet-4.5 3 0.3 3.75
claude-sonnet-4.6 3 0.3 3.75
claude-sonnet-5 2 0.2 2.5
claude-sonnet-5-5 2 0.1 2.5
claude-sonnet-5.0 2 0.2 2.5
claude-sonnet-5.5 2 0.1 2.5
codestral 0.3 - -
codex-mini 1.5 0.375 -
computer-use 3 - -
curie 2 - -
davinci 20 - -
davinci-002 2 - -
deepseek-chat 0.135 0.035 -
deepseek-flash 0.15 0.003 -
deepseek-r1 0.135 0.035 -
deepseek-reasoner 0.135 0.035 -
deepseek-v3.1-terminus 0.27 0.13 -
deepseek-v3.2 0.2288 - -
deepseek-v3.2-exp 0.27 - -
deepseek-v4-1-flash 0.3 0.007 -
deepseek-v4-flash 0.15 0.003 -
deepseek-v4-pro 0.66 0.022 -
devstral 0.4 0.04 -
devstral-small 0.1 - -
ft 3 - -
gemini-1.0-pro 0.125 - -
gemini-1.0-pro-vision-001 0.125 - -
gemini-1.5-flash 0.075 0.01875 -
gemini-1.5-pro 1.25 - -
gemini-2.0-flash 0.1 0.025 -
gemini-2.0-flash-lite 0.075 - -
gemini-2.5-flash 0.3 0.03 -
gemini-2.5-flash-lite 0.1 0.01 -
gemini-2.5-flash-preview 0.15 - -
gemini-2.5-pro 1.25 0.125 -
gemini-3-flash-preview 0.5 0.05 -
gemini-3-pro-preview 2 0.2 -
gemini-3-pro-text-preview 2 0.2 -
gemini-3.1-flash-lite 0.25 0.025 -
gemini-3.1-flash-lite-preview 0.25 0.025 -
gemini-3.1-flash-live-preview 0.75 - -
gemini-3.1-pro-preview 2 0.2 -
gemini-3.5-flash 1.5 0.15 -
gemini-3.5-flash-lite 0.3 0.03 -
gemini-3.5-flash-preview 1.5 0.15 -
gemini-3.6-flash 0.75 0.075 -
gemini-3.7-flash 0.75 0.075 -
gemini-3.8-flash 0.75 0.075 -
gemini-3.8-live 0.75 - -
gemini-4-argon 2 0.1 -
gemini-4-argon-preview 2 0.1 -
gemini-flash 0.75 0.075 -
gemini-flash-1.5 0.075 0.01875 -
gemini-flash-1.5-8b 0.0375 0.01 -
gemini-flash-lite 0.3 0.03 -
gemini-live-2.5-flash 0.5 - -
gemini-nano-banana-2.1 1.5 - -
gemini-omni-1.1-flash 1.5 - -
gemini-omni-flash-preview 1.5 - -
gemini-pro 2 0.2 -
gemini-pro-1.5 1.25 0.3125 -
gemini-robotics-er-2-preview 1 0.1 -
gemini-robotics-er-2-streaming-preview 1 - -
gemma-2-27b-it 0.65 - -
gemma-4-26b-a4b-it-maas 0.15 0.015 -
glm-4-32b-0414-128k 0.1 - -
glm-4.5 0.6 0.11 -
glm-4.5-air 0.2 0.03 -
glm-4.5-airx 1.1 0.22 -
glm-4.5-x 2.2 0.45 -
glm-4.5v 0.6 0.11 -
glm-4.6 0.6 0.11 -
glm-4.6v 0.3 0.05 -
glm-4.6v-flashx 0.04 0.004 -
glm-4.7 0.6 0.11 -
glm-4.7-flashx 0.07 0.01 -
glm-5 1 0.2 -
glm-5.1 1.4 0.26 -
glm-5.2 1.4 0.26 -
glm-5.3 1.4 0.26 -
glm-5.3-flash 0.15 0.03 -
glm-5.3-flashx 0.37 0.075 -
glm-5.3-flashx-legal 0.37 0.075 -
gpt-3.5 1.5 - -
gpt-3.5-turbo 1.5 - -
gpt-3.5-turbo-16k 3 - -
gpt-3.5-turbo-instruct 1.5 - -
gpt-35-turbo 0.5 - -
gpt-35-turbo-16k 3 - -
gpt-4 30 - -
gpt-4-0125-preview 10 - -
gpt-4-1106-preview 10 - -
gpt-4-1106-vision-preview 10 - -
gpt-4-32k 60 - -
gpt-4-turbo 10 - -
gpt-4-turbo-0125-preview 10 - -
gpt-4-turbo-preview 10 - -
gpt-4-vision-preview 10 - -
gpt-4.1 2 0.5 -
gpt-4.1-mini 0.4 0.1 -
gpt-4.1-nano 0.1 0.025 -
gpt-4.5-preview 75 37.5 -
gpt-4o 2.5 1.25 -
gpt-4o-mini 0.15 0.075 -
gpt-4o-mini-2024-07-18.ft 0.3 - -
gpt-4o-mini-search-preview 0.15 0.075 -
gpt-4o-search-preview 2.5 - -
gpt-5 1.25 0.125 -
gpt-5-1 1.25 0.125 -
gpt-5-1-chat 1.25 0.125 -
gpt-5-1-codex 1.25 0.125 -
gpt-5-1-codex-max 1.25 0.125 -
gpt-5-1-codex-mini 0.25 0.025 -
gpt-5-1-mini 0.25 0.025 -
gpt-5-2 1.75 0.175 -
gpt-5-2-chat 1.75 0.175 -
gpt-5-2-codex 1.75 0.175 -
gpt-5-2-pro 21 - -
gpt-5-3 1.75 0.175 -
gpt-5-3-chat 1.75 0.175 -
gpt-5-3-codex 1.75 0.175 -
gpt-5-4 2.5 0.25 -
gpt-5-4-mini 0.75 0.075 -
gpt-5-4-nano 0.2 0.02 -
gpt-5-4-pro 30 - -
gpt-5-5 5 0.5 -
gpt-5-5-chat 5 0.5 -
gpt-5-5-codex 5 0.5 -
gpt-5-5-pro 30 - -
gpt-5-6 4 0.4 5
gpt-5-6-luna 0.2 0.02 0.25
gpt-5-6-sol 4 0.4 5
gpt-5-6-terra 2 0.2 2.5
gpt-5-chat 1.25 0.125 -
gpt-5-codex 1.25 0.125 -
gpt-5-mini 0.25 0.025 -
gpt-5-nano 0.05 0.005 -
gpt-5-pro 15 - -
gpt-5-search-api 1.25 0.125 -
gpt-5.1 1.25 0.125 -
gpt-5.1-chat 1.25 0.125 -
gpt-5.1-codex 1.25 0.125 -
gpt-5.1-codex-max 1.25 0.125 -
gpt-5.1-codex-mini 0.25 0.025 -
gpt-5.1-mini 0.25 0.025 -
gpt-5.2 1.75 0.175 -
gpt-5.2-chat 1.75 0.175 -
gpt-5.2-codex 1.75 0.175 -
gpt-5.2-pro 21 - -
gpt-5.3 1.75 0.175 -
gpt-5.3-chat 1.75 0.175 -
gpt-5.3-codex 1.75 0.175 -
gpt-5.4 2.5 0.25 -
gpt-5.4-mini 0.75 0.075 -
gpt-5.4-nano 0.2 0.02 -
gpt-5.4-pro 30 - -
gpt-5.5 5 0.5 -
gpt-5.5-chat 5 0.5 -
gpt-5.5-codex 5 0.5 -
gpt-5.5-cyber 12.5 1.25 -
gpt-5.5-pro 30 - -
gpt-5.6 4 0.4 5
gpt-5.6-cyber 12.5 1.25 15.625
gpt-5.6-luna 0.2 0.02 0.25
gpt-5.6-sol 4 0.4 5
gpt-5.6-terra 2 0.2 2.5
gpt-6-astra 10 1 12.5
gpt-6-cyber 20 2 25
gpt-6-luna 0.1 0.01 0.125
gpt-6-rosalind 15 1.5 18.75
gpt-6-sol 2 0.2 2.5
gpt-6.1-sol 2 0.1 2.5
gpt-6.1-terra 1 0.05 1.25
gpt-chat 5 0.5 -
gpt-oss-120b 0.039 - -
gpt-oss-20b 0.029 - -
gpt-oss-safeguard-20b 0.075 0.037 -
gpt-rosalind-discovery 5 0.5 -
gpt-rosalind-research 5 0.5 -
grok 2 0.3 -
grok-2 2 - -
grok-2-vision 2 - -
grok-3 3 0.75 -
grok-3-beta 3 0.75 -
grok-3-fast 5 1.25 -
grok-3-fast-beta 5 1.25 -
grok-3-mini 0.3 0.075 -
grok-3-mini-beta 0.3 0.075 -
grok-3-mini-fast 0.6 0.15 -
grok-3-mini-fast-beta 0.6 0.15 -
grok-4 3 0.75 -
grok-4-1-fast 0.2 0.05 -
grok-4-1-fast-non-reasoning 0.2 0.05 -
grok-4-1-fast-reasoning 0.2 0.05 -
grok-4-fast 0.2 0.05 -
grok-4-fast-non-reasoning 0.2 0.05 -
grok-4-fast-reasoning 0.2 0.05 -
grok-4.20 1.25 0.2 -
grok-4.20-0309-non-reasoning 1.25 0.2 -
grok-4.20-0309-reasoning 1.25 0.2 -
grok-4.20-multi-agent 1.25 0.2 -
grok-4.20-multi-agent-beta 1.25 0.2 -
grok-4.3 1.25 0.2 -
grok-4.5 2 0.3 -
grok-4.6 2 0.5 -
grok-4.7 2 0.5 -
grok-build-0.1 1 0.2 -
grok-code-fast 0.2 0.02 -
grok-code-fast-1 0.2 0.02 -
kimi-k2 0.57 - -
kimi-k2-0711-preview 0.6 0.15 -
kimi-k2-0905-preview 0.6 0.15 -
kimi-k2-thinking 0.6 0.15 -
kimi-k2-thinking-turbo 1.15 0.15 -
kimi-k2-turbo 1.15 0.15 -
kimi-k2-turbo-preview 1.15 0.15 -
kimi-k2.5 0.6 0.1 -
kimi-k2.6 0.95 0.16 -
kimi-k2.7-code 0.95 0.19 -
kimi-k2.7-code-highspeed 1.9 0.38 -
kimi-k3 3 0.3 3
kimi-k3.1-pro 2 0.2 2
kimi-k3.1-pro-highspeed 4 0.2 4
labs-devstral-small 0.1 - -
magistral-medium 2 - -
magistral-small 0.5 - -
ministral-14b 0.2 0.02 -
ministral-3b 0.04 - -
ministral-8b 0.1 - -
mistral-7b 0.25 - -
mistral-large 2 - -
mistral-large-4 0.7 0.07 -
mistral-large-4-0 0.7 0.07 -
mistral-medium 2.7 - -
mistral-medium-3 1.5 0.15 -
mistral-medium-3-1 0.4 0.04 -
mistral-medium-3-5 1.5 0.15 -
mistral-medium-3.5 1.5 0.15 -
mistral-nemo 0.15 - -
mistral-saba 0.2 - -
mistral-small 0.15 0.015 -
mistral-small-24b-instruct 0.05 - -
mistral-small-3.1-24b-instruct 0.351 - -
mistral-small-3.2-24b-instruct 0.1 - -
mistral-tiny 0.25 - -
mixtral-8x22b-instruct 2 - -
mixtral-8x7b 0.7 - -
moonshot-v1-128k 2 - -
moonshot-v1-128k-vision-preview 2 - -
moonshot-v1-32k 1 - -
moonshot-v1-32k-vision-preview 1 - -
moonshot-v1-8k 0.2 - -
moonshot-v1-8k-vision-preview 0.2 - -
o1 15 7.5 -
o1-mini 1.1 0.55 -
o1-preview 15 7.5 -
o1-pro 150 - -
o3 2 0.5 -
o3-deep-research 10 2.5 -
o3-mini 1.1 0.55 -
o3-mini-high 1.1 0.55 -
o3-pro 20 - -
o4-mini 1.1 0.275 -
o4-mini-deep-research 2 0.5 -
o4-mini-high 1.1 0.275 -
open-mistral-7b 0.25 - -
open-mistral-nemo 0.15 - -
open-mixtral-8x22b 2 - -
open-mixtral-8x7b 0.7 - -
pixtral-12b 0.15 - -
pixtral-large 2 - -
text-ada-001 0.4 - -
text-curie-001 2 - -
text-davinci-001 20 - -
text-davinci-002 20 - -
text-davinci-003 20 - -
voxtral-small 0.1 0.01 -
voxtral-small-24b 0.1 0.01 -
zai-glm-5-3 1.4 0.14 -
zai-glm-5-3-flash 0.15 0.03 -
"""
