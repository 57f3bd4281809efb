"""What a model is told, and what stays the same from call to call."""

import json

import pytest
import toktok

from pinch_server.extract.outcome import Aggressiveness
from pinch_server.extract.prompts.aims import aim
from pinch_server.extract.prompts.context import ContextMode, Said, context_text
from pinch_server.extract.prompts.contract import contract
from pinch_server.extract.prompts.prompt import Prompt
from pinch_server.extract.prompts.task import (
    PROMPT_VERSION,
    SHOWN_CHARS,
    base_blocks,
    chunk_prompt,
    filter_prompt,
    repair_prompt,
    single_prompt,
)

SAID = [
    Said("user", "Fix the parser."),
    Said("assistant", "I look at it."),
    Said("tool", "class Parser: ..."),
    Said("user", "And the tests."),
    Said("assistant", "They fail in test_parse."),
    Said("tool", "1 failed"),
    Said("assistant", ""),
]


def asked(body: str = "a line", **changed: object) -> Prompt:
    given = {"label": "bash", "goal": "Fix it.", "context": "", "keep": ("src/a.py",), "rewrite": True}
    given |= {"aggressiveness": Aggressiveness.MEDIUM} | changed
    return filter_prompt(body, **given)  # type: ignore[arg-type]  # the table of a test


def test_the_first_blocks_are_the_same_for_everyone() -> None:
    """The contract comes first and the aim second, whatever the task, so that a cache can hold them."""
    one = asked("one body", goal="one goal", keep=("a_1",), label="x")
    two = asked("another", goal="another goal", keep=(), label="y")
    assert one.system == two.system == base_blocks(rewrite=True, aggressiveness=Aggressiveness.MEDIUM)
    assert [block.text for block in one.system] == [contract(rewrite=True), aim(Aggressiveness.MEDIUM)]


def test_the_aim_alone_tells_the_grades_apart() -> None:
    """Aggressiveness changes the second block and nothing else; rewriting the first and nothing else."""
    prompts = [asked(aggressiveness=grade) for grade in Aggressiveness]
    assert len({prompt.system[1] for prompt in prompts}) == len(Aggressiveness)
    assert len({(prompt.system[0], prompt.user) for prompt in prompts}) == 1
    assert asked(rewrite=False).system[1:] == asked().system[1:]
    assert asked(rewrite=False).system[0] != asked().system[0]


@pytest.mark.parametrize(
    ("grade", "target"),
    [(Aggressiveness.LOW, "10-25 %"), (Aggressiveness.MEDIUM, "25-50 %"), (Aggressiveness.HIGH, "50-80 %")],
)
def test_each_grade_has_its_target(grade: Aggressiveness, target: str) -> None:
    """Each grade names the share that is to go."""
    assert f"Remove {target}" in aim(grade)


def test_the_base_is_small() -> None:
    """The blocks that every call pays for have fewer than 1,893 tokens, which the original's have."""
    blocks = base_blocks(rewrite=True, aggressiveness=Aggressiveness.MEDIUM)
    assert sum(toktok.batch_count([block.text for block in blocks], "o200k_base", 1)) < 1_200


def test_the_conversation_is_told_once() -> None:
    """The conversation stands in the task, or in a third block for several calls; never in both."""
    alone = asked(goal="the goal")
    assert len(alone.system) == 2
    assert "the goal" in alone.user
    shared = asked(goal="", context="the goal")
    assert "the goal" in shared.system[2].text
    assert "the goal" not in shared.user
    assert shared.system[:2] == alone.system


def test_sixty_ids_are_listed() -> None:
    """The list of words to be kept is JSON and holds the first 60."""
    keep = tuple(f'id_{at}"' for at in range(70))
    line = next(line for line in asked(keep=keep).user.split("\n") if line.startswith("Keep-ids: "))
    assert json.loads(line.removeprefix("Keep-ids: ")) == list(keep[:60])


def test_a_long_body_is_shown_at_both_ends() -> None:
    """Of more than 32,000 characters 16,000 are shown at each end, cut between characters, with a note."""
    body = "漢" * 20_000 + "字" * 20_000
    user = asked(body).user
    assert (
        "漢" * 16_000 + "\n... 8,000 characters elided ... (shown in part; at run time INPUT is complete)\n"
        in user
    )
    assert user.count("漢") == user.count("字") == SHOWN_CHARS // 2


def test_only_whole_json_is_shown_with_line_breaks() -> None:
    """A JSON container is shown pretty-printed; lines of JSON, numbers and text are shown as they are."""
    assert '{\n "a": 1\n}' in asked('{"a":1}').user
    for body in ('{"a":1}\n{"a":2}', "12345", '"text"', "{not json"):
        assert f"\n{body}\n" in asked(body).user


def test_a_repair_sends_no_data() -> None:
    """The prompt of a repair holds program and message, the same first blocks, and nothing of the output."""
    prompt = repair_prompt("while x:", "cannot use `while`", rewrite=True, aggressiveness=Aggressiveness.LOW)
    assert prompt.system == base_blocks(rewrite=True, aggressiveness=Aggressiveness.LOW)
    assert "while x:" in prompt.user
    assert "cannot use `while`" in prompt.user
    assert "Tool output" not in prompt.user


def test_the_other_strategies_have_their_own_prompts() -> None:
    """`single` shows 4,000 characters at most; `rlm` numbers the items of its part."""
    single = single_prompt("x" * 5_000, label="bash", goal="g", context="", keep=())
    assert "x" * 4_000 + "\n... 1,000 characters elided ..." in single.user
    chunk = chunk_prompt(['{"a":1}', '{"a":2}'], 20, label="bash", goal="g", context="c", keep=())
    assert '20: {"a":1}\n21: {"a":2}' in chunk.user
    assert "## Conversation\nc" in chunk.system[1].text


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (ContextMode.GOAL, [0, 3, 4]),
        (ContextMode.RECENT, [0, 3, 4]),
        (ContextMode.FULL, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_each_mode_tells_its_part(mode: ContextMode, told: list[int]) -> None:
    """`goal` tells the ends, `recent` the user and the latest, `full` everything that says something."""
    text = context_text(SAID, mode)
    assert text == "\n\n".join(f"{SAID[at].role}: {SAID[at].text}" for at in told)


def test_recent_tells_as_many_as_asked() -> None:
    """`recent` tells the last N messages that are no tool's, beside every user message."""
    assert "I look at it." in context_text(SAID, ContextMode.RECENT, 3)
    assert "assistant" not in context_text(SAID, ContextMode.RECENT, 0)
    assert context_text([], ContextMode.GOAL) == ""


@pytest.mark.parametrize(
    ("mode", "most"), [(ContextMode.GOAL, 8_000), (ContextMode.RECENT, 24_000), (ContextMode.FULL, 400_000)]
)
def test_too_long_a_conversation_loses_its_front(mode: ContextMode, most: int) -> None:
    """Each mode has its cap in bytes; the newest stays, whole to the character, and a note says what went."""
    text = context_text([Said("user", "é" * 300_000), Said("user", "the newest \ud800")], mode)
    note, _, tail = text.partition("\n")
    assert note.startswith("... ")
    assert note.endswith(" characters elided ...")
    assert most - 2 <= len(tail.encode()) <= most
    assert tail.endswith("the newest ?")


def test_the_version_names_the_texts() -> None:
    """The prompts' version is a short hash that is part of every frozen result's key."""
    assert len(PROMPT_VERSION) == 16
    int(PROMPT_VERSION, 16)
