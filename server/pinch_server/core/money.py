"""Amounts of money as callers write them: decimal text, never a binary fraction."""

import re
from typing import Final

_AMOUNT: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")


def is_amount(text: str) -> bool:
    """Whether a text is an amount of money: 1 to 12 digits, with 1 to 12 more behind a point or without.

    No sign, exponent, space or digit of another script: every reader of a stored amount takes it alike.
    """
    return _AMOUNT.fullmatch(text) is not None
