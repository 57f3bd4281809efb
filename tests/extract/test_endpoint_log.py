"""What the log says of the model's endpoint: when it begins to fail, and when that is over."""

import pytest

from pinch_server.core.extraction.slugs import NOT_SENT
from pinch_server.extract.endpoint_log import FAILURES, EndpointLog
from pinch_server.extract.model import DEADLINE, ModelFault, Reply, Usage

ANSWER = Reply("OUTPUT = INPUT", False, Usage(), 0.001, 900.0)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_an_outage_is_told_twice(caplog: pytest.LogCaptureFixture) -> None:
    """Three faults in a row leave one line, however many follow, and the next answer another."""
    log = EndpointLog("small")
    for _ in range(FAILURES - 1):
        log.ended(ModelFault("401"))
    assert told(caplog) == []
    for slug in ("401", "503", "401"):
        log.ended(ModelFault(slug))
    assert len(told(caplog)) == 1
    assert told(caplog)[0].startswith("the extraction model small does not answer (401)")
    for _ in range(2):
        log.ended(ANSWER)
    assert told(caplog)[1:] == ["the extraction model small answers again"]


def test_faults_with_answers_between_are_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    """A fault now and then is not told."""
    log = EndpointLog("small")
    for _ in range(FAILURES):
        log.ended(ModelFault("429"))
        log.ended(ANSWER)
    assert told(caplog) == []


@pytest.mark.parametrize("slug", [*NOT_SENT, DEADLINE])
def test_what_says_nothing_about_it_is_not_told(caplog: pytest.LogCaptureFixture, slug: str) -> None:
    """Calls that were never sent, or had no time, are no faults of the endpoint, and no answers either."""
    log = EndpointLog("small")
    for _ in range(FAILURES):
        log.ended(ModelFault(slug, latency_ms=200.0))
    assert told(caplog) == []
    for _ in range(FAILURES):
        log.ended(ModelFault(DEADLINE, latency_ms=2_000.0))
        log.ended(ModelFault(slug, latency_ms=200.0))
    assert len(told(caplog)) == 1
