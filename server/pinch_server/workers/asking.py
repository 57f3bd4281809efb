"""Questions about knobs, from a worker or from the parent process itself, and the wait for their answers."""

import threading
from collections.abc import Callable, Mapping
from typing import Final

from pinch_server.ports import NotTurnedError
from pinch_server.workers.messages import Answer, Ask

ANSWER_SECONDS: Final = 5.0
"""How long all workers have to confirm a change (seconds)."""


class Asking:
    """Asks, from any thread.

    Args:
        ask: Hands a question on.
    """

    def __init__(self, ask: Callable[[Ask], object]) -> None:
        self._ask = ask
        self._changed = threading.Condition()
        self._last = 0
        self._answers: dict[int, str | None] = {}

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Has knobs turned in every worker.

        Raises:
            NotTurnedError: They were not, or not everywhere in time.
        """
        with self._changed:
            self._last += 1
            number = self._last
            self._answers[number] = None
        self._ask(Ask(number, dict(knobs), persist))
        with self._changed:
            self._changed.wait_for(lambda: self._answers[number] is not None, ANSWER_SECONDS)
            problem = self._answers.pop(number)
        if problem is None:
            raise NotTurnedError(
                f"not every worker has confirmed the change within {ANSWER_SECONDS:g} s;"
                " those that have not get it when they answer again"
            )
        if problem:
            raise NotTurnedError(problem)

    def answered(self, answer: Answer) -> None:
        """Takes an answer; one that nobody waits for any more is dropped."""
        with self._changed:
            if answer.number in self._answers:
                self._answers[answer.number] = answer.problem
                self._changed.notify_all()
