"""What an earlier event heard of a conversation counts at the next as if all were read again."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pinch_server.core.conversation import Message, Speaker, TextPart, ToolResult
from pinch_server.core.counting import Chars3
from pinch_server.core.draft import Draft
from pinch_server.core.heard import EMPTY, Heard
from pinch_server.core.hints import Hints
from pinch_server.core.identifiers import identifiers
from pinch_server.core.sightings import read_texts
from pinch_server.core.trimming import Step

WORDS = st.sampled_from(
    ["src/a.py", "src/b.py", "run_all", "x.y.z1", "a-b-c-d", "HTTPServer", "plain", "v1.20.3"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
MESSAGES = st.lists(st.tuples(st.booleans(), TEXTS), min_size=1, max_size=10)


def message(index: int, is_result: bool, text: str) -> Message:
    """A result with that text, or a message of the model that says it."""
    if is_result:
        part = TextPart(text, ("messages", index, "content"))
        return Message(Speaker.TOOL, results=(ToolResult(f"c{index}", "ls", False, (part,)),))
    return Message(Speaker.MODEL, fixed=(text,), prose=(text,))


@given(MESSAGES, st.data())
def test_hearing_in_two_is_hearing_at_once(said: list[tuple[bool, str]], data: st.DataObject) -> None:
    """Whatever stood before an earlier event, identifiers are worth what they are to whoever reads it all."""
    messages = [message(index, *one) for index, one in enumerate(said)]
    first = data.draw(st.integers(0, len(messages)))
    whole = Draft.of(messages, Chars3(), 0)
    at_once = Hints(messages, whole)
    at_once.read(len(messages))
    earlier = Draft.of(messages[:first], Chars3(), 0)
    Hints(messages[:first], earlier).read(first)
    later = Draft.of(messages, Chars3(), 0)
    later.heard = earlier.heard
    gone_on = Hints(messages, later)
    gone_on.read(len(messages))
    for result in whole.results:
        (text,) = result.originals
        assert gone_on.weigh(text).worth.tolist() == at_once.weigh(text).worth.tolist()


@given(MESSAGES)
def test_a_lexicon_counts_each_identifier(said: list[tuple[bool, str]]) -> None:
    """For each identifier it has the results that hold it, and whether anything else says it."""
    messages = [message(index, *one) for index, one in enumerate(said)]
    draft = Draft.of(messages, Chars3(), 0)
    Hints(messages, draft).read(len(messages))
    assert draft.heard is not None
    lexicon = draft.heard.lexicon()
    assert sorted(lexicon.hashes.tolist()) == lexicon.hashes.tolist()
    held = Counter(word for is_result, text in said if is_result for word in set(identifiers(text)))
    spoken = {word for is_result, text in said if not is_result for word in identifiers(text)}
    for word in {*held, *spoken, "not_there"}:
        _, hashes = read_texts([word])
        holders, is_spoken = lexicon.of(hashes)
        assert (holders.tolist(), is_spoken.tolist()) == ([held[word]], [word in spoken])


def test_only_what_may_be_trimmed_is_read_again() -> None:
    """A placeholder's original is not read at a later event, a whole result's is."""
    messages = [message(0, True, "src/a.py src/gone.py"), message(1, True, "src/b.py")]
    draft = Draft.of(messages, Chars3(), 0)
    Hints(messages, draft).read(2)
    draft.results[0].step = Step.OMITTED
    Hints(messages, draft).read(2)
    assert draft.heard is not None
    assert len(draft.heard.hashes) == 1
    assert draft.heard.lexicon().hashes.size == 3


def test_nothing_was_heard_of_an_empty_history() -> None:
    """A lexicon of nothing knows no identifier, and takes in whatever comes."""
    _, hashes = read_texts(["src/a.py"])
    holders, is_spoken = EMPTY.of(hashes)
    assert (holders.tolist(), is_spoken.tolist()) == ([0], [False])
    assert Heard(EMPTY, hashes, holders + 1, is_spoken, 1, 1).lexicon().of(hashes)[0].tolist() == [1]
