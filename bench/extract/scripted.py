"""A model that writes the filter a good one may write: ends, failures, definitions, and what was named."""

from __future__ import annotations

import json
import re
from typing import Final

from pinch_server.core.counting import COUNTERS
from pinch_server.core.extraction.economics import BILLED_PER_TOKEN, HAIKU
from pinch_server.extract.model import REPLY_TOKENS, ModelFault, Reply, Usage
from pinch_server.extract.prompts.prompt import Prompt

_KEEP: Final = re.compile(r"(?m)^Keep-ids: (\[.*\])$")
_AIM: Final = re.compile(r"only when it has (\d+) characters or fewer")
_PROGRAM: Final = """\
ids = {ids}
marks = ["rror", "FAIL", "Fail", "Traceback", "Exception", "arning", "def ", "class ", "func ", "import "]
room = {room}
gap = 34
lines = INPUT.split("\\n")
count = len(lines)
rank = []
for i in range(count):
    line = lines[i]
    score = 0
    if i < 6 or i >= count - 6:
        score = 4
    if any([name in line for name in ids]):
        score = 5
    if any([mark in line for mark in marks]):
        score = max(score, 3)
    if score:
        rank.append((-score, i))
chosen = {{}}
used = 2 * gap
for pair in sorted(rank):
    i = pair[1]
    cost = len(lines[i]) + 1
    if i - 1 not in chosen:
        cost += gap
    if used + cost <= room:
        chosen[i] = True
        used += cost
out = [lines[i] for i in range(count) if i in chosen]
if len(out) < 2:
    half = (room - 60) // 2
    OUTPUT = INPUT[:half] + "\\n... characters elided ...\\n" + INPUT[len(INPUT) - half:]
else:
    OUTPUT = "\\n".join(out)
SUMMARY = "lines that nothing named"
"""


class ScriptedModel:
    """Answers prompts for filters. Shared by threads."""

    def ask(self, prompt: Prompt, *, seconds: float, max_tokens: int = REPLY_TOKENS) -> Reply | ModelFault:
        """Answers at once, billed as a cheap model would bill it."""
        del seconds, max_tokens
        keep, aim = _KEEP.findall(prompt.user), _AIM.findall(prompt.user)
        if not keep or not aim:
            return ModelFault("malformed")
        program = _PROGRAM.format(ids=json.dumps(json.loads(keep[-1])), room=int(aim[-1]))
        counter = COUNTERS["o200k"]
        asked = [*(block.text for block in prompt.system), prompt.user]
        usage = Usage(
            round(sum(counter.units(asked)) * BILLED_PER_TOKEN),
            round(counter.units([program])[0] * BILLED_PER_TOKEN),
        )
        cost = HAIKU.cost(usage.prompt, usage.completion)
        return Reply(f"```python\n{program}```", False, usage, cost, 900.0)
