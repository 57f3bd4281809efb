"""What LangChain's middleware takes, measured where LangChain is: run as a file, with the gateways' Python.

Reads `{"address": ..., "bodies": [...]}` from standard input, bodies being OpenAI chat bodies; writes the
median over them (milliseconds), and how many of them the model was shown shortened.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import convert_to_messages

from pinch import PinchClient
from pinch.integrations.langchain import PinchMiddleware


def main() -> None:
    """Measures and writes the result."""
    given = json.load(sys.stdin)
    times, shortened = [], 0
    with PinchClient(given["address"], timeout=60) as client:
        middleware = PinchMiddleware(client)
        for body in given["bodies"]:
            request = ModelRequest(
                model=FakeListChatModel(responses=[""]), messages=convert_to_messages(body["messages"])
            )
            shown: list[Any] = []
            started = time.perf_counter()
            middleware.wrap_model_call(request, shown.append)
            times.append((time.perf_counter() - started) * 1000)
            shortened += shown[0] is not request
    json.dump({"milliseconds": statistics.median(times), "shortened": shortened}, sys.stdout)


if __name__ == "__main__":
    main()
