"""The metrics of decisions where calls leave spans too."""

from typing import Protocol

from pinch_server.ports import Observer


class Stages(Protocol):
    """Makes a span of each stage."""

    def stage(self, name: str, seconds: float) -> None:
        """Adds the stage `name` of the current call, which has just ended and took `seconds`."""
        ...


class TracedObserver:
    """An observer whose stages are spans as well.

    Args:
        observer: Counts.
        stages: Makes the spans.
    """

    def __init__(self, observer: Observer, stages: Stages) -> None:
        self._stages = stages
        self._stage = observer.stage
        self.decided = observer.decided
        self.prefix_matched = observer.prefix_matched
        self.ranked = observer.ranked

    def stage(self, name: str, seconds: float) -> None:
        """Adds the time one stage of a call took."""
        self._stage(name, seconds)
        self._stages.stage(name, seconds)
