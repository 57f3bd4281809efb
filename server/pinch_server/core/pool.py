"""What could still be removed from the results that the window no longer protects."""

from dataclasses import dataclass, field, replace

from pinch_server.core.draft import Draft
from pinch_server.core.limits import Limits


@dataclass(slots=True)
class Pool:
    """The gain that is left outside the contracted window, message by message.

    The window only ever moves on, so each message enters once.

    Attributes:
        limits: What may ship.
        results: The indices of the results that no rule protects, ascending.
        tokens: About what could be removed in all (tokens).
        held: No less than that, where an event has to be worth its price; else 0 (tokens).
    """

    limits: Limits
    results: list[int]
    tokens: int = 0
    held: int = 0
    _next: int = 0
    _by_message: dict[int, list[int]] = field(default_factory=dict)
    _gains: dict[int, int] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)

    @property
    def most_held(self) -> int:
        """No less than what could be removed of any one result, where an event has to pay (tokens)."""
        return max(self._held.values(), default=0)

    def copy(self) -> "Pool":
        """The same, to go on from."""
        return replace(
            self,
            results=list(self.results),
            _by_message=dict(self._by_message),
            _gains=dict(self._gains),
            _held=dict(self._held),
        )

    def extend(self, draft: Draft, start: int) -> None:
        """Takes in the results before the message `start`."""
        added: dict[int, list[int]] = {}
        while self._next < len(self.results):
            index = self.results[self._next]
            message = draft.results[index].message
            if message >= start:
                break
            added.setdefault(message, []).append(index)
            self._next += 1
        self._by_message.update(added)
        for message in added:
            self._weigh(draft, message)

    def refresh(self, draft: Draft) -> None:
        """Looks again at what an event may have trimmed."""
        for message in list(self._gains | self._held):
            self._weigh(draft, message)

    def _weigh(self, draft: Draft, message: int) -> None:
        results = [draft.results[index] for index in self._by_message[message]]
        gain = draft.could_remove(results, self.limits)
        self.tokens += gain - self._gains.pop(message, 0)
        if gain:
            self._gains[message] = gain
        if self.limits.is_reckoned:
            held = draft.held(results, self.limits)
            self.held += held - self._held.pop(message, 0)
            if held:
                self._held[message] = held
