"""The protected window."""

import pytest

from pinch_server.core.chat import read_chat
from pinch_server.core.limits import Limits
from pinch_server.core.window import Window, window_at
from tests.core.builders import Chat, called, result, round_of, said, user

ROUND = round_of("ls", "out")


@pytest.mark.parametrize(
    ("chat", "limits", "expected"),
    [
        pytest.param(
            [user("a"), *ROUND, user("b"), *ROUND, user("c")],
            {"keep_last_turns": 2},
            (3, 3, 5),
            id="two turns",
        ),
        pytest.param([said("x"), user("a"), *ROUND], {"keep_last_turns": 4}, (1, 1, 3), id="fewer turns"),
        pytest.param(ROUND * 5, {"keep_last_turns": 2, "keep_last_rounds": 1}, (6, 8, 9), id="no turn"),
        pytest.param([user("a"), *ROUND * 6], {"keep_last_rounds": 2}, (0, 9, 12), id="contraction"),
        pytest.param([user("a"), *ROUND * 6], {"keep_last_rounds": 0}, (0, 0, 12), id="contraction off"),
        pytest.param([user("a"), *ROUND], {"keep_last_rounds": 4}, (0, 0, 2), id="fewer rounds"),
        pytest.param([user("a"), *ROUND, said("half")], {}, (0, 0, 2), id="prefill is no answer"),
        pytest.param([result("x", "out")], {}, (0, 0, 0), id="nothing was said yet"),
        pytest.param([], {}, (0, 0, 0), id="empty"),
    ],
)
def test_window(chat: Chat, limits: dict[str, int], expected: tuple[int, int, int]) -> None:
    """Turns, else rounds, from the end are protected; fresh results follow the last output of the model."""
    messages = read_chat(chat)
    assert window_at(messages, len(messages), Limits(**limits)) == Window(*expected)  # type: ignore[arg-type]


def test_parallel_results_are_one_round() -> None:
    """All results of one run of model output belong to one round."""
    chat = [user("a"), called("x", "y"), result("x", "1"), result("y", "2"), *ROUND]
    messages = read_chat(chat)
    assert window_at(messages, len(messages), Limits(keep_last_rounds=1)).contracted_start == 4
