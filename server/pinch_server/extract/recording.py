"""What is on record of a filter: from the job and its outcome, without a word of either's text."""

from dataclasses import dataclass
from typing import Final

from pinch_server.core.extraction.considered import Job
from pinch_server.core.extraction.record import CallRecord, FilterRecord
from pinch_server.extract.outcome import Call, Refused, Written


@dataclass(frozen=True, slots=True)
class MadeWith:
    """What filters are written with.

    Attributes:
        model: The model's name; empty where none is asked.
        strategy: How results are shortened.
        aggressiveness: How much the model is asked to leave out.
    """

    model: str = ""
    strategy: str = ""
    aggressiveness: str = ""


NOTHING_SAID: Final = MadeWith()


def record_of(job: Job, outcome: Written | Refused, result: str, made_with: MadeWith) -> FilterRecord:
    """The record of one filter.

    Args:
        job: The result.
        outcome: What came of it.
        result: The same as a label: `accepted`, or why it was refused.
        made_with: What it was written with.
    """
    considering = job.considering
    return FilterRecord(
        result=result,
        model=made_with.model,
        strategy=outcome.strategy if isinstance(outcome, Written) else made_with.strategy,
        aggressiveness=made_with.aggressiveness,
        cache_state=considering.state if considering is not None else None,
        content_class=considering.content_class if considering is not None else "",
        gate_reason=considering.reason if considering is not None else "",
        tokens=job.tokens,
        after_tokens=outcome.after_tokens if isinstance(outcome, Written) else job.tokens,
        repair=outcome.repair,
        calls=tuple(_call(call) for call in outcome.calls),
    )


def _call(call: Call) -> CallRecord:
    usage = call.usage
    return CallRecord(
        strategy=call.strategy,
        purpose=call.purpose,
        result=call.fault or ("truncated" if call.is_truncated else "answered"),
        prompt=usage.prompt,
        completion=usage.completion,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost_usd=call.cost_usd,
        latency_ms=call.latency_ms,
    )
