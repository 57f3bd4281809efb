"""The words that a text shares with what was said last, and the lines that they keep."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.chat import read_chat
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.echoes import Vocabulary, silent
from pinch_server.core.hints import Hints
from pinch_server.core.keyed import elide
from pinch_server.core.worth import UNIT
from tests.core.builders import round_of, said, user

_WORD = re.compile(r"[A-Z]+[a-z]*|[a-z]+")
_FILLER = "".join(f"    total_{number} = amount_{number} + rate_{number}\n" for number in range(400))


def heard(saying: str, text: str) -> list[str]:
    """The words of a text that echo what was said, as the text spells them."""
    starts = Vocabulary.of([saying]).echo(text).starts.tolist()
    words = [_WORD.match(text, start) for start in starts]
    return [word[0] for word in words if word is not None]


def test_words_are_parted_at_inner_capitals_and_marks() -> None:
    """A word said in one spelling is heard in another: camel case, snake case, capitals, paths."""
    text = "parseConfig parse_config PARSE-CONFIG src/parse/config.py Configuration"
    assert heard("the config", text) == ["Config", "config", "CONFIG", "config"]


def test_words_under_three_letters_are_no_words() -> None:
    """What is in every line says nothing of any."""
    assert heard("if it is in a set", "if it is in a set") == ["set"]


@given(st.text(alphabet="abAB_1 é\n", max_size=80), st.text(alphabet="abAB_1 é\n", max_size=80))
def test_what_is_heard_is_what_the_rule_says(saying: str, text: str) -> None:
    """The words found over bytes are those of the regular expression, of three letters or more."""

    def words(of: str) -> list[str]:
        return [word for word in _WORD.findall(of) if len(word) > 2]

    lately = {word.lower() for word in words(saying)}
    assert heard(saying, text) == [word for word in words(text) if word.lower() in lately]


def test_a_word_of_few_lines_is_worth_more() -> None:
    """A word that stands in every line does not tell one line from another."""
    echoes = Vocabulary.of(["retry the total"]).echo(_FILLER + "retry\n")
    assert echoes.worth[-1] > echoes.worth[0] == UNIT // 2


@given(
    st.lists(st.sampled_from(["\n", "word\n", "漢字 \r\n", "parse_config " * 20_000]), max_size=20).map(
        "".join
    )
)
def test_lines_end_where_they_end(text: str) -> None:
    """The line breaks that come with the words are those of the text, however long it is."""
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    assert silent(text).breaks.tolist() == Vocabulary.of(["the word"]).echo(text).breaks.tolist() == breaks


def test_nothing_said_is_nothing_heard() -> None:
    """Without words said there is no worth, and no text is an echo of silence."""
    assert Vocabulary.of([]).echo("parse_config").starts.size == 0
    assert silent("parse_config").starts.size == 0


def test_the_lines_being_worked_on_are_kept() -> None:
    """An excerpt keeps a line whose words were said lately, though its identifiers were all said already."""
    line = "    def retry_with_backoff(self, attempts):\n"
    text = _FILLER + line + _FILLER
    chat = [user("retry_with_backoff ignores attempts"), *round_of("read", text), said("Now the backoff.")]
    messages = read_chat(chat)
    hints = Hints(messages, Draft.of(messages, Chars3(), 0))
    hints.read(len(messages))
    assert line not in elide([text], hints.weigh)[0]
    assert line in elide([text], hints.weigh, hints.echo)[0]


def test_what_is_said_after_an_event_is_not_heard_at_it() -> None:
    """Words come from the newest outputs and turns before the event alone, older ones are forgotten."""
    chat = [user("alpha"), *(said("beta") for _ in range(9)), user("gamma"), said("delta"), said("later")]
    messages = read_chat(chat)
    hints = Hints(messages, Draft.of(messages, Chars3(), 0))
    hints.read(len(messages) - 1)
    text = "alpha beta gamma delta later"
    starts = hints.echo(text).starts.tolist()
    assert [text[start:].split(maxsplit=1)[0] for start in starts] == ["beta", "gamma", "delta"]
