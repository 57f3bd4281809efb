"""The order of candidates by named signals."""

import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.signals import ALL, Signal, order_by
from tests.core.builders import Chat, called, result, round_of, said, user


def first_to_go(chat: Chat, *signals: Signal) -> list[str]:
    """The tools of the results before the last message, in the order in which they would be trimmed."""
    messages = read_chat(chat)
    candidates = Draft.of(messages, Chars3(), 0).results
    ranked = order_by(messages, signals or ALL)(candidates, len(messages))
    assert ranked.indices is not None
    return [candidates[index].tool for index in ranked.indices]


@pytest.mark.parametrize(
    ("signal", "chat", "expected"),
    [
        (Signal.AGE, [*round_of("old", "x"), *round_of("new", "y")], ["old", "new"]),
        (Signal.SIZE, [*round_of("short", "x"), *round_of("long", "y" * 900)], ["long", "short"]),
        (
            Signal.UNSPOKEN,
            [*round_of("new_names", "src/one.py src/two.py"), *round_of("known", "src/app.py")],
            ["known", "new_names"],
        ),
        (
            Signal.LAST_USE,
            [*round_of("used", "src/app.py"), *round_of("unused", "src/two.py"), said("src/app.py it is")],
            ["unused", "used"],
        ),
        (
            Signal.LEXICAL,
            [
                *round_of("alike", "the parser fails"),
                *round_of("other", "a wholly new thing"),
                said("parser"),
            ],
            ["other", "alike"],
        ),
        (
            Signal.ERROR,
            [called("bad"), result("bad", "x", is_error=True), *round_of("good", "y")],
            ["good", "bad"],
        ),
        (
            Signal.DUPLICATE,
            [*round_of("a", "1"), *round_of("b", "same"), *round_of("c", "same")],
            ["b", "a", "c"],
        ),
        (
            Signal.SUPERSEDED,
            [*round_of("a", "1"), *round_of("read", "first"), *round_of("read", "second")],
            ["read", "a", "read"],
        ),
    ],
)
def test_each_signal(signal: Signal, chat: Chat, expected: list[str]) -> None:
    """A signal alone puts what it says is needed least first, and leaves equal ones in their order."""
    assert first_to_go([user("see src/app.py"), *chat], signal) == expected


def test_what_is_free_to_go_goes_first() -> None:
    """A result that a later one repeats goes before all others, whatever else speaks for it."""
    chat = [
        user("go"),
        *round_of("big", "x" * 9_000),
        *round_of("a", "src/one.py"),
        *round_of("b", "src/one.py"),
    ]
    assert first_to_go(chat)[0] == "a"


def test_only_what_stood_before_counts() -> None:
    """An event ranks by what stood before it: what is said later changes nothing."""
    chat = [user("go"), *round_of("a", "src/one.py"), *round_of("b", "src/two.py")]
    more = [*chat, said("src/one.py"), *round_of("c", "src/two.py")]
    early = read_chat(more)
    candidates = Draft.of(early, Chars3(), 0).results[:2]
    order = order_by(early)
    assert order(candidates, len(chat)) == order_by(read_chat(chat))(candidates, len(chat))
    assert order(candidates, len(more)) == order_by(early)(candidates, len(more))


def test_no_signal_is_oldest_first() -> None:
    """With every signal switched off, candidates keep their order."""
    messages = read_chat([user("go"), *round_of("a", "1"), *round_of("b", "2")])
    candidates = Draft.of(messages, Chars3(), 0).results
    assert order_by(messages, ())(candidates, len(messages)).indices == [0, 1]
