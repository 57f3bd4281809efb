"""Spans, where the settings ask for them."""

from typing import TYPE_CHECKING

from pinch_server import __version__
from pinch_server.app.start import StartError
from pinch_server.observe.metrics import Metrics
from pinch_server.rpc.server import METHODS
from pinch_server.settings import TracesSettings

if TYPE_CHECKING:
    from pinch_server.observe.traces import Traces


def open_traces(settings: TracesSettings, metrics: Metrics) -> "Traces | None":
    """Makes ready what sends spans; None where there are to be none, and then nothing is loaded for it.

    Raises:
        StartError: OpenTelemetry is not installed.
    """
    if not settings.enabled:
        return None
    try:
        from pinch_server.observe.traces import Traces  # noqa: PLC0415

        return Traces(settings, __version__, METHODS, metrics)
    except ModuleNotFoundError as error:
        raise StartError(
            f"traces.enabled needs OpenTelemetry ({error.name} is missing): pip install '.[server,otel]'"
        ) from error
