import assert from "node:assert/strict";
import { test } from "node:test";

import { applyByteEdits, applyPartEdits } from "../src/edits.js";
import { type ChatMessageInit, ReplyError } from "../src/index.js";
import { ContentPart, Edit } from "../src/generated/pinch/v1/prune.js";
import { byteEdit, sha256 } from "./support/scripted.js";

const BODY = Buffer.from('{"messages": [{"content":"old text"},{"content":"another é"}]}');
const OLD = byteEdit(BODY, '"old text"', '"new"');
const ANOTHER = byteEdit(BODY, '"another é"', '["more", 1.0]');

const SPOILED: Record<string, readonly Edit[]> = {
  "wrong hash": [{ ...OLD, replacedSha256: new Uint8Array(32) }],
  "short hash": [{ ...OLD, replacedSha256: OLD.replacedSha256.subarray(0, 31) }],
  "no hash": [{ ...OLD, replacedSha256: new Uint8Array() }],
  "negative offset": [{ ...OLD, offset: -1 }],
  "negative length": [{ ...OLD, length: -1 }],
  "replaces nothing": [{ ...OLD, length: 0, replacedSha256: sha256("") }],
  "one byte past the end": [{ ...OLD, offset: BODY.length, length: 1 }],
  "far past the end": [{ ...OLD, offset: Number.MAX_SAFE_INTEGER, length: Number.MAX_SAFE_INTEGER }],
  descending: [ANOTHER, OLD],
  "twice the same": [OLD, OLD],
  overlapping: [OLD, byteEdit(BODY, 'text"},', '"x"')],
  "second one wrong": [OLD, { ...ANOTHER, replacedSha256: new Uint8Array(32) }],
  "no JSON": [{ ...OLD, replacement: Buffer.from('"unclosed') }],
  "no UTF-8": [{ ...OLD, replacement: Buffer.from([0x22, 0xff, 0x22]) }],
  "byte order mark": [{ ...OLD, replacement: Buffer.from('\ufeff"new"') }],
  "no replacement": [{ ...OLD, replacement: new Uint8Array() }],
  "two values": [{ ...OLD, replacement: Buffer.from("1,2") }],
  NaN: [{ ...OLD, replacement: Buffer.from("NaN") }],
};

for (const [kind, edits] of Object.entries(SPOILED)) {
  test(`C6: byte edits are refused whole: ${kind}`, () => {
    assert.throws(() => applyByteEdits(BODY, edits), ReplyError);
  });
}

test("C6: byte edits replace their ranges and no other byte", () => {
  const before = Buffer.from(BODY);
  const edited = Buffer.from(applyByteEdits(BODY, [OLD, ANOTHER])).toString();
  assert.equal(edited, '{"messages": [{"content":"new"},{"content":["more", 1.0]}]}');
  assert.deepEqual(BODY, before);
});

test("C6: neighbouring byte edits do not overlap", () => {
  const body = Buffer.from('"a""b"');
  const edited = applyByteEdits(body, [byteEdit(body, '"a"', "1"), byteEdit(body, '"b"', " 2 ")]);
  assert.equal(Buffer.from(edited).toString(), "1 2 ");
});

const MESSAGES: readonly ChatMessageInit[] = [
  { role: "user", content: [{ text: "question" }] },
  { role: "tool", content: [{ text: "old é" }, { image: { data: Uint8Array.of(1, 2) } }] },
  { role: "tool", content: [{ image: { url: "http://x" } }, { opaqueJson: new TextEncoder().encode("{}") }] },
  { role: "assistant" },
];

function partEdit(messageIndex: number, partIndex: number, replaced: string | Uint8Array): Edit {
  return Edit.fromPartial({
    messageIndex,
    partIndex,
    replacedSha256: sha256(replaced),
    replacementPart: { text: "new" },
  });
}

const FIRST = partEdit(1, 0, "old é");

function but(change: Partial<Edit>): Edit {
  return { ...FIRST, ...change };
}

const SPOILED_PARTS: Record<string, readonly Edit[]> = {
  "no part": [but({ partIndex: undefined })],
  "no replacement": [but({ replacementPart: undefined })],
  "empty replacement": [but({ replacementPart: ContentPart.create() })],
  "negative message": [but({ messageIndex: -1 })],
  "negative part": [but({ partIndex: -1 })],
  "message far away": [but({ messageIndex: 99 })],
  "part far away": [but({ partIndex: 99 })],
  "message without content": [but({ messageIndex: 3 })],
  "twice the same": [FIRST, FIRST],
  descending: [partEdit(2, 0, "http://x"), FIRST],
  "parts descending": [partEdit(1, 1, Buffer.from([1, 2])), FIRST],
  "wrong hash": [partEdit(1, 0, "other")],
};

for (const [kind, edits] of Object.entries(SPOILED_PARTS)) {
  test(`C6: part edits are refused whole: ${kind}`, () => {
    assert.throws(() => applyPartEdits(MESSAGES, edits), ReplyError);
  });
}

test("C6, C8: part edits know every kind of part, and share the untouched messages", () => {
  const before = structuredClone(MESSAGES);
  const edited = applyPartEdits(MESSAGES, [
    FIRST,
    partEdit(1, 1, Buffer.from([1, 2])),
    partEdit(2, 0, "http://x"),
    partEdit(2, 1, "{}"),
  ]);
  assert.deepEqual(
    edited.map(({ content }) => content?.map(({ text }) => text)),
    [["question"], ["new", "new"], ["new", "new"], undefined],
  );
  assert.equal(edited[1]?.role, "tool");
  assert.equal(edited[0], MESSAGES[0]);
  assert.equal(edited[3], MESSAGES[3]);
  assert.deepEqual(MESSAGES, before);
});
