"""Pruning in this process: the service's use case and conversions, without a wire and without a record."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pinch import Pruned
from pinch.conversations import prepare_body
from pinch_server.cli.pruning import Asked, Pruner, RefusedError, wire_format
from pinch_server.clock import SystemClock, Uuid7Ids
from pinch_server.core.decision import Decision, Outcome
from pinch_server.core.embedding import Fault
from pinch_server.decide import Decider, InvalidCallError, Ranker, limits_of
from pinch_server.embeddings.chosen import open_embedder
from pinch_server.embeddings.errors import ModelFilesError
from pinch_server.policy import counter_of, policy_of, ranking_policy_of
from pinch_server.rpc.convert import read_request, write_reply
from pinch_server.rpc.wire import SplitRequest
from pinch_server.settings import Settings


@contextmanager
def in_process(asked: Asked, settings: Settings) -> Iterator[Pruner]:
    """A pruner that keeps nothing.

    Args:
        asked: What the command line asks for.
        settings: The settings in force; limits that were not given are theirs.
    """
    # There is no session on the command line, so nothing is ever hashed with the key.
    policy = policy_of(settings, session_key=b"")
    unkept = _Unkept()
    clock = SystemClock()
    try:
        embedder = open_embedder(settings.relevance, unkept, clock.monotonic)
    except ModelFilesError as error:
        raise RefusedError((str(error),), is_callers_fault=False) from None
    ranker = Ranker(clock, ranking_policy_of(settings), embedder)
    decider = Decider(policy, counter_of(settings), unkept, unkept, clock, Uuid7Ids(), ranker, recent_bytes=0)

    def prune(body: bytes) -> Pruned[bytes]:
        prepared = prepare_body(body, wire_format(asked.format), dry_run=asked.dry_run)
        received = read_request(SplitRequest.of(prepared.request), decider.recent)
        # Given to the use case as they are: some of its limits have no field in a request.
        call = replace(received.call, limits=asked.limits, violations=asked.violations)
        try:
            decided = decider.decide(call)
        except InvalidCallError as error:
            raise RefusedError(tuple(map(str, error.violations)), is_callers_fault=True) from None
        return prepared.finish(write_reply(received, decided).whole())

    limits, out_of_range = limits_of(asked.limits, policy.limits)
    try:
        yield Pruner(
            prune,
            settings.server.max_message_bytes,
            asked.violations + out_of_range,
            budget_tokens=limits.budget_tokens,
            is_stored=False,
        )
    finally:
        if embedder is not None:
            embedder.close()


class _Unkept:
    """A recorder and observer for decisions of which no record is wanted."""

    def record(self, decision: Decision) -> bool:
        """Keeps nothing."""
        del decision
        return False

    def report(self, outcome: Outcome) -> bool:
        """Keeps nothing."""
        del outcome
        return False

    def close(self) -> None:
        """Has nothing to move."""

    def decided(self, **facts: object) -> None:
        """Counts nothing."""

    def prefix_matched(self, share: float) -> None:
        """Notes nothing."""

    def ranked(self, outcome: str) -> None:
        """Counts nothing."""

    def stage(self, name: str, seconds: float) -> None:
        """Counts nothing."""

    def vectors_found(self, count: int) -> None:
        """Counts nothing."""

    def vectors_missed(self, count: int) -> None:
        """Counts nothing."""

    def embedder_asked(self, seconds: float) -> None:
        """Counts nothing."""

    def embedder_unavailable(self, fault: Fault) -> None:
        """Counts nothing."""
