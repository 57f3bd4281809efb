"""A count with its noun, in words."""


def counted(count: int, noun: str) -> str:
    """Return `1 call`, `2 calls`, `1,000 calls`: the noun as many as it is, which an s makes it."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
