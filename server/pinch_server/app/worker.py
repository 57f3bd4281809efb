"""What a worker process does from its first order to its end."""

import os
import signal
import socket
from typing import Final, cast

from pinch_server import __version__
from pinch_server.app.knobs import InForce
from pinch_server.app.serving import Serving
from pinch_server.app.start import StartError
from pinch_server.loading import loaded
from pinch_server.observe import logs
from pinch_server.observe.metrics import Metrics
from pinch_server.rpc.server import METHODS
from pinch_server.settings import Settings, Source
from pinch_server.signals import StopRequest, stop_signals
from pinch_server.store.errors import StoreError
from pinch_server.workers.asking import Asking
from pinch_server.workers.channel import Channel
from pinch_server.workers.control import Control
from pinch_server.workers.malloc import tune_malloc
from pinch_server.workers.memory import open_numbers
from pinch_server.workers.messages import Answer, Failed, Message, Orders, Ready, Turn, Turned
from pinch_server.workers.pages import settle_in_large_pages

_FLUSH_SECONDS: Final = 1.0


def main(descriptor: int) -> int:
    """Takes calls until the parent process says so, is gone, or a SIGTERM comes.

    Args:
        descriptor: The line to the parent process.

    Returns:
        The exit status.
    """
    # A supervisor may signal the whole group: the parent then tells its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(socket.socket(fileno=descriptor))
    orders = channel.receive()
    if not isinstance(orders, Orders):
        return 1
    settings = Settings(**orders.settings)
    if settings.server.malloc == "tuned":
        tune_malloc()
    words = logs.configure(settings.log.level, settings.log.format, worker=orders.index)
    with stop_signals(signal.SIGTERM) as stop:
        try:
            is_whole = _serve(channel, orders, settings, stop)
        except (StartError, StoreError) as error:
            channel.send(Failed(str(error)))
            return 1
        finally:
            words.flush(_FLUSH_SECONDS)
    if not is_whole:
        # A thread that is still at a call would be waited for, perhaps for ever.
        os._exit(0)
    return 0


def _serve(channel: Channel, orders: Orders, settings: Settings, stop: StopRequest) -> bool:
    metrics = Metrics(version=__version__, methods=METHODS)
    if metrics.layout != orders.layout:
        raise StartError("the installed Pinch is not the one that runs; restart the service")
    metrics.count_in(open_numbers(orders.numbers))
    logs.count_dropped(metrics.log_line_dropped)
    # As the parent sent them; a source that is none would only be shown wrongly.
    in_force = InForce(settings, cast("dict[str, Source]", orders.sources), orders.knobs)
    asking = Asking(channel.send)

    def heard(message: Message) -> None:
        match message:
            case Turn():
                in_force.set(message.knobs)
                channel.send(Turned(message.version))
            case Answer():
                asking.answered(message)
            case _:
                raise AssertionError(f"the parent said {type(message).__name__}")

    serving = Serving(in_force, lambda knobs, persist: asking.turn(knobs, persist=persist), metrics)
    # From now on, so that nobody who turns a knob has to wait until this worker takes calls.
    control = Control(channel, stop=stop.ask, heard=heard)
    control.start()
    serving.start(
        orders.listen, shares_ports=True, journal_bytes=orders.journal_bytes, mouths_listen=orders.mouths
    )
    loaded()
    if settings.server.malloc == "tuned":
        settle_in_large_pages()
    try:
        channel.send(Ready())
        stop.wait()
        control.stopping()
    finally:
        is_whole = serving.stop()
    return is_whole
