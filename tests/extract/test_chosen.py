"""What the settings say about the model, as extraction takes it."""

import pytest

from pinch_server.core.extraction.economics import HAIKU, ModelPrices
from pinch_server.core.extraction.form import Marking
from pinch_server.extract.anthropic import Anthropic
from pinch_server.extract.api import Api
from pinch_server.extract.chosen import address_of, headers_of, options_of, policy_of, prices_of
from pinch_server.extract.openai import OpenAI
from pinch_server.settings import ExtractModelSettings, ExtractSettings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, HAIKU),
        ({"completion_price": "4"}, ModelPrices(1.0, 4.0, 1.25, 0.1)),
        ({"name": "qwen3-coder", "prompt_price": "2"}, ModelPrices(2.0, 10.0, 2.5, 0.2)),
        ({"name": "qwen3-coder", "prompt_price": "0"}, ModelPrices(0.0, 0.0, 0.0, 0.0)),
        (
            {"name": "gpt-5-mini", "prompt_price": "2", "cache_write_price": "0", "cache_read_price": "0"},
            ModelPrices(2.0, 10.0, 0.0, 0.0),
        ),
        ({"name": "qwen3-coder"}, None),
    ],
)
def test_a_price_that_is_set_holds(given: dict[str, str], expected: ModelPrices | None) -> None:
    """Each price is the one that is set, zero too, else follows from the input's or from the name."""
    assert prices_of(ExtractModelSettings.model_validate(given)) == expected


@pytest.mark.parametrize("mode", list(Marking))
@pytest.mark.parametrize("keeps_originals", [False, True])
def test_only_what_names_its_original_is_shared(mode: Marking, keeps_originals: bool) -> None:
    """Other sessions may have a rewritten text where its original is kept and its marker names it."""
    policy = policy_of(ExtractSettings(marker_mode=mode), keeps_originals=keeps_originals)
    assert policy.marking is mode
    assert policy.shares is (keeps_originals and mode is Marking.FULL)


def test_a_text_that_names_its_original_stays_where_originals_are_kept() -> None:
    """What was frozen while originals were kept goes to no new session once they are not."""
    for mode, is_shared in ((Marking.FULL, False), (Marking.SUMMARY, True)):
        kept, not_kept = (
            policy_of(ExtractSettings(marker_mode=mode), keeps_originals=keeps).fingerprint
            for keeps in (True, False)
        )
        assert (kept == not_kept) is is_shared


@pytest.mark.parametrize(
    ("api", "endpoint", "address"),
    [
        (Anthropic(), "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        (Anthropic(), "https://proxy/v1/", "https://proxy/v1/messages"),
        (Anthropic(), "https://proxy/anthropic", "https://proxy/anthropic/v1/messages"),
        (OpenAI(), "http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions"),
        (OpenAI(), "http://localhost/chat", "http://localhost/chat/chat/completions"),
    ],
)
def test_the_version_of_an_api_may_stand_in_the_base_url(api: Api, endpoint: str, address: str) -> None:
    """A base URL with /v1, as every setting of one shows it, works with either API."""
    assert address_of(endpoint, api) == address


def test_each_marker_mode_has_texts_of_its_own() -> None:
    """What was frozen with one marker is not sent where another is set."""
    made = {
        policy_of(ExtractSettings(marker_mode=mode), keeps_originals=False).fingerprint for mode in Marking
    }
    assert len(made) == len(Marking)


@pytest.mark.parametrize(("least", "floor"), [(0, 300), (3_000, 3_000)])
def test_what_is_large_for_auto_is_so_beside_the_floor(least: int, floor: int) -> None:
    """The floor that `auto` chooses by is the operator's, else 300 tokens."""
    given = {"strategy": "auto", "trigger": {"min_output_tokens": least}}
    assert options_of(ExtractSettings.model_validate(given)).floor_tokens == floor


@pytest.mark.parametrize("api", [Anthropic(), OpenAI()])
def test_the_key_goes_where_it_is_set_to(api: Api) -> None:
    """A gateway that speaks one provider's API and wants the key as another has it gets it so."""
    told = {
        auth: dict(headers_of(ExtractModelSettings(auth=auth, api_key="k"), api))
        for auth in ("auto", "bearer", "x-api-key")
    }
    version = dict(api.headers(""))
    assert told["auto"] == api.headers("k")
    assert told["bearer"] == {**version, "Authorization": "Bearer k"}
    assert told["x-api-key"] == {**version, "x-api-key": "k"}
    assert dict(headers_of(ExtractModelSettings(auth="bearer"), api)) == version
