"""A model asked several times over one result, within one deadline, every call on record."""

from collections.abc import Callable
from threading import Lock

from pinch_server.core.extraction.record import Repair
from pinch_server.extract.model import DEADLINE, Model, ModelFault, Reply
from pinch_server.extract.outcome import Call, Strategy
from pinch_server.extract.prompts.prompt import Prompt


class Asking:
    """Asks within what is left of the time. Shared by the threads of one result.

    Args:
        model: Whom to ask.
        seconds: Time for all calls together (seconds).
        monotonic: A clock that never goes back (seconds).
    """

    def __init__(self, model: Model, seconds: float, monotonic: Callable[[], float]) -> None:
        self._model = model
        self._monotonic = monotonic
        self._until = monotonic() + seconds
        self._lock = Lock()
        self._calls: list[Call] = []
        self.repair = Repair.NONE
        """What came of having a program repaired."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call so far."""
        with self._lock:
            return tuple(self._calls)

    def ask(self, strategy: Strategy, purpose: str, prompt: Prompt) -> Reply | ModelFault:
        """Asks once; without time left, nobody is asked and nothing recorded."""
        seconds = self._until - self._monotonic()
        if seconds <= 0:
            return ModelFault(DEADLINE)
        answer = self._model.ask(prompt, seconds=seconds)
        is_fault = isinstance(answer, ModelFault)
        call = Call(
            strategy=strategy,
            purpose=purpose,
            fault=answer.slug if isinstance(answer, ModelFault) else "",
            is_truncated=not is_fault and isinstance(answer, Reply) and answer.is_truncated,
            usage=answer.usage,
            cost_usd=answer.cost_usd,
            latency_ms=answer.latency_ms,
        )
        with self._lock:
            self._calls.append(call)
        return answer
