"""The last calls of a session, read from decisions and outcomes."""

from sqlalchemy import Engine

from pinch_server.core.extraction.cold import PastCall
from pinch_server.store.engine import open_engine
from pinch_server.store.past_calls import MOST_CALLS, DatabasePastCalls
from pinch_server.store.writer import DecisionWriter
from tests.store.samples import NOW, CountingObserver, a_decision, an_outcome


def test_the_last_calls_of_a_session_with_what_was_billed(engine: Engine, observer: CountingObserver) -> None:
    """Newest first, so many at most, dry runs and other sessions left out, unreported usage unknown."""
    decisions = [a_decision(number) for number in range(1, MOST_CALLS + 3)]
    decisions += [a_decision(20, session_hash="other"), a_decision(21, dry_run=True)]
    newest = MOST_CALLS + 2
    reported = [an_outcome(newest, cached_tokens=0, cache_write_tokens=None)]
    DecisionWriter(engine, observer).write(decisions, reported, NOW)
    past_calls = DatabasePastCalls(engine, wait_seconds=60)
    found = past_calls.recent("5e55", None)
    assert found is not None
    assert found[0] == PastCall(NOW + newest, 49_100, 0, None)
    assert [call.at_micros for call in found] == [NOW + newest - back for back in range(MOST_CALLS)]
    assert {call.prompt_tokens for call in found[1:]} == {None}
    assert past_calls.recent("nobody", None) == ()
    past_calls.close()


def test_tenants_have_sessions_of_their_own(engine: Engine, observer: CountingObserver) -> None:
    """Of two tenants whose sessions have one name, each knows its own calls and times to live alone."""
    decisions = [
        a_decision(1, cache_ttl_seconds=300),
        a_decision(2, tenant_hash="b1ue", cache_ttl_seconds=3_600),
        a_decision(3, tenant_hash="b1ue"),
        a_decision(4, tenant_hash="4ed", dry_run=True, cache_ttl_seconds=7_200),
    ]
    DecisionWriter(engine, observer).write(decisions, [], NOW)
    past_calls = DatabasePastCalls(engine, wait_seconds=60)
    found = {who: past_calls.recent("5e55", who) for who in (None, "b1ue", "4ed")}
    assert {who: [call.at_micros - NOW for call in calls or ()] for who, calls in found.items()} == {
        None: [1],
        "b1ue": [3, 2],
        "4ed": [],
    }
    longest = [past_calls.longest_ttl("5e55", who) for who in (None, "b1ue", "4ed")]
    assert longest == [300, 3_600, 0]
    past_calls.close()


def test_a_database_that_cannot_tell_says_nothing(tmp_path: object) -> None:
    """Without the table, and after the close, nobody knows: that is not the same as no calls."""
    engine = open_engine(f"sqlite:///{tmp_path}/empty.sqlite3")
    past_calls = DatabasePastCalls(engine, wait_seconds=60)
    assert past_calls.recent("5e55", None) is past_calls.longest_ttl("5e55", None) is None
    past_calls.close()
    assert past_calls.recent("5e55", None) is past_calls.longest_ttl("5e55", None) is None
    engine.dispose()
