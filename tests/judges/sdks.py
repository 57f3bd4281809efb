"""The providers' own packages as judges: each function gives what its provider would object to in a body."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import anthropic.types
import anthropic.types.beta
import botocore.session
from botocore.validate import ParamValidator
from google.genai import types as genai
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV3
from openai.types import responses
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import response_input_item_param as items
from pydantic import TypeAdapter, ValidationError

Json = Any
Judge = Callable[[Json], list[str]]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _walk(value: Any) -> None:
    """Reads all of a validated value: pydantic checks the elements of an Iterable only as they are read."""
    if isinstance(value, Mapping):
        for below in value.values():
            _walk(below)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for below in value:
            _walk(below)


def _objections(kind: Any, value: Json, place: str) -> list[str]:
    try:
        _walk(_adapter(kind).validate_python(value))
    except ValidationError as error:
        return [f"{place}: {problem['loc']}: {problem['msg']}" for problem in error.errors()[:5]]
    return []


def _each(kind: Any, values: Json, key: str) -> list[str]:
    return [
        found for index, value in enumerate(values) for found in _objections(kind, value, f"{key}[{index}]")
    ]


def openai_chat(body: Json) -> list[str]:
    """The types of the openai package."""
    return _each(ChatCompletionMessageParam, body["messages"], "messages")


_ITEMS: Mapping[str, Any] = {
    "function_call_output": items.FunctionCallOutput,
    "custom_tool_call_output": responses.ResponseCustomToolCallOutputParam,
    "function_call": responses.ResponseFunctionToolCallParam,
    "custom_tool_call": responses.ResponseCustomToolCallParam,
    "message": responses.EasyInputMessageParam,
}


def openai_responses(body: Json) -> list[str]:
    """The types of the openai package, picked by each item's type: their union accepts nearly anything."""
    found: list[str] = []
    for index, item in enumerate(body["input"]):
        kind = _ITEMS.get(item.get("type", "message"))
        # What the model said has types of its own, which want ids that a caller may leave out.
        if kind is not None and item.get("role") != "assistant":
            found += _objections(kind, item, f"input[{index}]")
    return found


def anthropic_stable(body: Json) -> list[str]:
    """The types of the anthropic package."""
    return _each(anthropic.types.MessageParam, body["messages"], "messages")


def anthropic_beta(body: Json) -> list[str]:
    """The types of the anthropic package's beta."""
    return _each(anthropic.types.beta.BetaMessageParam, body["messages"], "messages")


def gemini(body: Json) -> list[str]:
    """The models of google-genai, which forbid unknown members."""
    found: list[str] = []
    for index, content in enumerate(body["contents"]):
        try:
            genai.Content.model_validate(content)
        except ValidationError as error:
            found += [
                f"contents[{index}]: {problem['loc']}: {problem['msg']}" for problem in error.errors()[:5]
            ]
    return found


@cache
def _converse_shape() -> Any:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def bedrock(body: Json) -> list[str]:
    """The parameter validator of botocore against the shape of Converse."""
    accepted = {key: value for key, value in body.items() if key in _converse_shape().members}
    report = ParamValidator().validate({"modelId": "m", **accepted}, _converse_shape())
    return [report.generate_report()] if report.has_errors() else []


def mistral(body: Json) -> list[str]:
    """mistral-common's request validator: order, pairing and the shape of ids."""
    messages = copy.deepcopy(body["messages"])
    for message in messages:
        for call in message.get("tool_calls") or ():
            call["id"] = _mistral_id(call.get("id"))
        if "tool_call_id" in message:
            message["tool_call_id"] = _mistral_id(message["tool_call_id"])
    try:
        request = ChatCompletionRequest.from_openai(messages)
        MistralRequestValidatorV3().validate_request(request)
    except (
        MistralCommonException,
        ValidationError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ) as error:
        return [f"{type(error).__name__}: {error}"]
    return []


def _mistral_id(identifier: Any) -> str:
    """Nine letters and digits, as Mistral wants them; other providers' ids are longer."""
    return hashlib.sha256(repr(identifier).encode("utf-8", "replace")).hexdigest()[:9]


JUDGES: Mapping[str, tuple[str, Judge]] = {
    "openai": ("openai-chat", openai_chat),
    "openai responses": ("openai-responses", openai_responses),
    "anthropic": ("anthropic", anthropic_stable),
    "anthropic beta": ("anthropic", anthropic_beta),
    "google-genai": ("gemini", gemini),
    "botocore": ("bedrock", bedrock),
    "mistral-common": ("openai-chat", mistral),
}
"""Every judge by name, with the dialect it reads."""
