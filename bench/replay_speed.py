"""``python -m bench.replay_speed``: what walking a session's past costs beyond planning one call.

One session of so many messages, planned as one call by itself, as a replay that has kept nothing, and as the
next call of a session whose last one was kept; the same with events that have to be worth their price.
Processor time, the least of several runs: machines differ, and so read the columns against one another.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bench.trimming_speed import seconds
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation, Message
from pinch_server.core.counting import Chars3
from pinch_server.core.event import oldest_first
from pinch_server.core.limits import Limits, Stability, Trigger
from pinch_server.core.plan import Plan
from pinch_server.core.planning import plan_pruning
from pinch_server.core.tally import Tally
from pinch_server.decide.checkpoints import RecentCheckpoints

_SHIPPED: Final = Limits()
SETTINGS: Final[Mapping[str, Limits]] = {
    "shipped": _SHIPPED,
    "economic": replace(_SHIPPED, trigger=Trigger.ECONOMIC),
    "economic, 3 calls expected": replace(_SHIPPED, trigger=Trigger.ECONOMIC, cache_expected_calls=3),
    "ledger 2%": replace(_SHIPPED, ledger_share=0.02),
}
"""What is measured beside one call by itself."""
_MESSAGES: Final = (1_001, 2_001, 4_001)


def session(messages: int) -> tuple[Message, ...]:
    """An autonomous run of so many messages: one file read in each round, of 300 to 2,500 characters."""
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Mend src/app.py and whatever it breaks."}]
    for index in range((messages - 1) // 2):
        function = {"name": "read", "arguments": f'{{"path": "src/module_{index}.py"}}'}
        call = {"id": f"call_{index}", "type": "function", "function": function}
        lines = range(8 + (index * 37) % 60)
        text = "".join(f"src/module_{index}_{line}.py: error {line * 7919 % 1000}\n" for line in lines)
        chat += [
            {"role": "assistant", "content": f"Now part {index}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{index}", "content": text},
        ]
    return read_chat(chat)


def planned(messages: Sequence[Message], limits: Limits) -> Plan:
    """The plan of one call of which nothing is known."""
    return plan_pruning(Conversation(tuple(messages)), limits, Chars3(), order=oldest_first)


def next_call(messages: tuple[Message, ...], limits: Limits, runs: int) -> float:
    """What the last call costs when the one before, two messages earlier, was kept (seconds)."""
    counter = Chars3()
    before = Tally.of(messages[:-2], counter)
    plan = partial(plan_pruning, limits=limits, counter=counter, order=oldest_first)
    plan(Conversation(messages[:-2]), tally=before, checkpoints=RecentCheckpoints())

    def last() -> Plan:
        tally = before.first(len(messages) - 2)
        tally.extend(messages[-2:])
        return plan(Conversation(messages), tally=tally, checkpoints=RecentCheckpoints())

    return seconds(last, runs)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; gives 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay_speed", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=_MESSAGES, metavar="N")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(argv)
    print("| messages | limits | one call by itself ms | replay ms | beyond ms | next call ms | events |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    alone = replace(_SHIPPED, stability=Stability.PER_CALL)
    for count in options.messages:
        messages = session(count)
        single = seconds(partial(planned, messages, alone), options.runs)
        for name, limits in SETTINGS.items():
            walked = seconds(partial(planned, messages, limits), options.runs)
            kept = next_call(messages, limits, options.runs)
            events = len({edit.event_message for edit in planned(messages, limits).edits})
            times = " | ".join(f"{value * 1e3:.1f}" for value in (single, walked, walked - single, kept))
            print(f"| {count:,} | {name} | {times} | {events} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
