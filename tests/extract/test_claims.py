"""One filter for a content, whichever processes want it at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine

from pinch_server.core.extraction.considered import Job
from tests.core.builders import user
from tests.extract.sessions import POLICY, Scripted, kept_lines, replica, session, texts

CHAT = session(5)
"""Its last call goes over the budget, and is the first to."""
DEFERRED = replace(POLICY, is_inline=False)


@dataclass
class Held:
    """A filter that is not finished before it is let.

    Attributes:
        begun: Set once it was asked for.
        let: Set once it may be finished.
    """

    begun: threading.Event = field(default_factory=threading.Event)
    let: threading.Event = field(default_factory=threading.Event)

    def __call__(self, job: Job) -> str:
        self.begun.set()
        self.let.wait(60)
        return kept_lines(job)


def test_a_caller_waits_for_what_another_process_writes(engine: Engine) -> None:
    """The same call on two replicas is paid for once, and both send the same texts."""
    held = Held()
    with (
        replica(engine, writer=Scripted(filter=held)) as one,
        replica(engine) as two,
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(one.call, CHAT)
        assert held.begun.wait(60)
        second = pool.submit(two.call, CHAT)
        # What the first has not begun yet the second writes; what is held it waits for.
        held.let.set()
        assert texts(first.result(60).edits) == texts(second.result(60).edits)
        asked = [job.text for job in (*one.writer.asked, *two.writer.asked)]
    assert any(edit.is_extracted for edit in first.result().edits)
    assert len(asked) == len(set(asked))


def test_a_caller_waits_although_a_deferred_filter_gave_up(engine: Engine) -> None:
    """Who joins a filter behind a reply that is left to another process waits for that process."""
    held = Held()
    with (
        replica(engine, writer=Scripted(filter=held)) as one,
        replica(engine, DEFERRED) as two,
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(one.call, CHAT)
        assert held.begun.wait(60)
        job = one.writer.asked[0]
        two.filtering.later([job])
        waiting = pool.submit(two.filtering.now, [job], 60.0)
        held.let.set()
        (answer,) = waiting.result(60)
        first.result(60)
        assert two.filtering.idle(60)
    assert answer is not None
    assert answer.text is not None
    assert two.writer.asked == []


def test_behind_the_reply_nobody_waits(engine: Engine) -> None:
    """A deferred filter that another process writes is left to it, and is there for the next call."""
    held = Held()
    elsewhere = [user("another session about a handler"), *CHAT[1:]]
    with (
        replica(engine, writer=Scripted(filter=held)) as one,
        replica(engine, DEFERRED) as two,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(one.call, CHAT)
        assert held.begun.wait(60)
        held_text = one.writer.asked[0].text
        two.call(elsewhere[:-2])
        assert two.filtering.idle(60)
        assert held_text not in [job.text for job in two.writer.asked]
        held.let.set()
        first.result(60)
        edits = two.call(elsewhere).edits
        assert two.filtering.idle(60)
    assert held_text in [edit.old.text for edit in edits if edit.is_extracted]  # type: ignore[union-attr] # texts


def test_a_process_that_dies_with_a_claim_holds_nobody_up_for_good(engine: Engine) -> None:
    """A caller whose time ends while another has the claim gets the excerpt, and the session goes on."""
    held = Held()
    with (
        replica(engine, writer=Scripted(filter=held)) as one,
        replica(engine) as two,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(one.call, CHAT)
        assert held.begun.wait(60)
        decided = two.call(CHAT, seconds=1.0)
        held.let.set()
        first.result(60)
    held_text = one.writer.asked[0].text
    assert held_text not in [edit.old.text for edit in decided.edits if edit.is_extracted]  # type: ignore[union-attr]
