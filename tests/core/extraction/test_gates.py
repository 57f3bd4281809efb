"""The gates in their order: of the request, of the candidate, of the caps; and the context guard."""

from dataclasses import replace

import pytest

from pinch_server.core.extraction.candidate_gate import (
    Around,
    Candidate,
    Caps,
    Gate,
    Known,
    capped,
    gate_of,
    is_numbered_read,
)
from pinch_server.core.extraction.cold import certain_state
from pinch_server.core.extraction.guard import needed_tokens, shown_text, window_of
from pinch_server.core.extraction.request_gate import FireOn, Request, Rules, Trigger, open_request
from pinch_server.core.pricing import CacheContext, CacheState

ASKED = Request(tokens=45_000, messages=30, window_tokens=50_000, goal="mend the parser")
OPEN = open_request(Rules(), ASKED)
TEXT = "word " * 3_000
LARGE = Candidate(TEXT, 5_000)
FREE = Around(is_caching=False, model_window=200_000)
WARM = Around(is_caching=True, model_window=200_000, cached_to=-1)


@pytest.mark.parametrize(
    ("rules", "request_", "trigger", "may_call"),
    [
        (Rules(fire_on=FireOn.SIZE), ASKED, Trigger.SIZE, True),
        (Rules(min_output_tokens=500), replace(ASKED, tokens=1), Trigger.EXPLICIT, True),
        (Rules(), ASKED, Trigger.HIGH, True),
        (Rules(), replace(ASKED, tokens=20_000, previous_tokens=17_000), Trigger.GROWING, True),
        (Rules(), replace(ASKED, tokens=20_000, previous_tokens=18_500), Trigger.STATIC, False),
        (Rules(), replace(ASKED, tokens=20_000), Trigger.STATIC, False),
        (Rules(), replace(ASKED, tokens=12_500), Trigger.LOW, False),
        (Rules(), replace(ASKED, window_tokens=0), Trigger.UNKNOWN, True),
        (Rules(min_request_share=0.0), replace(ASKED, window_tokens=0, tokens=0), Trigger.UNKNOWN, True),
        (Rules(sweeps_cold=True), replace(ASKED, tokens=1, is_cold=True), Trigger.COLD, True),
    ],
)
def test_the_derived_trigger(rules: Rules, request_: Request, trigger: Trigger, may_call: bool) -> None:
    """The first row of the table that applies says whether the model may be called, and why."""
    opened = open_request(rules, request_)
    assert (opened.trigger, opened.may_call) == (trigger, may_call)


@pytest.mark.parametrize(
    ("tokens", "floor"), [(45_000, 25), (35_000, 75), (20_000, 150), (12_500, 300), (1, 300)]
)
def test_the_floor_falls_as_the_window_fills(tokens: int, floor: int) -> None:
    """The fuller the window, the smaller the results that are looked at."""
    assert open_request(Rules(), replace(ASKED, tokens=tokens)).floor_tokens == floor


def test_the_floor_where_it_is_set() -> None:
    """What the operator set counts, by tokens or by a share of the window, and a sweep has its own."""
    assert open_request(Rules(min_output_tokens=300), ASKED).floor_tokens == 300
    assert open_request(Rules(min_output_tokens=300, min_output_share=0.01), ASKED).floor_tokens == 500
    assert open_request(Rules(min_output_share=0.01), ASKED).floor_tokens == 500
    assert open_request(Rules(min_output_share=0.001), ASKED).floor_tokens == 300
    assert open_request(Rules(fire_on=FireOn.SIZE), ASKED).floor_tokens == 2_000
    assert open_request(Rules(sweeps_cold=True), replace(ASKED, is_cold=True)).floor_tokens == 1_000
    assert open_request(Rules(huge_output_share=0.1), ASKED).huge_tokens == 5_000


@pytest.mark.parametrize(
    ("goal", "gate"), [("почини разборщик", ""), ("修复解析器的错误", ""), ("a b c", "no_goal_keywords")]
)
def test_a_goal_needs_a_word_of_any_script(goal: str, gate: str) -> None:
    """A conversation in any script has a goal once it has a word of more than three letters."""
    assert open_request(Rules(), replace(ASKED, goal=goal)).gate == gate


def test_cadence() -> None:
    """Of requests that qualify the first, and then every third, may call; others and a sweep are exempt."""
    rules = Rules(every_n_requests=3, sweeps_cold=True)
    calls = [open_request(rules, replace(ASKED, qualified=n)).may_call for n in range(7)]
    assert calls == [True, False, False, True, False, False, True]
    assert open_request(rules, replace(ASKED, qualified=1, is_cold=True)).may_call
    unmet = replace(rules, min_request_tokens=ASKED.tokens + 1)
    assert not open_request(unmet, replace(ASKED, qualified=1)).fires
    assert open_request(unmet, replace(ASKED, qualified=1)).may_call


def test_per_output_off() -> None:
    """With per_output off only a cold sweep calls the model."""
    rules = Rules(per_output=False, sweeps_cold=True, cold_min_idle_seconds=600)
    assert open_request(rules, ASKED).gate == "per_output_disabled"
    cold = replace(ASKED, is_cold=True)
    assert open_request(rules, cold).gate == "per_output_disabled"
    assert open_request(rules, replace(cold, idle_seconds=600.0)).may_call


@pytest.mark.parametrize(
    ("candidate", "around", "gate"),
    [
        (replace(LARGE, is_text=False), FREE, Gate.NON_TEXT),
        (replace(LARGE, text=" \n"), FREE, Gate.EMPTY_OR_MARKED),
        (replace(LARGE, is_marked=True, known=Known.SESSION), FREE, Gate.EMPTY_OR_MARKED),
        (replace(LARGE, was_expanded=True, known=Known.SESSION), FREE, Gate.EXPANDED),
        (replace(LARGE, known=Known.SESSION, was_sent_trimmed=True), WARM, Gate.REPLAYED_SESSION),
        (replace(LARGE, was_sent_trimmed=True, known=Known.OTHERS), FREE, Gate.CACHED_PREFIX_LARGE),
        (replace(LARGE, was_sent_trimmed=True, tokens=1), FREE, Gate.CACHED_PREFIX),
        (replace(LARGE, index=5), replace(WARM, cached_to=5), Gate.CACHED_PREFIX_LARGE),
        (replace(LARGE, index=5), replace(WARM, cached_to=None), Gate.CACHED_PREFIX_LARGE),
        (replace(LARGE, index=5), replace(WARM, cached_to=None, is_first_turn=True), Gate.ALLOWED),
        (replace(LARGE, index=6, known=Known.OTHERS), replace(WARM, cached_to=5), Gate.REPLAYED_OTHERS),
        (replace(LARGE, known=Known.REFUSED), FREE, Gate.REFUSED_BEFORE),
        (replace(LARGE, tokens=24), FREE, Gate.BELOW_FLOOR),
        (LARGE, replace(FREE, model_window=10_000), Gate.OVER_CONTEXT),
        (replace(LARGE, elided_tokens=333), FREE, Gate.CANNOT_FIT),
        (replace(LARGE, elided_tokens=334), FREE, Gate.ALLOWED),
        (LARGE, FREE, Gate.ALLOWED),
        (LARGE, WARM, Gate.ALLOWED),
    ],
)
def test_the_gates_of_a_candidate(candidate: Candidate, around: Around, gate: Gate) -> None:
    """The first gate that holds a candidate back names it; replays pass before all that could stop a call."""
    assert gate_of(candidate, OPEN, around, shown_tokens=5_000) is gate


def test_a_trigger_that_is_not_met_stops_all_but_huge_results() -> None:
    """Without a cache, a request below the operator's triggers has only its huge results extracted."""
    rules = Rules(min_messages=100, huge_output_share=0.1)
    opened = open_request(rules, ASKED)
    assert gate_of(replace(LARGE, tokens=4_999), opened, FREE, 5_000) is Gate.NOT_FIRED
    assert gate_of(LARGE, opened, FREE, 5_000) is Gate.ALLOWED


def test_numbered_reads_are_left_whole_where_a_cache_holds_them() -> None:
    """A file read with line numbers is skipped for a caching provider, unless told otherwise."""
    read = "\n".join(f"{number:6}\tcode of line {number}" for number in range(1, 300))
    assert is_numbered_read(read)
    assert not is_numbered_read("\n".join(read.splitlines()[:7]))
    assert not is_numbered_read(TEXT)
    candidate = replace(LARGE, text=read)
    assert gate_of(candidate, OPEN, WARM, 5_000) is Gate.FILE_READ
    assert gate_of(candidate, OPEN, FREE, 5_000) is Gate.ALLOWED
    assert gate_of(candidate, OPEN, replace(WARM, skips_file_reads=False), 5_000) is Gate.ALLOWED
    assert gate_of(candidate, OPEN, replace(FREE, skips_file_reads=True), 5_000) is Gate.FILE_READ


@pytest.mark.parametrize(
    ("caps", "is_sweeping", "in_request", "in_session", "gate"),
    [
        (Caps(), False, 99, 99, None),
        (Caps(per_request=2), False, 1, 99, None),
        (Caps(per_request=2, per_session=2), False, 2, 2, Gate.OVER_REQUEST),
        (Caps(per_session=2), False, 0, 2, Gate.OVER_SESSION),
        (Caps(per_request=1, per_session=1), True, 3, 9, None),
        (Caps(), True, 4, 0, Gate.OVER_SWEEP),
        (Caps(per_sweep=-1), True, 400, 0, None),
    ],
)
def test_caps(caps: Caps, is_sweeping: bool, in_request: int, in_session: int, gate: Gate | None) -> None:
    """A sweep has a bound of its own and draws on neither of the others; the request's is told first."""
    found = capped(caps, is_sweeping=is_sweeping, in_request=in_request, in_session=in_session)
    assert found is gate


@pytest.mark.parametrize(
    ("cache", "state"),
    [
        (CacheContext(), CacheState.WARM),
        (CacheContext(last_call_unix_micros=0), CacheState.WARM),
        (CacheContext(ttl_seconds=1), CacheState.WARM),
        (CacheContext(last_call_unix_micros=0, ttl_seconds=300), CacheState.COLD),
        (CacheContext(last_call_unix_micros=1_000_000, ttl_seconds=300), CacheState.WARM),
        (CacheContext(state=CacheState.WARM, last_call_unix_micros=0, ttl_seconds=1), CacheState.WARM),
        (CacheContext(state=CacheState.COLD), CacheState.COLD),
        (CacheContext(state=CacheState.NONE), CacheState.NONE),
    ],
)
def test_what_is_not_known_is_warm(cache: CacheContext, state: CacheState) -> None:
    """Cold is only what the caller says is, or what is a minute past its time to live."""
    assert certain_state(cache, 360 * 1_000_000).state is state


def test_idle_time() -> None:
    """Idle is the time since the last call; a clock that runs behind says none."""
    for last, idle in ((None, None), (2_000_000, 3.0), (9_000_000, 0.0)):
        cache = CacheContext(last_call_unix_micros=last)
        assert certain_state(cache, 5_000_000).idle_seconds == idle


def test_the_context_guard() -> None:
    """A call needs 1.65 times what it shows with its overhead, its reply of 4,096 and 512 more (tokens)."""
    assert needed_tokens(10_000, 500) == int(12_500 * 1.65) + 4_096 + 512
    assert needed_tokens(15_067, 0) <= 32_768 < needed_tokens(15_068, 0)
    assert len(shown_text("x" * 32_000)) == len(shown_text("x" * 900_000)) == 32_000
    assert shown_text("a" * 16_000 + "b" * 9 + "c" * 16_000) == "a" * 16_000 + "c" * 16_000


@pytest.mark.parametrize(
    ("configured", "model", "window"),
    [
        (5_000, "claude-haiku-4-5", 5_000),
        (0, "claude-haiku-4-5", 200_000),
        (0, "anthropic/claude-haiku-4-5", 200_000),
        (0, "gpt-4.1-mini", 1_047_576),
        (0, "some-model", 32_768),
    ],
)
def test_the_window_of_a_model(configured: int, model: str, window: int) -> None:
    """The window is the operator's, else that of the model's family, else a small one."""
    assert window_of(configured, model) == window
