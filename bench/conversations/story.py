"""Tells a session: turns, rounds and their sizes."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

from bench.conversations import code_output, words
from bench.conversations.dice import Dice
from bench.conversations.picture import picture
from bench.conversations.project import Project
from bench.conversations.session import (
    CHARS_PER_TOKEN,
    AssistantMessage,
    Message,
    Session,
    ToolResults,
    UserMessage,
    message_texts,
)
from bench.conversations.steps import step
from bench.conversations.toolbox import toolbox
from bench.conversations.workbench import Workbench

Ending: TypeAlias = Literal["user", "tool"]

_ENDINGS: tuple[Ending, ...] = ("user", "tool")

SMALLEST_TOKENS = 2_000
"""Below this no session of the usual shape fits."""

SMALLEST_TURN_TOKENS = 1_500
"""What one turn takes at least."""

_SMALLEST_ROUND = 260
"""Characters that must be left in a turn for one more round."""

_CALL_CHARACTERS = 90
"""What a call without long arguments takes, name and arguments together."""

_SHORTEST_RESULT = 30

_MOST_ATTEMPTS = 20

_SIZES = (
    (0.000, 20),
    (0.100, 60),
    (0.250, 170),
    (0.500, 564),
    (0.617, 1_000),
    (0.750, 2_000),
    (0.854, 4_000),
    (0.900, 6_058),
    (0.950, 11_500),
    (0.973, 20_000),
    (0.990, 37_920),
    (0.998, 70_000),
    (1.000, 120_000),
)
"""Quantiles of the characters of a tool result, as measured on real sessions."""


def result_size(dice: Dice) -> int:
    """The characters of one tool result, distributed as in real sessions."""
    mark = dice.fraction()
    for (low, small), (high, large) in pairwise(_SIZES):
        if mark < high:
            return small + int((mark - low) / (high - low) * (large - small))
    return _SIZES[-1][1]


def tell(
    seed: int, *, tokens: int, turns: int | None = None, ending: Ending | None = None, images: bool = True
) -> Session:
    """A session of about ``tokens`` estimated tokens; a pure function of its arguments.

    Args:
        seed: names the session; equal arguments give an equal session.
        tokens: the wanted size in estimated tokens (characters / 3), at least ``SMALLEST_TOKENS``.
        turns: the number of user messages; None = 1 to 15, more in longer sessions.
        ending: what stands last, a new user message or tool results that the model has not yet read;
            None = chosen by the seed.
        images: whether pictures may occur.

    Raises:
        ValueError: ``tokens`` is too small, or ``turns`` do not fit into it.
    """
    if tokens < SMALLEST_TOKENS:
        raise ValueError(f"tokens must be at least {SMALLEST_TOKENS}, not {tokens}")
    if turns is not None and turns < 1:
        raise ValueError(f"turns must be at least 1, not {turns}")
    if turns is not None and turns > tokens // SMALLEST_TURN_TOKENS:
        raise ValueError(f"{tokens} tokens hold at most {tokens // SMALLEST_TURN_TOKENS} turns, not {turns}")
    if turns == 1 and ending == "user":
        raise ValueError("a session of one turn ends with tool results: ending must be tool")
    wanted = tokens * CHARS_PER_TOKEN
    dice = Dice(seed, "story", tokens)
    drawn = dice.pick(_ENDINGS)
    ends = ending or ("tool" if turns == 1 else drawn)
    if turns is None:
        most = min(15, 2 + tokens // 12_000)
        turns = dice.whole(max(2 if ends == "user" else 1, most // 2), most)
    session = _Storyteller(seed, dice, wanted, images).tell(turns, ends)
    attempt = 1
    while abs(session.tokens - tokens) > tokens // 20 and attempt < _MOST_ATTEMPTS:
        # One long last result can miss the size of a small session, so one in some hundred is told anew.
        again = Dice(seed, "story", tokens, attempt)
        session = _Storyteller(seed, again, wanted, images).tell(turns, ends)
        attempt += 1
    return session


class _Storyteller:
    __slots__ = ("bench", "dice", "messages", "share", "used", "wanted")

    def __init__(self, seed: int, dice: Dice, wanted: int, images: bool) -> None:
        tools = frozenset(tool.name for tool in toolbox(wanted))
        self.dice = dice
        self.wanted = wanted
        self.bench = Workbench(Project(seed), dice, tools, images)
        self.messages: list[Message] = []
        self.used = 0
        self.share = wanted

    def tell(self, turns: int, ends: Ending) -> Session:
        project = self.bench.project
        tools = toolbox(self.wanted)
        self.share = self.wanted // turns
        system = (
            f"You are a careful software engineer who works on {project.name} in {project.root}. Read before "
            "you change, keep each change small, run the tests after it and say what you found.\n\n"
            + words.prose(self.dice, min(12_000, self.wanted // 55))
        )
        self.used = sum(map(len, Session(system, tools, ()).texts()))
        closing = self._user(final=True) if ends == "user" else None
        self.used += sum(map(len, message_texts(closing))) if closing else 0
        worked = turns - 1 if closing else turns
        begun = self.used
        for turn in range(worked):
            share = (self.wanted - begun) * (turn + 1) // worked
            self._turn(begun + share, last=turn == worked - 1, answered=closing is not None)
        if closing:
            self.messages.append(closing)
        return Session(system, tools, tuple(self.messages))

    def _say(self, message: Message) -> None:
        self.messages.append(message)
        self.used += sum(map(len, message_texts(message)))

    def _turn(self, end: int, *, last: bool, answered: bool) -> None:
        """One user message and the rounds it causes, until ``end`` characters are used in all."""
        self._say(self._user())
        closing = AssistantMessage(words.prose(self.dice, 120)) if answered or not last else None
        if closing:
            end -= len(closing.text)
        rounds = 0
        while not rounds or end - self.used > _SMALLEST_ROUND:
            self._round(end - self.used, overshoot=not last)
            rounds += 1
        if closing:
            self._say(closing)

    def _round(self, room: int, *, overshoot: bool) -> None:
        """Calls, several at once now and then, and their results, in about ``room`` characters.

        ``overshoot`` lets one long result pass the end of its turn, as far as the whole session has room.
        """
        dice = self.dice
        count = dice.weighted(((1, 70), (2, 17), (3, 8), (5, 5))) if room > 5_000 else 1
        text = "" if dice.chance(0.4) or room < 700 else self._remark(room)
        reasoning = words.prose(dice, dice.whole(60, 400)) if dice.chance(0.2) else ""
        signature = dice.letters(180) if reasoning else ""
        if overshoot:
            room = max(room, min(8_000, (self.wanted - self.used) // 2))
        allowed = max(_SHORTEST_RESULT * count, room - len(text) - _CALL_CHARACTERS * count)
        largest = max(1_200, self.wanted * 3 // 10)
        sizes = [min(result_size(dice), largest) for _ in range(count)]
        if sum(sizes) > allowed:
            sizes = [size * allowed // sum(sizes) for size in sizes]
        elif room < 2_000 and not overshoot:
            # The last round of the session fills what is left, so that the size comes out as wanted.
            sizes = [allowed // count] * count
        steps = [step(self.bench, size, room // count) for size in sizes]
        results = tuple(result for result, _ in steps)
        # Calls of one message are made before any of their results is seen.
        self.bench.found.extend(leads for _, leads in steps)
        self._say(AssistantMessage(text, tuple(result.call for result in results), reasoning, signature))
        self._say(ToolResults(results))

    def _remark(self, room: int) -> str:
        lead = self.bench.take("path", "symbol") if self.dice.chance(0.5) else None
        about = f"`{lead.value}` may be the cause. " if lead else ""
        return about + words.prose(self.dice, self.dice.whole(30, max(30, min(460, room // 10))))

    def _user(self, *, final: bool = False) -> UserMessage:
        dice, project = self.dice, self.bench.project
        area, verb = dice.pick(project.areas), dice.pick(words.VERBS)
        noun, other, quality = dice.pick(words.NOUNS), dice.pick(words.NOUNS), dice.pick(words.QUALITIES)
        text = dice.pick(
            (
                f"Since yesterday {area} loses a {noun} now and then. Find out why and fix it. ",
                f"Please {verb} the {noun} in {area} before it reaches the {other}, with tests. ",
                f"The nightly run of {area} takes three times as long. What changed? ",
                f"Review how {area} handles one {quality} {noun} at a time and tell me what is wrong. ",
            )
        )
        text += words.prose(dice, dice.whole(30, max(30, min(300, self.share // 20))))
        if dice.chance(0.3):
            text += f"\n\n{dice.pick(words.CJK_REMARKS)} {dice.pick(words.EMOJI)}"
        paste = min(9_000, self.wanted // 40, self.share // 4)
        if not final and paste > 600 and dice.chance(0.5):
            trace = code_output.stack_trace(dice, project, dice.whole(300, paste)).text
            text += f"\n\nThis is what I see:\n\n```\n{trace}\n```"
        shown = picture(dice) if self.bench.images and dice.chance(0.15) else None
        return UserMessage(text, shown)
