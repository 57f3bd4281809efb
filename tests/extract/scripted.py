"""A model whose answers are written down beforehand."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pinch_server.extract.model import REPLY_TOKENS, ModelFault, Reply, Usage
from pinch_server.extract.prompts.prompt import Prompt

Answer = Reply | ModelFault | str | Callable[[Prompt], str]


@dataclass
class ScriptedModel:
    """Answers in turn; a text costs 1,000 tokens in and 100 out.

    Attributes:
        answers: What it says, one for each call.
        prompts: What it was asked.
        times: How long each answer might have taken (seconds).
    """

    answers: list[Answer]
    prompts: list[Prompt] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, seconds: float, max_tokens: int = REPLY_TOKENS) -> Reply | ModelFault:
        """The next answer."""
        assert max_tokens == REPLY_TOKENS
        self.prompts.append(prompt)
        self.times.append(seconds)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(prompt)
        if isinstance(answer, str):
            return Reply(answer, usage=Usage(prompt=1_000, completion=100), cost_usd=0.0015, latency_ms=900.0)
        return answer
