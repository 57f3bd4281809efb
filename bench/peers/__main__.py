"""``python -m bench.peers``: our whole call over gRPC beside what others do in the caller's own process.

Ours is the call of Pinch's own client, from the request body to the pruned one, receipts checked; the
echo is what gRPC alone takes for the same bytes. Needs the environment of `make peers`, which has the
others in pinned versions. Each conversation goes through each of them in turn; the copy that some need
is made outside the timer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rich.box import MARKDOWN, SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.conversations import generate
from bench.latency.payloads import BUDGET_TOKENS
from bench.latency.report import machine
from bench.latency.servers import echo_server, echo_stub, pinch_server
from bench.peers.pruner import Messages, Pruner
from bench.peers.validity import judge
from bench.recall.sessions import DEFAULT_CORPUS, CorpusError, load_sessions
from bench.recall.shapes import Dialect
from pinch import Limits, PinchClient
from pinch_server.core.chat import json_text

SIZES: Final = (50_000, 324_000, 1_000_000)
FIRST: Final = "pinch, a session's first call"
LATER: Final = "pinch, a later call"
ECHO: Final = "a raw echo of the same bytes"
_PATIENCE_SECONDS: Final = 60.0
GOALS: Final = {"langchain": 0.7, "headroom": 1 / 20, "litellm": 1 / 2000}
GOAL_TOKENS: Final = 324_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one of them did to one conversation.

    Attributes:
        conversation: Which conversation.
        tokens: Its size (tokens, characters / 3).
        pruner: Who.
        milliseconds: The middle of its times.
        ours_ratio: Our time against its, in the same rounds; None for our own.
        removed: The share of characters it removed.
        kept_messages: The share of messages that are still there.
        said_whole: Whether every word of user, model and system stands as it did.
        faults: What a provider would refuse; empty when the conversation is valid.
    """

    conversation: str
    tokens: int
    pruner: str
    milliseconds: float
    ours_ratio: float | None
    removed: float
    kept_messages: float
    said_whole: bool
    faults: tuple[str, ...]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the comparison.

    Returns:
        0; 1 when a goal is missed; 2 when the others are not installed or the corpus cannot be read.
    """
    options = _parser().parse_args(argv)
    # One of the others would fetch its price list from the network when it is imported.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    try:
        others: Sequence[Pruner] = import_module("bench.peers.installed").PRUNERS
        conversations = _conversations(options.sizes, options.corpus, options.sessions)
    except ImportError as error:
        print(f"error: {error}; run it by `make peers`", file=sys.stderr)
        return 2
    except CorpusError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        server = stack.enter_context(pinch_server())
        client = stack.enter_context(PinchClient(server.address, strict=True, timeout=_PATIENCE_SECONDS))
        echo = stack.enter_context(echo_stub(stack.enter_context(echo_server()).address))
        for name, messages in track(conversations, "conversations", console=Console(file=sys.stderr)):
            outcomes += _compare(name, messages, others, _Ours(client, echo), options.rounds)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 150)
    console.print(machine())
    console.print(_table(outcomes))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=2) + "\n")
    if options.markdown:
        with options.markdown.open("w") as file:
            Console(file=file, width=200, highlight=False).print(_table(outcomes, as_markdown=True))
    return int(any(_misses(one) for one in outcomes))


def _conversations(sizes: Sequence[int], corpus: Path | None, most: int) -> list[tuple[str, Messages]]:
    """Generated ones of the given sizes, and the longest chats of the corpus where there is one."""
    made: list[tuple[str, Messages]] = [
        (_generated(tokens), generate(5, tokens=tokens, images=False)["messages"]) for tokens in sizes
    ]
    if corpus is None and not DEFAULT_CORPUS.is_dir():
        return made
    chats = [one for one in load_sessions(corpus) if one.dialect is Dialect.OPENAI]
    chats.sort(key=lambda session: session.tokens, reverse=True)
    return made + [(one.name, list(one.messages)) for one in chats[:most]]


def _generated(tokens: int) -> str:
    """The name of the generated conversation of about that size."""
    return f"generated {tokens:,}"


@dataclass(frozen=True, slots=True)
class _Ours:
    """Pinch's client, and the echo that is its limit."""

    client: PinchClient
    echo: Callable[[bytes], bytes]

    def prune(self, body: bytes) -> bytes:
        return self.client.prune_openai(body, limits=Limits(budget_tokens=BUDGET_TOKENS)).body


def _compare(
    name: str, messages: Messages, others: Sequence[Pruner], ours: _Ours, rounds: int
) -> list[Outcome]:
    tokens = sum(len(json_text(message)) for message in messages) // 3
    times: dict[str, list[float]] = {}
    results: dict[str, Messages] = {}

    def timed(pruner: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        times.setdefault(pruner, []).append((time.perf_counter() - began) * 1e3)
        return result

    for number in range(rounds):
        first, later = (_body(_retold(messages, f"{name} {number} {which}")) for which in "ab")
        results[FIRST] = _messages_of(timed(FIRST, partial(ours.prune, first)))
        ours.prune(_body(_retold(messages, f"{name} {number} b")[: -len(messages) // 50 - 2]))
        results[LATER] = _messages_of(timed(LATER, partial(ours.prune, later)))
        results[ECHO] = _messages_of(timed(ECHO, partial(ours.echo, later)))
        for other in others:
            if tokens <= other.most_tokens and (number == 0 or not other.is_slow):
                results[other.name] = timed(other.name, partial(other.prune, deepcopy(messages)))
    return [
        _outcome(name, tokens, pruner, times, messages, results[pruner])
        for pruner in (FIRST, LATER, ECHO, *(other.name for other in others))
        if pruner in times
    ]


def _retold(messages: Messages, telling: str) -> Messages:
    """The same conversation in a session that nobody has seen before."""
    first = next(index for index, message in enumerate(messages) if message["role"] == "user")
    opening = messages[first] | {"content": f"{telling}: {messages[first]['content']}"}
    return [*messages[:first], opening, *messages[first + 1 :]]


def _body(messages: Messages) -> bytes:
    return json.dumps({"messages": messages}, ensure_ascii=False).encode()


def _messages_of(body: bytes) -> Messages:
    messages: Messages = json.loads(body)["messages"]
    return messages


def _outcome(
    name: str,
    tokens: int,
    pruner: str,
    times: dict[str, list[float]],
    before: Messages,
    after: Messages,
) -> Outcome:
    if pruner in (FIRST, LATER, ECHO):
        before = _retold(before, _telling(after))
    verdict = judge(before, after)
    ours = statistics.median(times[LATER])
    middle = statistics.median(times[pruner])
    return Outcome(
        conversation=name,
        tokens=tokens,
        pruner=pruner,
        milliseconds=middle,
        ours_ratio=None if pruner in (FIRST, LATER) else ours / middle,
        removed=1 - len(json_text(after)) / len(json_text(before)),
        kept_messages=verdict.kept_messages,
        said_whole=verdict.said_whole,
        faults=verdict.faults,
    )


def _telling(messages: Messages) -> str:
    said: str = next(message["content"] for message in messages if message["role"] == "user")
    return said.partition(": ")[0]


def goal_of(outcome: Outcome) -> float | None:
    """The most that our time may be of this one's; None where none is set."""
    if outcome.conversation != _generated(GOAL_TOKENS) or outcome.ours_ratio is None:
        return None
    return next((goal for name, goal in GOALS.items() if outcome.pruner.startswith(name)), None)


def _misses(outcome: Outcome) -> bool:
    goal = goal_of(outcome)
    return goal is not None and outcome.ours_ratio is not None and outcome.ours_ratio > goal


def _table(outcomes: Sequence[Outcome], *, as_markdown: bool = False) -> Table:
    title = f"Budget {BUDGET_TOKENS:,} tokens; ours over gRPC, the others in process"
    table = Table(title=None if as_markdown else title, box=MARKDOWN if as_markdown else SIMPLE_HEAD)
    for name in ("conversation", "tokens", "who", "ms", "ours is x", "goal", "removed", "messages", "valid"):
        table.add_column(name, justify="left" if name in ("conversation", "who", "valid") else "right")
    for one in outcomes:
        goal = goal_of(one)
        ours = "" if one.ours_ratio is None else f"{one.ours_ratio:.4g}{' (missed)' if _misses(one) else ''}"
        table.add_row(
            one.conversation,
            f"{one.tokens:,}",
            one.pruner,
            f"{one.milliseconds:.4g}",
            ours,
            "" if goal is None else f"<= {goal:.4g}",
            f"{one.removed:.1%}",
            f"{one.kept_messages:.0%}",
            _verdict(one),
        )
    return table


def _verdict(outcome: Outcome) -> str:
    if outcome.faults:
        return f"no: {outcome.faults[0]}"
    return "yes" if outcome.said_whole else "yes, but the dialogue is cut"


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give numbers of tokens divided by commas") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="generated ones (50000,324000,1000000)")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="a folder of bodies (../shared/corpus)")
    parser.add_argument("--sessions", type=int, default=3, help="the longest of that folder (3)")
    parser.add_argument("--rounds", type=int, default=5, help="of each conversation; slow ones have one (5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
