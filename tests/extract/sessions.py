"""Sessions for the tests of extraction: a decider with everything real but who writes the filters."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine

from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.chat import read_chat
from pinch_server.core.conversation import Conversation, TextPart
from pinch_server.core.counting import Chars3, Counter
from pinch_server.core.extraction.candidate_gate import Caps
from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.economics import HAIKU
from pinch_server.core.extraction.form import Marking, extracted
from pinch_server.core.extraction.request_gate import Rules
from pinch_server.core.limits import Limits
from pinch_server.core.plan import Edit
from pinch_server.core.pricing import CacheContext, CacheState
from pinch_server.decide import CallContext, Decided, Decider, Extracting, Patience, Policy, PruneCall
from pinch_server.extract.extractor import ModelExtractor
from pinch_server.extract.filtering import Filtering
from pinch_server.extract.model import Usage
from pinch_server.extract.outcome import Call, Refused, Strategy, Written
from pinch_server.extract.policy import ExtractionPolicy
from pinch_server.observe.metrics import Metrics
from pinch_server.store.frozen import DatabaseFrozen
from tests.core.builders import Chat, round_of, said, user
from tests.rpc.service import Kept

NO_CACHE = CallContext(cache=CacheContext(state=CacheState.NONE))
POLICY = ExtractionPolicy(
    rules=Rules(min_output_tokens=300),
    caps=Caps(),
    is_inline=True,
    seconds=60.0,
    model="small",
    prices=HAIKU,
    window=200_000,
    prompt_version="v1",
    fingerprint="f1",
    has_gate=False,
)
LIMITS = Limits(budget_tokens=9_000, target_tokens=8_000, keep_last_turns=1, keep_last_rounds=1, min_gain=0.1)


def kept_lines(job: Job) -> str:
    """A filter that a good writer may have written: every seventh line, as long as that is allowed."""
    lines = job.text.splitlines()[::7]
    kept = ""
    for line in lines:
        if len(kept) + len(line) + 1 > job.aim_chars:
            break
        kept += f"{line}\n"
    return kept


@dataclass
class Scripted:
    """Writes filters by a script, and remembers what it was asked for.

    Attributes:
        filter: What a filter leaves of a result; None refuses it.
        asked: What was asked for.
        fault: The fault of the call to the model; empty for none.
        is_deletion_only: Whether what is left holds nothing but parts of the result.
        refusal: Why it refuses.
        marking: What stands under what is left.
    """

    filter: Callable[[Job], str | None] = kept_lines
    asked: list[Job] = field(default_factory=list)
    fault: str = ""
    is_deletion_only: bool = True
    refusal: str = "result not smaller"
    marking: Marking = Marking.FULL

    def write(self, job: Job, seconds: float) -> Written | Refused:
        """Shortens one result."""
        assert seconds > 0
        self.asked.append(job)
        call = Call(Strategy.CODE, "filter", self.fault, False, Usage(1_000, 100), 0.0015, 900.0)
        if self.fault:
            return Refused((f"model call failed: {self.fault}",), ("model call failed",), (call,))
        kept = self.filter(job)
        if kept is None:
            return Refused((self.refusal,), (self.refusal,), (call,))
        text = extracted(job.text, kept, "a summary", job.reference, self.marking)
        after = len(text) // 3
        return Written(
            text, kept, "a summary", Strategy.CODE, self.is_deletion_only, job.tokens, after, (call,)
        )


@dataclass
class Replica:
    """One process of a service.

    Attributes:
        decider: Decides.
        filtering: Has filters written.
        metrics: Counts.
        writer: Writes them.
    """

    decider: Decider
    filtering: Filtering
    metrics: Metrics
    writer: Scripted

    def call(
        self,
        chat: Chat,
        limits: Limits = LIMITS,
        context: CallContext = NO_CACHE,
        *,
        seconds: float | None = None,
        **more: Any,
    ) -> Decided:
        """One call."""
        call = PruneCall(Conversation(read_chat(chat)), _given(limits), context, **more)
        return self.decider.decide(call, Patience(seconds))

    def metric(self, line: str) -> float:
        """The value of a series, named as on the page."""
        rows = self.metrics.page().decode().splitlines()
        return float(next(row for row in rows if row.startswith(f"{line} ")).rsplit(" ", 1)[1])


def _given(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in Limits.__dataclass_fields__}


@contextmanager
def replica(
    engine: Engine,
    policy: ExtractionPolicy = POLICY,
    writer: Scripted | None = None,
    *,
    counter: Counter | None = None,
    originals: Any = None,
    wait_seconds: float = 60.0,
) -> Iterator[Replica]:
    """A process that extracts, on a database."""
    clock, metrics, scripted = SystemClock(), Metrics(version="0"), writer or Scripted()
    scripted.marking = policy.marking
    frozen = DatabaseFrozen(engine, wait_seconds=wait_seconds)
    filtering = Filtering(
        scripted,
        frozen,
        metrics.extraction,
        clock.monotonic,
        seconds=policy.seconds,
        most_waiting=8,
        shares=policy.shares,
    )
    extractor = ModelExtractor(policy, filtering, frozen, metrics.extraction, originals)
    decider = Decider(
        Policy(LIMITS, True, "fingerprint", b"key"),
        counter or Chars3(),
        Kept(),
        metrics,
        clock,
        Uuid7Ids(),
        extracting=Extracting(extractor, originals),
    )
    try:
        yield Replica(decider, filtering, metrics, scripted)
    finally:
        extractor.close()
        frozen.close()


def session(rounds: int, lines: int = 200, name: str = "s") -> Chat:
    """One turn and so many rounds, each with a result of numbered lines."""
    chat = [user(f"find the failing handler in {name}")]
    for number in range(rounds):
        text = "\n".join(f"{name} {number} line {at}: handler_{at * number} said ok" for at in range(lines))
        chat += round_of(f"t{number}", text)
    return chat


def points(chat: Chat) -> list[int]:
    """The calls of a session, each as the number of messages before it."""
    ends = range(2, len(chat) + 1)
    return [end for end in ends if end == len(chat) or chat[end].get("role") == "assistant"]


def pruned(chat: Chat, decided: Decided) -> Chat:
    """What ships of a chat."""
    shipped = [dict(message) for message in chat]
    for edit in decided.edits:
        assert isinstance(edit.old, TextPart)
        shipped[edit.message]["content"] = edit.new
    return shipped


def texts(edits: Sequence[Edit]) -> dict[int, str]:
    """The new text of each changed message."""
    return {edit.message: edit.new for edit in edits}


def later(chat: Chat) -> Chat:
    """A chat with one more turn."""
    return [*chat, said("done"), user("go on with the next handler")]
