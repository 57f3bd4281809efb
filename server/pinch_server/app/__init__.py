"""The composition root: the one room that knows every adapter, and the order in which they start and stop."""

from pinch_server.app.service import Addresses, App
from pinch_server.app.start import StartError

__all__ = ["Addresses", "App", "StartError"]
