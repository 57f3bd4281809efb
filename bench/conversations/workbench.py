"""What the invented agent has seen and done so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from bench.conversations.dice import Dice
from bench.conversations.lead import Kind, Lead
from bench.conversations.project import Project

_AGES = ((0, 90), (1, 7), (2, 5), (4, 5), (8, 5), (14, 4), (24, 4), (50, 4))
"""From which age, in results, the next lead is sought (weights).

The search goes on to other results when one holds nothing of the wanted kind. What comes out: 30% of the
identifiers stem from the newest result, 48% from the newest 4, 69% from 16, 81% from 32 (real sessions: 36,
58, 81 and 93%).
"""


@dataclass(slots=True)
class Workbench:
    """What grows while a session is told: leads per result (newest last) and edits made so far."""

    project: Project
    dice: Dice
    tools: frozenset[str]
    images: bool = True
    found: list[tuple[Lead, ...]] = field(default_factory=list)
    edits: dict[str, str] = field(default_factory=dict)
    reads: list[tuple[str, int, int]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def take(self, *kinds: Kind) -> Lead | None:
        """An earlier lead of one of ``kinds``, as old as real agents' sources are; None without any."""
        age = self.dice.weighted(_AGES)
        newest = len(self.found) - 1
        spoken: list[Lead] = []
        for older in chain(range(0, -age - 1, -1), range(1, 40)):
            place = newest - age - older
            if not 0 <= place <= newest:
                continue
            for lead in self.found[place]:
                if lead.kind not in kinds:
                    continue
                if lead.value not in self.taken:
                    self.taken.add(lead.value)
                    return lead
                spoken.append(lead)
        return self.dice.pick(spoken) if spoken and self.dice.chance(0.5) else None

    def path(self) -> str:
        """The path of an earlier result; of the project when none was seen."""
        lead = self.take("path", "symbol")
        if lead is None or (lead.kind == "symbol" and not lead.where):
            return self.dice.pick(self.project.files).path
        return lead.where or lead.value
