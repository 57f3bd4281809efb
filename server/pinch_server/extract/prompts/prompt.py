from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """One block of the system prompt, the same bytes for as many calls as can share it.

    Attributes:
        text: What it says.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model.

    Attributes:
        system: Blocks in order, the one that most calls share first; a cache mark belongs on the last.
        user: The task and its data.
    """

    system: tuple[SystemBlock, ...]
    user: str
