"""An agent of LangChain's with Pinch in it, run where LangChain is; writes what the model was shown."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from pinch import AsyncPinchClient
from pinch.integrations.langchain import PinchMiddleware

SHOWN: list[Any] = []


class Model(GenericFakeChatModel):
    """Says what it was told to, and keeps what it was shown."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ARG002 LangChain's own signature
        """Takes any tools."""
        return self

    def _generate(self, messages: Any, *rest: Any, **more: Any) -> Any:
        SHOWN.append(
            [(type(one).__name__, str(one.content), getattr(one, "tool_call_id", "")) for one in messages]
        )
        return super()._generate(messages, *rest, **more)


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return f"{path}: line\n" * 1_000


def said() -> Any:
    """Six calls of a tool, an answer after each, and the end."""
    for number in range(6):
        call = {"name": "read_file", "args": {"path": f"src/{number}.py"}, "id": f"call_{number}"}
        yield AIMessage(content="", tool_calls=[call])
    yield AIMessage(content="done")


def main(address: str, block: str) -> None:
    """Runs the agent twice: called, as the block of the page makes it, and awaited."""
    asked = {"messages": [HumanMessage("look at all of it")]}
    made: dict[str, Any] = {"model": Model(messages=said()), "tools": [read_file]}
    exec(block, made)  # noqa: S102 the page's own words are what is tried
    state = made["agent"].invoke(asked)

    async def awaited() -> Any:
        async with AsyncPinchClient(address, timeout=30) as client:
            middleware = PinchMiddleware(async_client=client)
            agent = create_agent(Model(messages=said()), [read_file], middleware=[middleware])
            return await agent.ainvoke(asked)

    later = asyncio.run(awaited())
    kept = [[len(str(one.content)) for one in end["messages"]] for end in (state, later)]
    json.dump({"shown": [SHOWN[6], SHOWN[13]], "kept": kept}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
