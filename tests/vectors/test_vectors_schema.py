"""Every vector has the form that all of its readers rely on."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.cases.cases import load_cases
from tests.vectors.vectors import SCHEMA, load_vector, vector_files

VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
FILES = vector_files()
VALID: dict[str, Any] = {
    "name": "one-result",
    "about": "a long result is elided",
    "format": "openai-chat",
    "input": '{"messages":[]}',
    "limits": {"budget_tokens": 2000, "protected_tools": ["memory_*"], "protected_max_chars": 0},
    "expect": {"pruned": False, "must_keep": [[0, None], [1, 2]], "output": '{"messages":[]}'},
}


def errors(vector: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(vector)]


def test_the_schema_is_a_schema() -> None:
    """The schema itself is valid under draft 2020-12."""
    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.skipif(not FILES, reason="there are no vector files yet")
@pytest.mark.parametrize("place", FILES, ids=lambda place: place.stem)
def test_vector_has_the_form(place: Path) -> None:
    """A vector file satisfies the schema, is named as it says, and its body can be read."""
    assert errors(json.loads(place.read_text(encoding="utf-8"))) == []
    assert load_vector(place).id == place.stem


def test_a_whole_vector_is_accepted() -> None:
    """A vector with every kind of expectation is valid, with its body as text or as base64."""
    assert errors(VALID) == []
    binary = {key: value for key, value in VALID.items() if key != "input"} | {"input_base64": "e30="}
    assert errors(binary) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "Two Words"),
        (("format",), "cohere"),
        (("input_base64",), "e30="),
        (("limits", "max_summarize_chars"), 2999),
        (("limits", "protected_max_chars"), 2999),
        (("limits", "min_gain"), 1.5),
        (("limits", "budget"), 1),
        (("expect", "must_keep"), [[0]]),
        (("expect", "must_keep"), [[0, "a"]]),
        (("expect", "must_kept"), []),
        (("expect",), {}),
        (("extra",), 1),
    ],
)
def test_a_faulty_vector_is_refused(path: tuple[str, ...], value: Any) -> None:
    """A misspelt key, a limit out of range or a place without its block is refused."""
    vector = copy.deepcopy(VALID)
    holder = vector
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    assert errors(vector) != []


def test_cases_speak_the_same_words() -> None:
    """The limits and expectations of the reported faults are among those that a vector may have."""
    cases = load_cases()
    if not cases:
        pytest.skip("the folder shared/cases does not lie beside the project")
    for case in cases:
        vector = VALID | {"format": case.format, "limits": dict(case.limits), "expect": dict(case.expect)}
        assert errors(vector) == [], case.id
