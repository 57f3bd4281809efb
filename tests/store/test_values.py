"""The middle of many values, found without reading them all."""

from collections.abc import Sequence
from decimal import Decimal
from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pinch_server.store import values

_SAVED = st.lists(st.one_of(st.integers(1, 50), st.integers(1, 2**63 - 1)), max_size=60)


def packed(saved: Sequence[int]) -> dict[int, bytes]:
    ordered = values.parse(",".join(map(str, saved))) if saved else np.array([], dtype=np.int64)
    return {digits: values.pack(some, digits) for digits, some in values.by_digits(ordered)}


@given(_SAVED)
def test_values_come_back_as_they_were_packed(saved: list[int]) -> None:
    """Grouped by their digits and packed, all values come back in order, none in the group of another."""
    groups = packed(saved)
    back = [int(value) for digits in sorted(groups) for value in values.unpack(groups[digits], digits)]
    assert back == sorted(saved)
    for digits, data in groups.items():
        assert {int(value).bit_length() for value in values.unpack(data, digits)} == {digits}


@given(_SAVED)
def test_the_middle_needs_the_groups_that_were_named_and_no_other(saved: list[int]) -> None:
    """From the counts of all groups and the values of those named comes the exact median."""
    groups = packed(saved)
    counts = {digits: len(values.unpack(data, digits)) for digits, data in groups.items()}
    named = values.middle_groups(counts)
    assert len(named) <= 2
    found = values.median(counts, {digits: [values.unpack(groups[digits], digits)] for digits in named})
    if not saved:
        assert found is None
        return
    middle = sorted(saved)[(len(saved) - 1) // 2], sorted(saved)[len(saved) // 2]
    assert found == Decimal(sum(middle)) / 2
    if max(saved) < 2**50:
        assert found == Decimal(str(median(saved)))
