"""Loading modules, serving, and ending, without looking for garbage in what stays until the end anyway."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Looks for no garbage while modules are imported in the block: few of their objects go again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def loaded() -> None:
    """Never again looks for garbage in what is there now: call it when all is loaded, before there are calls.

    A full collection goes through everything that is there, while calls wait.
    """
    gc.freeze()


@contextmanager
def ending() -> Iterator[None]:
    """Looks for no garbage after the block, with which the process ends: all goes with it, cycles too."""
    try:
        yield
    finally:
        gc.freeze()
