"""A browser for the tests of the pages: one a file, put back before each test."""

from collections.abc import Iterator

import pytest

from tests.web.browser import Browser, browsing


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    """One window for all tests of a file."""
    with browsing() as one:
        yield one


@pytest.fixture
def browser(window: Browser) -> Browser:
    """The window, as large and as light as every test begins with it."""
    window.size(1280, 1000)
    window.prefer("light")
    return window
