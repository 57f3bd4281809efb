"""Which results the model still works with: turns, rounds, the protected window, the fresh results."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pinch_server.core.conversation import Message, Speaker
from pinch_server.core.limits import Limits


@dataclass(frozen=True, slots=True)
class Window:
    """The bounds of protection over the messages before one point, as message indices.

    Attributes:
        start: Results from here on are inside the protected window.
        contracted_start: Where the window begins once it has contracted; equal to `start` where it cannot.
        fresh_start: Results from here on have not been read by the model yet.
    """

    start: int
    contracted_start: int
    fresh_start: int


@dataclass(slots=True)
class WindowWalk:
    """The window at each point of a conversation that is read from its start.

    The last `keep_last_turns` user turns, with all that follows them, are protected; where there are fewer,
    the window starts at the first; where there is none, the last `keep_last_turns` rounds are the window. It
    contracts to the last `keep_last_rounds` rounds. A closing run of model output (a prefill) is not an
    answer to the results before it, so those stay fresh.

    Attributes:
        limits: What is protected.
        end: Messages read so far.
    """

    limits: Limits
    end: int = 0
    _turns: list[int] = field(default_factory=list)
    _rounds: list[int] = field(default_factory=list)
    _open_run: int | None = None
    _last_run_end: int = -1
    _run_end_before: int = -1
    _is_in_run: bool = False

    def copy(self) -> "WindowWalk":
        """The same, to go on from."""
        return replace(self, _turns=list(self._turns), _rounds=list(self._rounds))

    def read(self, message: Message) -> None:
        """Takes the next message into account."""
        is_model = message.speaker is Speaker.MODEL
        if is_model:
            if not self._is_in_run:
                self._run_end_before = self._last_run_end
                self._open_run = self.end
            self._last_run_end = self.end
        elif message.results and self._open_run is not None:
            self._rounds.append(self._open_run)
            self._open_run = None
        if message.is_turn:
            self._turns.append(self.end)
        self._is_in_run = is_model
        self.end += 1

    def window(self) -> Window:
        """The window over the messages read so far."""
        fresh_start = (self._run_end_before if self._is_in_run else self._last_run_end) + 1
        keep = self.limits.keep_last_turns
        if self._turns:
            start = self._turns[-keep] if len(self._turns) >= keep else self._turns[0]
        else:
            start = self._rounds[-keep] if len(self._rounds) >= keep else 0
        start = contracted = min(start, fresh_start)
        if 0 < self.limits.keep_last_rounds <= len(self._rounds):
            contracted = min(max(start, self._rounds[-self.limits.keep_last_rounds]), fresh_start)
        return Window(start, contracted, fresh_start)


def window_at(messages: Sequence[Message], end: int, limits: Limits) -> Window:
    """The window over `messages[:end]`."""
    walk = WindowWalk(limits)
    for message in messages[:end]:
        walk.read(message)
    return walk.window()
