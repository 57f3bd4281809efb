"""Turning knobs in every worker before whoever asked is answered."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pinch_server.workers.messages import Answer, Ask, Message, Turn


@dataclass(slots=True)
class _Question:
    """One that is not answered yet.

    Attributes:
        asker: The worker that asked.
        number: Its number there.
        version: What it brought about.
        waiting: The workers that have not confirmed.
    """

    asker: int
    number: int
    version: int
    waiting: set[int]


class Spreading:
    """Has the knobs as they are, and the questions that wait for workers to confirm.

    Args:
        workers: How many there are.
        knobs: The knobs turned before the start.
        keep: Writes knobs down for the next start; may raise OSError or ValueError.
        say: Says something to a worker; False when there is none at the moment. Its next one gets `knobs`.
    """

    def __init__(
        self,
        workers: int,
        knobs: Mapping[str, bool],
        *,
        keep: Callable[[Mapping[str, bool]], None],
        say: Callable[[int, Message], bool],
    ) -> None:
        self._workers = range(workers)
        self._keep = keep
        self._say = say
        self._lock = threading.Lock()
        self._version = 0
        self._questions: list[_Question] = []
        self.knobs = dict(knobs)
        """The knobs that were turned so far; replaced, never changed."""

    def asked(self, asker: int, ask: Ask) -> None:
        """Turns knobs; the worker that asked is answered when all have confirmed."""
        with self._lock:
            try:
                if ask.persist:
                    self._keep(ask.knobs)
            except (OSError, ValueError) as error:
                self._say(asker, Answer(ask.number, f"the change cannot be kept, and was not made: {error}"))
                return
            self._version += 1
            # Before anyone is told: a worker that starts meanwhile starts with them.
            self.knobs = {**self.knobs, **ask.knobs}
            turn = Turn(self._version, self.knobs)
            waiting = {worker for worker in self._workers if self._say(worker, turn)}
            self._questions.append(_Question(asker, ask.number, self._version, waiting))
            self._answer()

    def confirmed(self, worker: int, version: int) -> None:
        """Notes that a worker has the knobs as they were at a version."""
        with self._lock:
            for question in self._questions:
                if question.version <= version:
                    question.waiting.discard(worker)
            self._answer()

    def gone(self, worker: int) -> None:
        """Notes that a worker is gone: the one in its place starts with the knobs as they are."""
        with self._lock:
            for question in self._questions:
                question.waiting.discard(worker)
            self._answer()

    def _answer(self) -> None:
        for question in [one for one in self._questions if not one.waiting]:
            self._questions.remove(question)
            self._say(question.asker, Answer(question.number, ""))
