"""The calls that are measured: one session, growing from call to call, in each form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from bench.conversations import encode, tell
from bench.conversations.dialects import openai_chat
from bench.conversations.session import (
    AssistantMessage,
    Message,
    Session,
    ToolResults,
    UserMessage,
    arguments_text,
)
from pinch.v1 import prune_pb2 as pb

Form: TypeAlias = Literal["body", "typed"]
Reply: TypeAlias = Literal["edits", "full"]

BUDGET_TOKENS: Final = 50_000
_SEED: Final = 5
REPLIES: Final = {"edits": pb.REPLY_FORM_EDITS, "full": pb.REPLY_FORM_FULL}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a session.

    Attributes:
        request: What Pinch gets.
        payload: The bytes that the echo gets: the body, or the serialised request in the typed form.
    """

    request: pb.PruneRequest
    payload: bytes


class GrowingSession:
    """A session that is asked about again and again, each time a step longer.

    Each telling begins with a line of its own, so that no call finds what an earlier telling left in a cache.
    """

    def __init__(self, tokens: int, steps: int) -> None:
        """Makes a session whose last call is about `tokens` long and comes after `steps` earlier ones."""
        self._session = tell(_SEED, tokens=tokens, ending="tool", images=False)
        ends = [
            index + 1
            for index, message in enumerate(self._session.messages)
            if isinstance(message, ToolResults)
        ]
        self._ends = ends[-steps:]

    @property
    def tokens(self) -> int:
        """The size of the last call (tokens, characters / 3)."""
        return self._session.tokens

    def calls(
        self, telling: str, form: Form, reply: Reply, *, ranked: bool = False, own_results: bool = False
    ) -> Iterator[Call]:
        """The session's last calls, oldest first.

        Args:
            telling: A word that no other telling has.
            form: How the conversation goes in.
            reply: How it comes back.
            ranked: Decide each call anew by relevance, instead of replaying the history.
            own_results: Begin each result with the telling too, so that nobody has embedded it before.
        """
        opening, *rest = self._session.messages
        if not isinstance(opening, UserMessage):
            raise TypeError("a session begins with the user")
        opening = replace(opening, text=f"{telling}: {opening.text}")
        if own_results:
            rest = [_of_telling(message, telling) for message in rest]
        for end in self._ends:
            messages = (opening, *rest[: end - 1])
            call = _call(replace(self._session, messages=messages), form, reply, ranked=ranked)
            call.request.context.session_id = telling
            yield call


def _of_telling(message: Message, telling: str) -> Message:
    if not isinstance(message, ToolResults):
        return message
    results = tuple(replace(result, text=f"{telling}: {result.text}") for result in message.results)
    return ToolResults(results)


def _call(session: Session, form: Form, reply: Reply, *, ranked: bool) -> Call:
    request = pb.PruneRequest(
        limits=pb.Limits(
            budget_tokens=BUDGET_TOKENS,
            stability=pb.STABILITY_PER_CALL if ranked else pb.STABILITY_REPLAY,
        ),
        reply_form=REPLIES[reply],
    )
    if form == "body":
        request.body.json = encode(openai_chat(session))
        return Call(request, request.body.json)
    _write_messages(request.chat, session)
    return Call(request, request.SerializeToString())


def _write_messages(chat: pb.ChatMessages, session: Session) -> None:
    chat.messages.add(role="system").content.add(text=session.system)
    for message in session.messages:
        if isinstance(message, UserMessage):
            chat.messages.add(role="user").content.add(text=message.text)
        elif isinstance(message, AssistantMessage):
            said = chat.messages.add(role="assistant")
            if message.text:
                said.content.add(text=message.text)
            for call in message.calls:
                said.tool_calls.add(id=call.id, name=call.name, arguments=arguments_text(call.arguments))
        else:
            for result in message.results:
                answer = chat.messages.add(role="tool", tool_call_id=result.call.id, name=result.call.name)
                answer.content.add(text=result.text)
