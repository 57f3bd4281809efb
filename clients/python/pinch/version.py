"""The version that the client tells every server."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_DISTRIBUTION: Final = "pinch-grpc"


def _installed_version() -> str:
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:  # used from a checkout that was never installed
        return "0+unknown"


VERSION: Final = _installed_version()
