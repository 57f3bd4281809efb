"""Both conversation forms by both reply forms: the same plan, the same bytes."""

import json
from hashlib import sha256
from uuid import UUID

import pytest
from google.protobuf.json_format import MessageToDict

from bench.conversations import generate, generate_bytes
from pinch.edits import apply_byte_edits, apply_part_edits
from pinch.v1 import prune_pb2 as pb
from tests.checker.check import check, check_edits
from tests.rpc.conversations import PNG, body, messages, typed
from tests.rpc.service import Kept, Service

FULL, EDITS = pb.REPLY_FORM_FULL, pb.REPLY_FORM_EDITS


def body_request(json: bytes, **fields: object) -> pb.PruneRequest:
    return pb.PruneRequest(body=pb.RequestBody(json=json), **fields)


def sessions() -> list[pytest.param]:
    return [
        pytest.param(body(), id="by-hand"),
        *(pytest.param(generate_bytes(seed, tokens=20_000), id=f"seed-{seed}") for seed in (1, 2, 3)),
    ]


@pytest.mark.parametrize("sent", sessions())
def test_a_full_body_is_the_edits_applied_and_every_other_byte_as_it_came(
    service: Service, sent: bytes
) -> None:
    """FULL is what a client gets by applying EDITS, and both obey the independent checker."""
    full = service.prune.Prune(body_request(sent, reply_form=FULL))
    edits = service.prune.Prune(body_request(sent, reply_form=EDITS))
    assert full.stats.pruned
    assert full.stats.final_tokens < full.stats.original_tokens
    assert full.edits == edits.edits
    assert edits.WhichOneof("conversation") is None
    assert full.body.json == apply_byte_edits(sent, edits.edits)
    assert full.body.format == full.format == pb.FORMAT_OPENAI_CHAT
    assert check_edits(sent, [MessageToDict(e, preserving_proto_field_name=True) for e in edits.edits]) == []
    assert check("openai-chat", sent, full.body.json) == []


@pytest.mark.parametrize("sent", sessions())
def test_typed_full_is_the_edits_applied_and_every_other_part_as_it_came(
    service: Service, sent: bytes
) -> None:
    """FULL typed messages are what a client gets by applying EDITS to its own; nothing else differs."""
    chat = typed(json.loads(sent)["messages"])
    full = service.prune.Prune(pb.PruneRequest(chat=chat))
    edits = service.prune.Prune(pb.PruneRequest(chat=chat, reply_form=EDITS))
    assert full.stats.pruned
    assert full.edits == edits.edits
    assert edits.WhichOneof("conversation") is None
    assert list(full.chat.messages) == apply_part_edits(chat.messages, edits.edits)
    changed = {edit.message_index for edit in edits.edits}
    for index, (before, after) in enumerate(zip(chat.messages, full.chat.messages, strict=True)):
        assert (before == after) == (index not in changed)
    assert full.format == pb.FORMAT_UNSPECIFIED


@pytest.mark.parametrize("sent", sessions())
def test_both_conversation_forms_give_the_same_plan(service: Service, sent: bytes) -> None:
    """A conversation is trimmed alike, with the same numbers, whichever form it comes in."""
    limits = pb.Limits(extra_fixed_tokens=500)
    by_body = service.prune.Prune(body_request(sent, limits=limits))
    chat = typed(json.loads(sent)["messages"])
    by_chat = service.prune.Prune(pb.PruneRequest(chat=chat, limits=limits))
    # Opaque parts are the one difference in counting, and these sessions have none.
    assert by_chat.stats == by_body.stats
    assert by_chat.turn_frame == by_body.turn_frame
    assert by_chat.measured == by_body.measured
    assert by_chat.first_changed_message == by_body.first_changed_message
    texts = [(edit.message_index, json.loads(edit.replacement)) for edit in by_body.edits]
    assert [(e.message_index, e.replacement_part.text) for e in by_chat.edits if e.chars_before] == [
        (index, text) for index, text in texts if isinstance(text, str)
    ]


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        (pb.FORMAT_OPENAI_CHAT, "openai-chat"),
        (pb.FORMAT_ANTHROPIC_MESSAGES, "anthropic"),
        (pb.FORMAT_OPENAI_RESPONSES, "openai-responses"),
        (pb.FORMAT_GEMINI, "gemini"),
        (pb.FORMAT_BEDROCK_CONVERSE, "bedrock"),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_every_format_is_served_named_or_recognised(
    service: Service, wire: pb.Format.ValueType, name: str, is_named: bool
) -> None:
    """Each provider's body is pruned, and the reply names its format whether or not the caller did."""
    sent = generate_bytes(5, tokens=20_000, format=name)  # type: ignore[arg-type]
    given = wire if is_named else pb.FORMAT_UNSPECIFIED
    reply = service.prune.Prune(pb.PruneRequest(body=pb.RequestBody(format=given, json=sent)))
    assert (reply.format, reply.body.format) == (wire, wire)
    assert reply.stats.pruned
    assert reply.body.json == apply_byte_edits(sent, reply.edits)
    assert check(name, sent, reply.body.json) == []


def test_receipts_name_what_was_replaced(service: Service) -> None:
    """Every edit carries the digest of exactly what it replaces: raw bytes, or a text in UTF-8."""
    sent, chat = body(), typed()
    by_body = service.prune.Prune(body_request(sent, reply_form=EDITS))
    assert by_body.edits
    for edit in by_body.edits:
        replaced = sent[edit.offset : edit.offset + edit.length]
        assert replaced.startswith(b'"')
        assert edit.replaced_sha256 == sha256(replaced).digest()
        assert edit.chars_before == len(json.loads(replaced))
        assert edit.chars_after == len(json.loads(edit.replacement))
        assert not edit.HasField("block_index")
        assert not edit.HasField("part_index")
        assert edit.is_new
    for edit in service.prune.Prune(pb.PruneRequest(chat=chat, reply_form=EDITS)).edits:
        old = chat.messages[edit.message_index].content[edit.part_index]
        assert edit.replaced_sha256 == sha256(old.text.encode()).digest()


def test_an_old_typed_image_becomes_a_text_with_a_receipt_of_its_bytes(service: Service) -> None:
    """An image inside an old result gives way to a note; the receipt is over its bytes or its address."""
    chat = typed()
    for source in (pb.Image(media_type="image/png", data=PNG), pb.Image(url="https://example.com/a.png")):
        chat.messages[3].content.add().image.CopyFrom(source)
    reply = service.prune.Prune(pb.PruneRequest(chat=chat, limits=pb.Limits(budget_tokens=1)))
    images = {edit.part_index: edit for edit in reply.edits if edit.message_index == 3 and edit.part_index}
    assert images[1].replaced_sha256 == sha256(PNG).digest()
    assert images[1].replacement_part.text == "[image omitted: 1x1 image/png]"
    assert images[2].replaced_sha256 == sha256(b"https://example.com/a.png").digest()
    assert list(reply.chat.messages) == apply_part_edits(chat.messages, reply.edits)


def test_within_budget_nothing_changes(service: Service) -> None:
    """A conversation within its budget comes back byte for byte, with the reason and no edit."""
    sent = body()
    limits = pb.Limits(budget_tokens=1_000_000)
    reply = service.prune.Prune(body_request(sent, limits=limits))
    assert reply.body.json == sent
    assert (reply.unchanged_reason, len(reply.edits)) == ("within_budget", 0)
    assert not reply.HasField("first_changed_message")
    chat = typed()
    assert service.prune.Prune(pb.PruneRequest(chat=chat, limits=limits)).chat == chat


def test_a_dry_run_counts_and_changes_nothing(service: Service, kept: Kept) -> None:
    """A dry run tells the numbers of the real call and gives the conversation back as it came."""
    sent = body()
    real = service.prune.Prune(body_request(sent))
    dry = service.prune.Prune(body_request(sent, dry_run=True))
    assert dry.stats == real.stats
    assert (dry.body.json, len(dry.edits), dry.unchanged_reason) == (sent, 0, "dry_run")
    assert dry.measured.tokens == dry.stats.original_tokens
    assert kept.decisions[-1].dry_run


def test_a_reply_tells_its_decision(service: Service, kept: Kept) -> None:
    """The reply's id is the recorded decision's: a UUIDv7, with the router's context beside it."""
    context = pb.RequestContext(
        request_id="r-1",
        session_id="s-1",
        route=pb.ROUTE_PASSTHROUGH,
        model="m-1",
        rates=pb.Rates(prompt="3", cached_prompt="0.30", cache_write="3.75"),
    )
    reply = service.prune.Prune(body_request(body(), context=context))
    decision = kept.decisions[-1]
    assert UUID(reply.decision_id).version == 7
    assert (decision.decision_id, reply.persisted) == (reply.decision_id, True)
    assert (decision.request_id, decision.route, decision.model) == ("r-1", "PASSTHROUGH", "m-1")
    assert (decision.prompt_rate, decision.cached_rate, decision.cache_write_rate) == ("3", "0.30", "3.75")
    assert decision.session_hash not in (None, "s-1")
    assert reply.turn_frame.message == "And now?"
    assert reply.turn_frame.framed.endswith("---\nMessage: And now?")


def test_only_limits_that_are_present_override_the_settings(service: Service, kept: Kept) -> None:
    """An absent limit is the server's setting; a present zero is a zero, and an empty list an empty list."""
    sent = body_request(body(), limits=pb.Limits(protected_tools=pb.ToolGlobs(globs=["read_*"])))
    protected = service.prune.Prune(sent)
    assert (protected.unchanged_reason, protected.stats.budget_met) == ("nothing_to_trim", False)
    assert kept.decisions[-1].budget_tokens == 2_000
    limits = pb.Limits(
        protected_max_chars=0,
        keep_last_rounds=0,
        min_tokens_saved=0,
        relevance=False,
        protected_tools=pb.ToolGlobs(),
        stability=pb.STABILITY_UNSPECIFIED,
        trim_style=pb.TRIM_STYLE_PLAIN,
    )
    assert service.prune.Prune(body_request(body(), limits=limits)).stats.pruned


def test_what_is_not_understood_comes_back_as_it_came(service: Service) -> None:
    """A body nested beyond reading is answered OK and unchanged, with the reason and its format as given."""
    deep = b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    sent = pb.RequestBody(format=pb.FORMAT_OPENAI_CHAT, json=deep)
    reply = service.prune.Prune(pb.PruneRequest(body=sent))
    assert reply.unchanged_reason == "not_understood"
    assert reply.body == sent
    assert reply.format == pb.FORMAT_UNSPECIFIED


def test_generated_sessions_have_a_typed_form() -> None:
    """The sessions of this file are worth their name: each has several results to trim."""
    said = generate(1, tokens=20_000)["messages"]
    assert isinstance(said, list)
    assert len(typed(said).messages) == len(said) > len(messages(1))
