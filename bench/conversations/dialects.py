"""One session in the request form of each provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from bench.conversations.session import (
    AssistantMessage,
    Image,
    Session,
    ToolResult,
    UserMessage,
    arguments_text,
)

Format: TypeAlias = Literal["openai-chat", "anthropic", "openai-responses", "gemini", "bedrock"]
Json: TypeAlias = dict[str, Any]


def openai_chat(session: Session) -> Json:
    """A body for OpenAI's chat completions. Results hold text only: the API takes no pictures there."""
    messages: list[Json] = [{"role": "system", "content": session.system}]
    for message in session.messages:
        if isinstance(message, UserMessage):
            content: Any = message.text
            if message.image:
                url = f"data:{message.image.media_type};base64,{message.image.data}"
                content = [
                    {"type": "text", "text": message.text},
                    {"type": "image_url", "image_url": {"url": url}},
                ]
            messages.append({"role": "user", "content": content})
        elif isinstance(message, AssistantMessage):
            said: Json = {"role": "assistant", "content": message.text or None}
            if message.calls:
                said["tool_calls"] = [
                    {
                        "id": f"call_{call.id}",
                        "type": "function",
                        "function": {"name": call.name, "arguments": arguments_text(call.arguments)},
                    }
                    for call in message.calls
                ]
            messages.append(said)
        else:
            for result in message.results:
                text: Any = [{"type": "text", "text": result.text}] if result.image else result.text
                messages.append({"role": "tool", "tool_call_id": f"call_{result.call.id}", "content": text})
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in session.tools
    ]
    return {"model": "gpt-5.5", "messages": messages, "tools": tools, "stream": True}


def openai_responses(session: Session) -> Json:
    """A body for OpenAI's Responses: the history as items, nothing stored at the provider."""
    items: list[Json] = []
    for message in session.messages:
        if isinstance(message, UserMessage):
            parts: list[Json] = [{"type": "input_text", "text": message.text}]
            parts += [_input_image(message.image)] if message.image else []
            items.append({"type": "message", "role": "user", "content": parts})
        elif isinstance(message, AssistantMessage):
            if message.reasoning:
                items.append(
                    {
                        "type": "reasoning",
                        "id": f"rs_{message.signature[:24]}",
                        "summary": [{"type": "summary_text", "text": message.reasoning}],
                        "encrypted_content": message.signature,
                    }
                )
            if message.text:
                said = [{"type": "output_text", "text": message.text, "annotations": []}]
                items.append({"type": "message", "role": "assistant", "content": said})
            for call in message.calls:
                items.append(
                    {
                        "type": "function_call",
                        "call_id": f"call_{call.id}",
                        "name": call.name,
                        "arguments": arguments_text(call.arguments),
                    }
                )
        else:
            for result in message.results:
                output: Any = result.text
                if result.image:
                    output = [{"type": "input_text", "text": result.text}, _input_image(result.image)]
                items.append(
                    {"type": "function_call_output", "call_id": f"call_{result.call.id}", "output": output}
                )
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        for tool in session.tools
    ]
    return {
        "model": "gpt-5.5",
        "instructions": session.system,
        "input": items,
        "tools": tools,
        "store": False,
    }


def _input_image(image: Image) -> Json:
    return {
        "type": "input_image",
        "detail": "auto",
        "image_url": f"data:{image.media_type};base64,{image.data}",
    }


def anthropic(session: Session) -> Json:
    """A body for Anthropic's Messages, with cache marks on the system prompt and on the newest message."""
    messages: list[Json] = []
    for message in session.messages:
        if isinstance(message, UserMessage):
            blocks: list[Json] = [_anthropic_image(message.image)] if message.image else []
            messages.append({"role": "user", "content": [*blocks, {"type": "text", "text": message.text}]})
        elif isinstance(message, AssistantMessage):
            said: list[Json] = []
            if message.reasoning:
                said.append(
                    {"type": "thinking", "thinking": message.reasoning, "signature": message.signature}
                )
            if message.text:
                said.append({"type": "text", "text": message.text})
            for call in message.calls:
                said.append(
                    {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": call.arguments}
                )
            messages.append({"role": "assistant", "content": said})
        else:
            messages.append({"role": "user", "content": [_tool_result(result) for result in message.results]})
    mark = {"type": "ephemeral"}
    messages[-1]["content"][-1]["cache_control"] = mark
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in session.tools
    ]
    system = [{"type": "text", "text": session.system, "cache_control": mark}]
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 16000,
        "system": system,
        "tools": tools,
        "messages": messages,
    }


def _anthropic_image(image: Image) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _tool_result(result: ToolResult) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": f"toolu_{result.call.id}"}
    if result.image:
        block["content"] = [{"type": "text", "text": result.text}, _anthropic_image(result.image)]
    elif result.text:
        block["content"] = result.text
    if result.is_error:
        block["is_error"] = True
    return block


def gemini(session: Session) -> Json:
    """A body for Gemini's generateContent; the first call of a model message carries its signature."""
    contents: list[Json] = []
    for message in session.messages:
        if isinstance(message, UserMessage):
            parts: list[Json] = [{"text": message.text}]
            if message.image:
                parts.append(
                    {"inlineData": {"mimeType": message.image.media_type, "data": message.image.data}}
                )
            contents.append({"role": "user", "parts": parts})
        elif isinstance(message, AssistantMessage):
            said: list[Json] = [{"text": message.text}] if message.text else []
            for number, call in enumerate(message.calls):
                part: Json = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
                if message.signature and number == 0:
                    part["thoughtSignature"] = message.signature
                said.append(part)
            contents.append({"role": "model", "parts": said})
        else:
            contents.append(
                {"role": "user", "parts": [_function_response(result) for result in message.results]}
            )
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in session.tools
    ]
    return {
        "systemInstruction": {"parts": [{"text": session.system}]},
        "contents": contents,
        "tools": [{"functionDeclarations": tools}],
    }


def _function_response(result: ToolResult) -> Json:
    response: Json = {
        "id": result.call.id,
        "name": result.call.name,
        "response": {"error" if result.is_error else "output": result.text},
    }
    if result.image:
        response["parts"] = [{"inlineData": {"mimeType": result.image.media_type, "data": result.image.data}}]
    return {"functionResponse": response}


def bedrock(session: Session) -> Json:
    """A body for Bedrock's Converse, with a cache point after the system prompt."""
    messages: list[Json] = []
    for message in session.messages:
        if isinstance(message, UserMessage):
            content: list[Json] = [{"text": message.text}]
            content += [_bedrock_image(message.image)] if message.image else []
            messages.append({"role": "user", "content": content})
        elif isinstance(message, AssistantMessage):
            said: list[Json] = []
            if message.reasoning:
                sealed = {"text": message.reasoning, "signature": message.signature}
                said.append({"reasoningContent": {"reasoningText": sealed}})
            if message.text:
                said.append({"text": message.text})
            for call in message.calls:
                used = {"toolUseId": f"tooluse_{call.id}", "name": call.name, "input": call.arguments}
                said.append({"toolUse": used})
            messages.append({"role": "assistant", "content": said})
        else:
            messages.append(
                {"role": "user", "content": [_bedrock_result(result) for result in message.results]}
            )
    tools = [
        {
            "toolSpec": {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": {"json": tool.parameters},
            }
        }
        for tool in session.tools
    ]
    return {
        "modelId": "anthropic.claude-sonnet-5-5",
        "system": [{"text": session.system}, {"cachePoint": {"type": "default"}}],
        "messages": messages,
        "toolConfig": {"tools": tools},
    }


def _bedrock_image(image: Image) -> Json:
    return {"image": {"format": image.media_type.removeprefix("image/"), "source": {"bytes": image.data}}}


def _bedrock_result(result: ToolResult) -> Json:
    # Converse refuses blank text, so an empty result is an empty JSON object.
    content: list[Json] = [{"text": result.text} if result.text else {"json": {}}]
    content += [_bedrock_image(result.image)] if result.image else []
    status = "error" if result.is_error else "success"
    return {"toolResult": {"toolUseId": f"tooluse_{result.call.id}", "content": content, "status": status}}


DIALECTS: Mapping[Format, Callable[[Session], Json]] = {
    "openai-chat": openai_chat,
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "bedrock": bedrock,
}
"""The writer of each form, by the name that ``--format`` takes everywhere in this project."""
