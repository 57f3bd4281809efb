"""What the conversation before an event says of an identifier."""

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.hints import Hints
from tests.core.builders import Chat, round_of, said, user


def hints_of(chat: Chat, end: int | None = None) -> Hints:
    """Hints read as far as `end`."""
    messages = read_chat(chat)
    hints = Hints(messages, Draft.of(messages, Chars3(), 0))
    hints.read(len(messages) if end is None else end)
    return hints


def test_what_was_said_is_worth_nothing() -> None:
    """An identifier that a user, the model or a call has said stays in the conversation anyway."""
    hints = hints_of([user("look at src/app.py"), *round_of("ls", "src/app.py src/web.py")])
    assert hints.weigh("src/app.py") == 0
    assert hints.weigh("src/web.py") > 0


def test_rare_is_worth_more() -> None:
    """The fewer results hold an identifier, the more it is worth."""
    chat = [user("go"), *round_of("a", "pkg/one.py pkg/two.py"), *round_of("b", "pkg/one.py")]
    hints = hints_of(chat)
    assert hints.weigh("pkg/two.py") > hints.weigh("pkg/one.py") > 0


def test_near_to_the_work_is_worth_more() -> None:
    """An identifier that shares a word with what was said last is likelier to return."""
    chat = [user("go"), *round_of("a", "core/planner.py web/server.py"), said("now src/planner.py next")]
    hints = hints_of(chat)
    assert hints.weigh("core/planner.py") > hints.weigh("web/server.py")


def test_only_what_stood_before_the_event_counts() -> None:
    """What is said after an event changes nothing at it."""
    chat = [user("go"), *round_of("a", "core/planner.py"), said("core/planner.py it is")]
    assert hints_of(chat, end=3).weigh("core/planner.py") > 0
    assert hints_of(chat).weigh("core/planner.py") == 0


def test_reading_on_is_reading_at_once() -> None:
    """Hints read event by event weigh as those read in one go."""
    chat = [user("go"), *round_of("a", "core/one.py x/two.py"), said("one"), *round_of("b", "core/one.py")]
    stepwise = hints_of(chat, end=3)
    stepwise.read(len(chat))
    at_once = hints_of(chat)
    for word in ("core/one.py", "x/two.py", "unseen_word"):
        assert stepwise.weigh(word) == at_once.weigh(word)
