"""The settings in force in one process, and the turning of their knobs in a service of one process."""

import threading
from collections.abc import Callable, Mapping

from pinch_server import state
from pinch_server.ports import NotTurnedError
from pinch_server.settings import Settings, ShownSetting, Source, knobs_of, shown_settings, turned


class InForce:
    """The settings as they are now, and who has to know when they change.

    Args:
        settings: The settings at the start.
        sources: Where each value came from.
        knobs: The knobs that were turned so far.
    """

    def __init__(
        self, settings: Settings, sources: Mapping[str, Source], knobs: Mapping[str, bool] | None = None
    ) -> None:
        self._start = settings
        self._sources = sources
        self._knobs = dict(knobs or {})
        self._lock = threading.Lock()
        self._watchers: list[Callable[[Settings], None]] = []
        self.settings = turned(settings, self._knobs)
        """The settings in force; replaced, never changed."""

    def set(self, knobs: Mapping[str, bool]) -> None:
        """Puts all knobs that were turned so far in force, before it returns."""
        with self._lock:
            self._knobs = dict(knobs)
            self.settings = turned(self._start, self._knobs)
            for watcher in self._watchers:
                watcher(self.settings)

    def add(self, knobs: Mapping[str, bool]) -> None:
        """Turns some knobs more."""
        self.set({**self._knobs, **knobs})

    def watch(self, watcher: Callable[[Settings], None]) -> None:
        """Tells somebody the settings now, and again at each change."""
        with self._lock:
            self._watchers.append(watcher)
            watcher(self.settings)

    def shown(self) -> tuple[ShownSetting, ...]:
        """Every setting as an operator is shown it."""
        with self._lock:
            return shown_settings(self.settings, self._sources, self._knobs.keys())


Turn = Callable[[Mapping[str, bool], bool], None]
"""Turns knobs in every process, and keeps them for the next start when asked to; may raise NotTurnedError."""


class Knobs:
    """What AdminService sees of the settings.

    Args:
        in_force: The settings of this process.
        turn: Turns knobs in every process, this one included.
    """

    def __init__(self, in_force: InForce, turn: Turn) -> None:
        self._in_force = in_force
        self._turn = turn

    def settings(self) -> tuple[ShownSetting, ...]:
        """Every setting in force."""
        return self._in_force.shown()

    def standing(self) -> tuple[dict[str, bool], str]:
        """How every knob stands, and the fingerprint of the settings they are part of."""
        settings = self._in_force.settings
        return knobs_of(settings), settings.fingerprint()

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Turns knobs in every process before it returns.

        Raises:
            NotTurnedError: They were not turned, or not everywhere in time.
        """
        self._turn(knobs, persist)


def turn_here(in_force: InForce) -> Turn:
    """How a service of one process turns its knobs."""
    lock = threading.Lock()

    def turn(knobs: Mapping[str, bool], persist: bool) -> None:
        with lock:
            if persist:
                try:
                    state.keep_knobs(in_force.settings, knobs)
                except (OSError, ValueError) as error:
                    raise NotTurnedError(f"the change cannot be kept, and was not made: {error}") from error
            in_force.add(knobs)

    return turn
