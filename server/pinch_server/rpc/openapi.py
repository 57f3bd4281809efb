"""`python -m pinch_server.rpc.openapi`: the description of the JSON endpoints, made of what they show.

What a message has in the contract is what its JSON has, field for field; a test compares the file with this.
"""

import json
import re
import sys
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pinch.v1 import insight_pb2 as pb
from pinch_server import __version__
from pinch_server.core.activity import COUNTED
from pinch_server.settings import RUNTIME_KEYS

_INTEGER: Final = {"type": "integer"}
_TEXT: Final = {"type": "string"}
_TRUTH: Final = {"type": "boolean"}
_MICROS: Final = {"type": "integer", "description": "Microseconds since the Unix epoch, UTC."}
_TYPES: Final = {
    FieldDescriptor.TYPE_BOOL: _TRUTH,
    FieldDescriptor.TYPE_STRING: _TEXT,
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.TYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.TYPE_INT64: {"type": "integer", "format": "int64"},
}
_DAYS: Final = {"minimum": 1, "type": "integer"}


def document() -> dict[str, Any]:
    """The whole description."""
    schemas: dict[str, Any] = {
        "Error": _object(
            {
                "error": _object(
                    {
                        "code": _TEXT,
                        "message": _TEXT,
                        "violations": _list(_object({"field": _TEXT, "description": _TEXT})),
                    },
                    optional=("violations",),
                )
            }
        ),
        "State": _state(),
        "Activity": _activity(),
        "Knobs": _object({"knobs": _object(dict.fromkeys(RUNTIME_KEYS, _TRUTH)), "may_turn": _TRUTH}),
    }
    for message in (pb.GetSavingsResponse, pb.ListDecisionsResponse, pb.GetDecisionResponse):
        _schema(message.DESCRIPTOR, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pinch",
            "version": __version__.partition("+")[0],
            "description": "What pruning saved and what was decided, as the dashboard shows it. Numbers are"
            " those of InsightService; the .proto files say what each field means.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}, {"cookie": []}, {}],
        "paths": _paths(),
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {
                "Refused": _answer("Error", "Refused; the code says why."),
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "pinch_session_9464",
                    "description": "Given by /login; its name ends in the port of the address.",
                },
            },
        },
    }


def _paths() -> dict[str, Any]:
    savings = (pb.GetSavingsRequest.DESCRIPTOR, pb.SavingsFilter.DESCRIPTOR)
    decisions = (pb.ListDecisionsRequest.DESCRIPTOR, pb.DecisionFilter.DESCRIPTOR)
    decision_id = {
        "name": "decision_id",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "format": "uuid"},
    }
    change = _object(
        {
            "knobs": _object(dict.fromkeys(RUNTIME_KEYS, _TRUTH), optional=RUNTIME_KEYS)
            | {"minProperties": 1},
            "persist": _TRUTH,
        },
        optional=("persist",),
    )
    days = [{"name": "window_days", "in": "query", "schema": _DAYS | {"maximum": 366}}]
    return {
        "/api/v1/state": {"get": _operation("state", "The service as it stands.", "State")},
        "/api/v1/savings": {
            "get": _operation(
                "savings", "What pruning saved.", "GetSavingsResponse", _parameters(*savings), bad=True
            )
        },
        "/api/v1/activity": {
            "get": _operation("activity", "What the calls of each hour did.", "Activity", days, bad=True)
        },
        "/api/v1/decisions": {
            "get": _operation(
                "decisions",
                "A page of decisions, newest first.",
                "ListDecisionsResponse",
                _parameters(*decisions),
                bad=True,
            )
        },
        "/api/v1/decisions/{decision_id}": {
            "get": _operation(
                "decision", "One decision.", "GetDecisionResponse", [decision_id], bad=True, absent=True
            )
        },
        "/api/v1/knobs": {
            "get": _operation("knobs", "How the runtime knobs stand; for the role admin.", "Knobs"),
            "put": _operation(
                "turn", "Turns runtime knobs in every process; for the role admin.", "Knobs", bad=True
            )
            | {"requestBody": {"required": True, "content": {"application/json": {"schema": change}}}},
        },
    }


def _operation(
    name: str,
    summary: str,
    schema: str,
    parameters: list[dict[str, Any]] | None = None,
    *,
    bad: bool = False,
    absent: bool = False,
) -> dict[str, Any]:
    refused = {"$ref": "#/components/responses/Refused"}
    codes = [*(["400"] if bad else []), "401", "403", *(["404"] if absent else []), "503"]
    if name == "turn":
        codes += ["413", "415"]
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters or [],
        "responses": {"200": _answer(schema, "The answer."), **dict.fromkeys(codes, refused)},
    }


def _answer(schema: str, words: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": words, "content": content}


def _parameters(*messages: Descriptor) -> list[dict[str, Any]]:
    return [
        {"name": field.name, "in": "query", "schema": _asked(field)}
        for message in messages
        for field in message.fields
        if field.message_type is None
    ]


def _asked(field: FieldDescriptor) -> dict[str, Any]:
    if field.name == "window_days":
        return _DAYS | {"maximum": 3650}
    if field.name == "page_size":
        return _TYPES[field.type] | {"minimum": 0}
    asked = _plain(field)
    if "enum" in asked:
        # What leaves the choice open is left out.
        asked["enum"] = asked["enum"][1:]
    return asked


def _schema(message: Descriptor, found: dict[str, Any]) -> None:
    """Adds a message's schema, and those of the messages in it."""
    if message.name in found:
        return
    properties: dict[str, Any] = {}
    optional = []
    for field in message.fields:
        if field.message_type is not None:
            _schema(field.message_type, found)
            shown: dict[str, Any] = {"$ref": f"#/components/schemas/{field.message_type.name}"}
            if not field.has_presence:
                shown = _list(shown)
        else:
            shown = _plain(field)
        if field.has_presence:
            optional.append(field.name)
        properties[field.name] = shown
    found[message.name] = _object(properties, optional=tuple(optional))


def _plain(field: FieldDescriptor) -> dict[str, Any]:
    if field.enum_type is not None:
        common = f"{re.sub('(?<=[a-z])(?=[A-Z])', '_', field.enum_type.name).upper()}_"
        return {
            "type": "string",
            "enum": [value.name.removeprefix(common) for value in field.enum_type.values],
        }
    return dict(_TYPES[field.type])


def _state() -> dict[str, Any]:
    seconds = {"type": ["number", "null"]}
    caller = _object({"name": _TEXT, "roles": _list(_TEXT)})
    stage = {"stage": _TEXT, "count": _INTEGER, "median_seconds": seconds, "p95_seconds": seconds}
    return _object(
        {
            "version": _TEXT,
            "now_unix_micros": _MICROS,
            "started_at_unix_micros": _MICROS,
            "is_ready": _TRUTH,
            "is_enabled": _TRUTH,
            "outcome_grace_seconds": _INTEGER,
            "database": _object({"kind": _TEXT, "problem": _TEXT}),
            "newest_decision_unix_micros": {"type": ["integer", "null"]},
            "decisions": _INTEGER,
            "stages": _list(_object(stage)),
            "journal_pending": _INTEGER,
            "journal_dropped": _INTEGER,
            "store_errors": _INTEGER,
            "embeddings_asked": _INTEGER,
            "embedder_faults": {"type": "object", "additionalProperties": _INTEGER},
            "extraction": {"oneOf": [{"type": "null"}, _extraction()]},
            "caller": {"oneOf": [{"type": "null"}, caller]},
        }
    )


def _extraction() -> dict[str, Any]:
    counts = {"type": "object", "additionalProperties": _INTEGER}
    usd = {"type": "string", "description": "USD, with six decimals."}
    number = {"type": ["number", "null"]}
    return _object(
        {
            "calls": _INTEGER,
            "truncated": _INTEGER,
            "call_faults": counts,
            "mean_call_seconds": number,
            "median_call_seconds": number,
            "tokens": counts,
            "considered": _INTEGER,
            "suppressed": counts,
            "reasons": counts,
            "top_reason": _TEXT,
            "notes": counts,
            "lookups": _INTEGER,
            "hit_share": number,
            "calls_avoided": _INTEGER,
            "fallbacks": counts,
            "repairs": counts,
            "filters": counts,
            "sent_fresh": _INTEGER,
            "sent_replayed": _INTEGER,
            "saved_tokens": _INTEGER,
            "cost_usd": usd,
            "value_usd": usd,
            "net_usd": usd,
            "beyond_excerpt_usd": usd,
            "net_beyond_excerpt_usd": usd,
        }
    ) | {"description": "What extraction did since the service started; null while `extract.enabled` is off."}


def _activity() -> dict[str, Any]:
    measured = ("prefix_match", "latency_median_ms", "latency_p95_ms")
    return _object(
        {
            "window_days": _INTEGER,
            **dict.fromkeys(("start", *COUNTED), _list(_INTEGER)),
            "tools": {"type": "object", "additionalProperties": _INTEGER},
            **dict.fromkeys(measured, _list({"type": ["number", "null"]})),
        }
    )


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=1) + "\n")
