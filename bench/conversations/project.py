"""The project that a session works on: files, people and running services."""

from __future__ import annotations

from bench.conversations import words
from bench.conversations.dice import Dice
from bench.conversations.source_code import SourceFile


class Project:
    """One invented project; everything about it follows from ``seed``."""

    __slots__ = ("areas", "files", "name", "root", "seed", "services")

    def __init__(self, seed: int) -> None:
        dice = Dice(seed, "project")
        self.seed = seed
        self.name = f"{dice.pick(words.QUALITIES)}-{dice.pick(words.NOUNS)}"
        self.root = f"/srv/{self.name}"
        self.areas: tuple[str, ...] = tuple(dice.several(words.AREAS, 6))
        ending = dice.weighted((("py", 5), ("ts", 3), ("go", 2)))
        self.services = tuple(f"{area}-{dice.pick(('api', 'worker', 'cron'))}" for area in self.areas)
        files: dict[str, SourceFile] = {}
        while len(files) < 140:
            area = dice.pick(self.areas)
            stem = f"{dice.pick(words.NOUNS)}_{dice.pick(words.NOUNS)}"
            folder = dice.weighted((("src", 7), ("lib", 2), ("tools", 1)))
            suffix = ending if dice.chance(0.85) else "py"
            path = f"{folder}/{area}/{stem}.{suffix}"
            files[path] = SourceFile(seed, path, area, dice.whole(3, 400))
        self.files: tuple[SourceFile, ...] = tuple(files.values())

    def file(self, path: str) -> SourceFile:
        """The file at ``path``.

        Raises:
            KeyError: the project has no such file.
        """
        for file in self.files:
            if file.path == path:
                return file
        raise KeyError(path)
