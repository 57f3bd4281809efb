"""Asking a model: both APIs, every fault as a value, its price, the day's bound, and the breaker."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from pinch_server.core.extraction.economics import HAIKU
from pinch_server.core.extraction.slugs import MODEL_FAULTS
from pinch_server.extract.anthropic import Anthropic
from pinch_server.extract.api import Api
from pinch_server.extract.exchange import Exchange
from pinch_server.extract.metered import MeteredModel
from pinch_server.extract.model import ModelFault, Reply, Usage
from pinch_server.extract.openai import OpenAI
from pinch_server.extract.prefix_marks import PrefixMarks, least_prefix
from pinch_server.extract.prompts.prompt import Prompt, SystemBlock
from pinch_server.outbound.breaker import Breaker
from tests.services.model_server import FAULTS, ModelServer

KEY = "sk-secret-of-the-tests"
ASKED = Prompt((SystemBlock("rules"), SystemBlock("style")), "shorten this")
APIS: dict[str, Api] = {"anthropic": Anthropic(), "openai": OpenAI()}


@dataclass
class Purse:
    """A day's money, in memory."""

    left: float | None = 100.0
    settled: list[tuple[float, float]] = field(default_factory=list)

    def today(self) -> str:
        """Always the same."""
        return "today"

    def set_aside(self, usd: float, day: str) -> bool | None:
        """Takes it, when there is so much."""
        assert day == "today"
        if self.left is None:
            return None
        if usd > self.left:
            return False
        self.left -= usd
        return True

    def settle(self, usd: float, cost_usd: float, day: str) -> None:
        """Takes the cost instead."""
        assert day == "today"
        assert self.left is not None
        self.left += usd - cost_usd
        self.settled.append((usd, cost_usd))


@dataclass
class Hand:
    """A clock that is turned by hand."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Iterator[ModelServer]:
    running = ModelServer()
    yield running
    running.close()


@pytest.fixture
def purse() -> Purse:
    return Purse()


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture(params=APIS)
def model(
    request: pytest.FixtureRequest, server: ModelServer, purse: Purse, clock: Hand
) -> Iterator[MeteredModel]:
    api = APIS[request.param]
    exchange = Exchange(server.base_url + api.path, api.headers(KEY))
    asking = MeteredModel("small", api, exchange, HAIKU, purse, Breaker(clock), clock)
    yield asking
    asking.close()


def test_an_answer_with_its_price(model: MeteredModel, server: ModelServer, purse: Purse) -> None:
    """The answer's text comes with what was billed for it, each kind of token at its own price."""
    server.script = lambda system, user: f"{system}|{user}"
    reply = model.ask(ASKED, seconds=30)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.is_truncated) == ("rules\nstyle|shorten this", False)
    written = 300 if "system" in server.requests[0] else 0
    assert reply.usage == Usage(1_000, 100, 200, written)
    assert reply.cost_usd == pytest.approx((1_000 + 500 + 20 + 1.25 * written) / 1e6)
    assert purse.left == pytest.approx(100 - reply.cost_usd)


def test_the_key_travels_and_stays_secret(model: MeteredModel, server: ModelServer) -> None:
    """The endpoint is sent the key as its API has it, and nothing shows it."""
    model.ask(ASKED, seconds=30)
    (headers,) = server.headers
    assert KEY in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
    assert KEY not in repr(vars(model))


@pytest.mark.parametrize(
    ("said", "text", "is_truncated"),
    [
        ("", "", False),
        (("OUTPUT = INPU", True), "OUTPUT = INPU", True),
        ("I cannot do that.", "I cannot do that.", False),
    ],
)
def test_odd_answers_are_answers(
    model: MeteredModel, server: ModelServer, said: str | tuple[str, bool], text: str, is_truncated: bool
) -> None:
    """An empty reply, one cut at its cap, and prose are handed over as they are."""
    server.script = lambda _system, _user: said
    reply = model.ask(ASKED, seconds=30)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.is_truncated) == (text, is_truncated)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "hang"])
def test_every_fault_is_a_word(model: MeteredModel, server: ModelServer, fault: str) -> None:
    """Whatever an endpoint does wrong comes back as one word of a closed set."""
    server.fault = fault
    answer = model.ask(ASKED, seconds=30)
    assert isinstance(answer, ModelFault)
    assert answer.slug in MODEL_FAULTS
    expected = {"418": "status", "redirect": "status", "close": "closed", "cut_body": "closed"}
    others = {"html": "malformed", "no_choices": "malformed", "huge": "too_large"}
    assert answer.slug == (expected | others).get(fault, fault)


@pytest.mark.parametrize("billed", [-1_000_000_000, 10**30, 10**300], ids=["less", "more", "huge"])
def test_a_bill_that_is_none_costs_the_most(
    model: MeteredModel, server: ModelServer, purse: Purse, billed: int
) -> None:
    """An endpoint that says it billed less than nothing, or more than there is, adds nothing to the day."""
    server.usage = (billed, billed, 0, 0)
    answer = model.ask(ASKED, seconds=30)
    assert isinstance(answer, ModelFault)
    assert answer.slug == "malformed"
    ((set_aside, cost),) = purse.settled
    assert cost == set_aside > 0


def test_the_deadline_is_a_total(model: MeteredModel, server: ModelServer, purse: Purse) -> None:
    """An endpoint that hangs is given up in time; all that the call could cost counts as spent."""
    server.fault = "hang"
    answer = model.ask(ASKED, seconds=0.2)
    assert isinstance(answer, ModelFault)
    assert answer.slug == "deadline"
    assert 0 < answer.cost_usd < 0.001
    assert model.ask(ASKED, seconds=0).slug == "deadline"  # type: ignore[union-attr] # a fault
    assert len(server.requests) == 1
    ((set_aside, spent),) = purse.settled
    assert spent == set_aside > answer.cost_usd


@pytest.mark.parametrize("fault", ["close", "cut_body", "huge"])
def test_what_may_have_been_billed_stays_spent(
    model: MeteredModel, server: ModelServer, purse: Purse, fault: str
) -> None:
    """A call that was sent and did not tell its cost takes all that it could cost out of the day."""
    server.fault = fault
    assert isinstance(model.ask(ASKED, seconds=30), ModelFault)
    ((set_aside, spent),) = purse.settled
    assert spent == set_aside > 0


def test_an_endpoint_that_does_not_say_what_it_billed(
    model: MeteredModel, server: ModelServer, purse: Purse
) -> None:
    """A reply without usage is reckoned by its own length, so that the day's bound holds there too."""
    server.usage = None
    server.script = lambda _system, _user: "a word " * 100
    reply = model.ask(ASKED, seconds=30)
    assert isinstance(reply, Reply)
    assert (reply.usage.prompt > 5, reply.usage.completion > 200) == (True, True)
    assert 100 - purse.left == pytest.approx(reply.cost_usd)  # type: ignore[operator] # it is told
    assert reply.cost_usd > 0.001


def test_nobody_listens(purse: Purse, clock: Hand) -> None:
    """A port nobody listens on is refused, and costs nothing."""
    exchange = Exchange("http://127.0.0.1:9/v1/messages", {})
    model = MeteredModel("small", Anthropic(), exchange, HAIKU, purse, Breaker(clock), clock)
    assert model.ask(ASKED, seconds=30) == ModelFault("refused")
    model.close()
    assert purse.left == 100


def test_the_days_bound_holds_before_the_call(model: MeteredModel, server: ModelServer, purse: Purse) -> None:
    """No call goes out that could go over the day's bound, nor where nobody knows what is left of it."""
    purse.left = 0.01
    assert model.ask(ASKED, seconds=30) == ModelFault("spend_cap")
    purse.left = None
    assert model.ask(ASKED, seconds=30) == ModelFault("spend_unknown")
    assert server.requests == []


def test_the_breaker_spares_a_failing_endpoint(model: MeteredModel, server: ModelServer, clock: Hand) -> None:
    """After three failures in a row nothing is asked for a while, then one call tries again."""
    server.fault = "503"
    for _ in range(3):
        assert model.ask(ASKED, seconds=30) == ModelFault("503")
    assert model.ask(ASKED, seconds=30) == ModelFault("breaker_open")
    assert len(server.requests) == 3
    server.fault = None
    clock.now = 15.0
    assert isinstance(model.ask(ASKED, seconds=30), Reply)
    assert isinstance(model.ask(ASKED, seconds=30), Reply)


def test_a_refused_prompt_is_not_the_endpoints_failure(model: MeteredModel, server: ModelServer) -> None:
    """A prompt that the endpoint will not take says nothing about the next one."""
    server.fault = "400"
    for _ in range(5):
        assert model.ask(ASKED, seconds=30) == ModelFault("400")


def test_the_cache_mark_stands_on_the_last_system_block(
    server: ModelServer, purse: Purse, clock: Hand
) -> None:
    """A prefix long enough to be cached is marked once, on its last block; a short one never is."""
    api = Anthropic()
    exchange = Exchange(server.base_url + api.path, {})
    model = MeteredModel("small", api, exchange, HAIKU, purse, Breaker(clock), clock)
    long = Prompt((SystemBlock("a word " * 4_000), SystemBlock("last")), "user")
    for prompt in (long, ASKED):
        assert isinstance(model.ask(prompt, seconds=30), Reply)
    model.close()
    marks = [[("cache_control" in block) for block in request["system"]] for request in server.requests]
    assert marks == [[False, True], [False, False]]


def test_a_prefix_is_written_by_one_call_at_a_time(clock: Hand) -> None:
    """While a call writes a prefix its siblings leave it unmarked; once written all mark it, for a time."""
    prompt = Prompt((SystemBlock("a word " * 4_000),), "user")
    marks = PrefixMarks("haiku", clock)
    key = marks.begin(prompt)
    assert key is not None
    assert marks.begin(prompt) is None
    marks.end(key, is_written=True)
    assert (marks.begin(prompt), marks.begin(prompt)) == (key, key)
    clock.now = 240.0
    assert (marks.begin(prompt), marks.begin(prompt)) == (key, None)
    marks.end(key, is_written=False)
    assert marks.begin(prompt) == key


@pytest.mark.parametrize(
    ("model", "least"), [("claude-haiku-4-5", 3_413), ("claude-sonnet-5", 853), ("unknown", 3_413)]
)
def test_the_shortest_prefix_worth_a_mark(model: str, least: int) -> None:
    """Providers cache from 4,096 of their tokens on, from 1,024 for large models, a fifth more than ours."""
    assert least_prefix(model) == least


def test_openais_own_endpoint_has_another_name_for_the_cap() -> None:
    """OpenAI's newer models refuse max_tokens and a temperature, which others need."""
    assert b'"max_completion_tokens":7' in OpenAI(is_own=True).body("m", ASKED, 7, marks_prefix=False)
    other = OpenAI().body("m", ASKED, 7, marks_prefix=False)
    assert b'"max_tokens":7' in other
    assert b'"temperature":0' in other
