"""Writes the price table (server/pinch_server/core/price_table.py) from the genai-prices package.

Run `make prices` in an environment that has genai-prices, and read the difference before it is committed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

PROVIDERS: Final = ("anthropic", "openai", "google", "deepseek", "mistral", "x-ai", "moonshotai", "zai")
"""Makers of models, in the order in which the first to name a model prices it."""
TABLE: Final = Path(__file__).resolve().parent.parent / "server/pinch_server/core/price_table.py"
_BEGIN: Final = '_TABLE: Final = """\\\n'
_END: Final = '"""\n'
_NOT_TEXT: Final = re.compile(
    r"image|audio|realtime|tts|whisper|embed|moderation|transcribe|sora|dall|veo|imagen|ocr"
)


def lines(today: date) -> Iterator[str]:
    """One line a model: its name and the prices of prompt, cached and cache-written tokens, `-` for none."""
    from genai_prices.data import providers  # noqa: PLC0415 only whoever writes the table needs it

    from pinch_server.core.price_table import plain_name  # noqa: PLC0415 next to the other

    by_id = {provider.id: provider for provider in providers}
    seen: set[str] = set()
    for model in (model for name in PROVIDERS for model in by_id[name].models):
        price = _in_force(model.prices, today)
        texts = [
            _base(getattr(price, key, None)) for key in ("input_mtok", "cache_read_mtok", "cache_write_mtok")
        ]
        if texts[0] == "-" or _NOT_TEXT.search(model.id):
            continue
        for spelling in (model.id, *_spellings(model.match)):
            name = plain_name(spelling).rstrip("-")
            if name not in seen and " " not in name and not _NOT_TEXT.search(name):
                seen.add(name)
                yield " ".join((name, *texts))


def _in_force(prices: Any, today: date) -> Any:
    """The prices of that day; of several, the last whose condition is a start that has come, or none."""
    if not isinstance(prices, list):
        return prices
    found = prices[0].prices
    for conditional in prices:
        start = getattr(conditional.constraint, "start_date", None)
        if conditional.constraint is None or (start is not None and start <= today):
            found = conditional.prices
    return found


def _base(price: Any) -> str:
    """A price as decimal text; of a tiered one the lowest tier."""
    if price is None:
        return "-"
    amount = price if isinstance(price, Decimal) else price.base
    return f"{Decimal(amount).normalize():f}"


def _spellings(clause: Any) -> Iterator[str]:
    """The names that a match rule spells out."""
    for inner in getattr(clause, "or_", None) or (clause,):
        spelt = getattr(inner, "equals", None) or getattr(inner, "starts_with", None)
        if spelt:
            yield spelt


def main() -> None:
    """Replaces the table and its date, and nothing else of the file."""
    today = datetime.now(UTC).date()
    text = TABLE.read_text()
    head, _, rest = text.partition(_BEGIN)
    head = re.sub(r'AS_OF: Final = ".*"', f'AS_OF: Final = "{today.isoformat()}"', head)
    source = f"genai-prices {version('genai-prices')}"
    head = re.sub(r'SOURCE: Final = ".*"', f'SOURCE: Final = "{source}"', head)
    tail = rest.partition(_END)[2]
    TABLE.write_text(head + _BEGIN + "\n".join(sorted(lines(today))) + "\n" + _END + tail)
    sys.stderr.write(f"{TABLE.name}: {source}, {today.isoformat()}\n")


if __name__ == "__main__":
    main()
