"""Help texts whose lines stay as they are."""


def lines(title: str, *texts: str) -> str:
    """A paragraph with a title, of which click breaks no line and joins none."""
    # click's mark for such a paragraph is a backspace of its own.
    return "\b\n" + "\n".join([f"{title}:", *(f"  {text}" for text in texts)])


def epilog(*paragraphs: str) -> str:
    """What stands below the options."""
    return "\n\n".join(paragraphs)
