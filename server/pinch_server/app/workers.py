"""Calls taken by several processes, which this one starts, replaces and stops, and takes none itself."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from pinch_server import state
from pinch_server.app.start import StartError
from pinch_server.listen import Listen, parse_listen
from pinch_server.observe.metrics import Metrics
from pinch_server.settings import Settings, Source, turned
from pinch_server.workers.asking import Asking
from pinch_server.workers.fleet import Fleet, WorkerFailed
from pinch_server.workers.keeper import Job
from pinch_server.workers.memory import SharedNumbers
from pinch_server.workers.messages import Answer, Ask, Message, Orders, Turned
from pinch_server.workers.ports import ReservedPort
from pinch_server.workers.spreading import Spreading

_MODULE: Final = "pinch_server.worker"
_LAST_PORT: Final = 65_535
_HERE: Final = -1
"""Who asks, where this process itself does and no worker."""


class Workers:
    """Takes calls from `start` to `stop`."""

    def __init__(
        self,
        settings: Settings,
        sources: Mapping[str, Source],
        knobs: Mapping[str, bool],
        metrics: Metrics,
        count: int,
    ) -> None:
        self._settings = settings
        self._sources = dict(sources)
        self._metrics = metrics
        self._count = count
        self._fleet: Fleet | None = None
        self._numbers: list[SharedNumbers] = []
        self._own: tuple[str, ...] = ()
        self._mouths = ""
        self._stops = ExitStack()
        self._asking = Asking(lambda ask: self._spreading.asked(_HERE, ask))
        self._spreading = Spreading(
            count, knobs, keep=lambda turned: state.keep_knobs(settings, turned), say=self._say
        )

    def start(self) -> str:
        """Reserves the ports and starts the workers; calls are taken from when it returns.

        Returns:
            The address that all of them share.

        Raises:
            StartError: An address cannot be used, or a worker cannot start.
        """
        with ExitStack() as stops:
            shared = self._reserve(parse_listen(self._settings.server.listen), stops)
            first = self._settings.server.worker_port
            if first and first + self._count - 1 > _LAST_PORT:
                raise StartError(
                    f"{self._count} ports from {first} on (server.worker_port) end beyond {_LAST_PORT}"
                )
            self._own = tuple(
                str(self._reserve(replace(shared, port=first + index if first else 0), stops))
                for index in range(self._count)
            )
            if self._settings.gateways.mouths:
                self._mouths = str(self._reserve(parse_listen(self._settings.gateways.listen), stops))
            jobs = [self._job(index, str(shared), stops) for index in range(self._count)]
            self._metrics.show_also([numbers.row for numbers in self._numbers])
            self._fleet = Fleet(jobs, gone=self._gone, heard=self._heard)
            try:
                self._fleet.start()
            except WorkerFailed as error:
                raise StartError(str(error)) from error
            self._stops = stops.pop_all()
        return str(shared)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Each worker's own address."""
        return self._own

    @property
    def mouths(self) -> str:
        """The address of the HTTP endpoints for gateways, that all of them share; empty for none."""
        return self._mouths

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken."""
        return self._fleet is not None and self._fleet.is_ready

    @property
    def settings(self) -> Settings:
        """The settings in force, turned knobs included."""
        return turned(self._settings, self._spreading.knobs)

    def turn(self, knobs: Mapping[str, bool], *, persist: bool) -> None:
        """Turns knobs in every process before it returns.

        Raises:
            NotTurnedError: They were not turned, or not everywhere in time.
        """
        self._asking.turn(knobs, persist=persist)

    def stop(self) -> bool:
        """Has every worker finish its calls, empty its journal and end. Stopping twice is harmless.

        Returns:
            False when one had to be killed.
        """
        is_whole = self._fleet is None or self._fleet.stop(self._settings.server.drain_seconds)
        self._stops.close()
        return is_whole

    def _reserve(self, wanted: Listen, stops: ExitStack) -> Listen:
        try:
            port = ReservedPort(wanted)
        except OSError as error:
            raise StartError(f"cannot listen on {wanted}: {error.strerror or error}") from error
        stops.callback(port.close)
        return port.listen

    def _job(self, index: int, shared: str, stops: ExitStack) -> Job:
        try:
            numbers = SharedNumbers(self._metrics.size)
        except OSError as error:
            raise StartError(f"no memory for the metrics: {error.strerror or error}") from error
        stops.callback(numbers.close)
        self._numbers.append(numbers)

        def orders() -> Orders:
            return Orders(
                index=index,
                settings=self._settings.model_dump(mode="json"),
                listen=[shared, self._own[index]],
                mouths=self._mouths,
                journal_bytes=self._settings.journal.max_bytes // self._count,
                numbers=numbers.descriptor,
                layout=self._metrics.layout,
                sources=dict(self._sources),
                knobs=self._spreading.knobs,
            )

        return Job(_MODULE, index, orders, (numbers.descriptor,))

    def _gone(self, index: int) -> None:
        self._metrics.worker_restarted()
        self._metrics.worker_gone(self._numbers[index].row)
        self._spreading.gone(index)

    def _heard(self, index: int, message: Message) -> None:
        match message:
            case Ask():
                self._spreading.asked(index, message)
            case Turned():
                self._spreading.confirmed(index, message.version)
            case _:
                raise AssertionError(f"worker {index} said {type(message).__name__}")

    def _say(self, index: int, message: Message) -> bool:
        if index == _HERE:
            if isinstance(message, Answer):
                self._asking.answered(message)
            return True
        return self._fleet is not None and self._fleet.say(index, message)
