"""Bodies made to cost much: what lies beyond a bound is not read one by one."""

import base64
import json

import pytest

from pinch_server.core.images import LONGEST_EDGE, image_size
from pinch_server.core.trimming import Step, step_of
from pinch_server.formats.blocks import MOST_DEPTH, MOST_STEPS, leaf_parts
from pinch_server.formats.body import MOST_MESSAGES, read_body
from pinch_server.formats.errors import NotUnderstoodError
from pinch_server.formats.format import Format


def test_more_messages_than_any_session_has_are_not_read() -> None:
    """Above the bound a body is not understood, and comes back as it came."""
    body = json.dumps({"messages": [{}] * (MOST_MESSAGES + 1)}).encode()
    with pytest.raises(NotUnderstoodError):
        read_body(body, Format.OPENAI_CHAT)


@pytest.mark.parametrize("value", [["x"] * (MOST_STEPS + 2), "deep"])
def test_a_result_beyond_its_bounds_is_one_opaque_part(value: object) -> None:
    """Very many strings, or very many levels, count as one JSON text and none of them is trimmed."""
    if value == "deep":
        for _ in range(MOST_DEPTH + 1):
            value = [value]
    (only,) = leaf_parts(value, ())
    assert only.text == json.dumps(value, separators=(",", ":"))  # type: ignore[union-attr]


def test_an_edge_nobody_could_draw_is_no_size() -> None:
    """A header that claims more pixels than formats hold gives no size, so that no number overflows."""
    header = f"P6 {LONGEST_EDGE + 1} 9 255\n".encode() + b"\0" * 64
    assert image_size(base64.b64encode(header).decode()) is None
    assert image_size("data:image/x-portable-pixmap;base64," + base64.b64encode(header).decode()) is None


@pytest.mark.parametrize(
    "texts", [["[...1 chars trimmed...]" * 40_000], ["kept " * 400, *["[...1 chars trimmed...]"] * 8_000]]
)
def test_forged_markers_are_read_once(texts: list[str]) -> None:
    """Thousands of forged markers end in an answer: nothing in the recognition multiplies them."""
    assert step_of("ls", texts) is Step.WHOLE
