"""Says once in the log that the model's endpoint fails, and once that it answers again."""

import logging
from threading import Lock
from typing import Final

from pinch_server.core.extraction.slugs import NOT_SENT
from pinch_server.extract.model import DEADLINE, ModelFault, Reply

FAILURES: Final = 3
"""Faults in a row after which it is said."""
_FAIR_MS: Final = 1_000.0
"""A timeout within less says nothing about the endpoint (milliseconds)."""
_LOG: Final = logging.getLogger(__name__)


class EndpointLog:
    """Hears how calls ended. Shared by threads.

    Args:
        model: The model's name.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = Lock()
        self._failures = 0
        self._told = False

    def ended(self, answer: Reply | ModelFault) -> None:
        """Notes how a call ended; one that was not sent, or was given no time, says nothing."""
        if isinstance(answer, Reply):
            self._answered()
        elif answer.slug not in NOT_SENT and not (answer.slug == DEADLINE and answer.latency_ms < _FAIR_MS):
            self._failed(answer.slug)

    def _answered(self) -> None:
        with self._lock:
            was_told, self._told, self._failures = self._told, False, 0
        if was_told:
            _LOG.warning("the extraction model %s answers again", self._model)

    def _failed(self, slug: str) -> None:
        with self._lock:
            self._failures += 1
            if self._told or self._failures < FAILURES:
                return
            self._told = True
        _LOG.warning(
            "the extraction model %s does not answer (%s): no filters are written, excerpts ship;"
            " look at extract.model.base_url, name and api_key",
            self._model,
            slug,
        )
