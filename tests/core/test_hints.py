"""What the conversation before an event says of an identifier."""

from typing import Any

import numpy as np
import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.hints import Hints
from tests.core.builders import Chat, round_of, said, user


class Watched(np.ndarray[Any, np.dtype[np.int64]]):
    """An array that knows how much of it was worked on at once."""

    most = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Works on plain arrays."""
        Watched.most = max(Watched.most, *(one.size for one in inputs if isinstance(one, Watched)), 0)
        plain = [np.asarray(one) if isinstance(one, Watched) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **options)


def hints_of(chat: Chat, end: int | None = None) -> Hints:
    """Hints read as far as `end`."""
    messages = read_chat(chat)
    hints = Hints(messages, Draft.of(messages, Chars3(), 0))
    hints.read(len(messages) if end is None else end)
    return hints


def worth(hints: Hints, result: str, word: str) -> int:
    """What an identifier of a result is worth."""
    weighed = hints.weigh(result)
    starts = weighed.sightings.starts.tolist()
    return int(weighed.worth[starts.index(result.index(word))])


def test_what_was_said_is_worth_nothing() -> None:
    """An identifier that a user, the model or a call has said stays in the conversation anyway."""
    hints = hints_of([user("look at src/app.py"), *round_of("ls", "src/app.py src/web.py")])
    assert worth(hints, "src/app.py src/web.py", "src/app.py") == 0
    assert worth(hints, "src/app.py src/web.py", "src/web.py") > 0


def test_rare_is_worth_more() -> None:
    """The fewer results hold an identifier, the more it is worth."""
    chat = [user("go"), *round_of("a", "pkg/one.py pkg/two.py"), *round_of("b", "pkg/one.py")]
    hints = hints_of(chat)
    result = "pkg/one.py pkg/two.py"
    assert worth(hints, result, "pkg/two.py") > worth(hints, result, "pkg/one.py") > 0


def test_near_to_the_work_is_worth_more() -> None:
    """An identifier that shares a word with what was said last is likelier to return."""
    chat = [user("go"), *round_of("a", "core/planner.py web/server.py"), said("now src/planner.py next")]
    hints = hints_of(chat)
    result = "core/planner.py web/server.py"
    assert worth(hints, result, "core/planner.py") > worth(hints, result, "web/server.py")


def test_only_what_stood_before_the_event_counts() -> None:
    """What is said after an event changes nothing at it."""
    chat = [user("go"), *round_of("a", "core/planner.py"), said("core/planner.py it is")]
    assert worth(hints_of(chat, end=3), "core/planner.py", "core/planner.py") > 0
    assert worth(hints_of(chat), "core/planner.py", "core/planner.py") == 0


def test_reading_on_is_reading_at_once() -> None:
    """Hints read event by event weigh as those read in one go."""
    chat = [user("go"), *round_of("a", "core/one.py x/two.py"), said("one"), *round_of("b", "core/one.py")]
    stepwise = hints_of(chat, end=3)
    stepwise.read(len(chat))
    at_once = hints_of(chat)
    for word in ("core/one.py", "x/two.py"):
        result = "core/one.py x/two.py"
        assert worth(stepwise, result, word) == worth(at_once, result, word)


def test_a_result_counts_once_however_often_it_says_a_thing() -> None:
    """Rarity is the number of results that hold an identifier, not of places where it stands."""
    chat = [user("go"), *round_of("a", "pkg/one.py pkg/one.py pkg/two.py"), *round_of("b", "nothing else")]
    hints = hints_of(chat)
    result = "pkg/one.py pkg/one.py pkg/two.py"
    assert worth(hints, result, "pkg/one.py") == worth(hints, result, "pkg/two.py")


def test_how_often_hints_were_asked_changes_nothing() -> None:
    """A text weighs the same when it is the first that an event asks for and after many were asked for."""
    texts = [f"core/one.py pkg/file_{i}.py said/it.py" for i in range(9)]
    chat = [user("said/it.py"), *(part for text in texts for part in round_of("a", text))]
    first = hints_of(chat)
    asked = hints_of(chat)
    for _ in range(9):
        for text in texts:
            asked.weigh(text)
    for text in texts:
        fresh = hints_of(chat).weigh(text).worth.tolist()
        assert fresh == first.weigh(text).worth.tolist() == asked.weigh(text).worth.tolist()
        assert fresh[2] == 0 < fresh[0] < fresh[1]


def test_an_event_weighs_only_what_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short text of a long conversation is weighed without the identifiers of all the others."""
    chat = [user("go"), *(part for i in range(99) for part in round_of("a", f"pkg/file_{i}.py"))]
    hints = hints_of(chat)
    hints._holders = hints._holders.view(Watched)
    monkeypatch.setattr(Watched, "most", 0)
    hints.weigh("pkg/file_3.py")
    assert Watched.most == 1
    for i in range(99):
        hints.weigh(f"pkg/file_{i}.py")
    assert Watched.most == 99
