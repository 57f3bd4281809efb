import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { test } from "node:test";

import { status } from "@grpc/grpc-js";

import {
  CallError,
  type ChatMessageInit,
  Outcome,
  PinchClient,
  type Pruned,
  type PruneOptions,
  ReplyError,
  RequestError,
} from "../src/index.js";
import { startsService } from "./support/service.js";

const service = startsService();

const LIMITS = { budgetTokens: 1, keepLastTurns: 1, keepLastRounds: 0, minTokensSaved: 0, minGain: 0 };
const WORDS = "a line of a tool's result\n".repeat(400);
const SHORT_MS = 200;

/** A conversation with two old results, so that two edits are made. */
const MESSAGES: readonly ChatMessageInit[] = [
  { role: "user", content: [{ text: "start" }] },
  ...["1", "2"].flatMap((id) => [
    { role: "assistant", toolCalls: [{ id, name: "read", arguments: "{}" }] },
    { role: "tool", toolCallId: id, content: [{ text: WORDS + id }] },
  ]),
  { role: "assistant", content: [{ text: "done" }] },
  { role: "user", content: [{ text: "next" }] },
];

const OBJECT = {
  model: "m",
  messages: MESSAGES.map(({ role, content, toolCallId, toolCalls }) => ({
    role,
    content: content?.[0]?.text ?? null,
    tool_call_id: toolCallId,
    tool_calls: toolCalls?.map(({ id, ...called }) => ({ id, type: "function", function: called })),
  })),
};
const BODY = Buffer.from(JSON.stringify(OBJECT));

/** The same conversation in both forms. */
const FORMS: Record<string, (client: PinchClient, options: PruneOptions) => Promise<Pruned<unknown>>> = {
  body: (client, options) => client.pruneOpenAI(BODY, options),
  text: (client, options) => client.pruneOpenAI(BODY.toString(), options),
  typed: (client, options) => client.pruneChat(MESSAGES, options),
};
const OWN: Record<string, unknown> = { body: BODY, text: BODY.toString(), typed: MESSAGES };

/** Holds that a result is the caller's own conversation, with the reason. */
function isOriginal(result: Pruned<unknown>, own: unknown, reason: string): void {
  assert.equal(result.body, own);
  assert.equal(result.pruned, false);
  assert.equal(result.reason, reason);
  assert.equal(result.error?.reason, reason);
  assert.ok(result.error.message.length <= 300 && !result.error.message.includes("\n"));
  assert.deepEqual([result.stats, result.measured, result.turnFrame], [undefined, undefined, undefined]);
  assert.deepEqual([result.decisionId, result.persisted, result.edits], ["", false, []]);
}

/** What a client says that asks the server for faults. */
function faulty(faults: Record<string, string>, options: { strict?: boolean; timeoutMs?: number } = {}) {
  const named = Object.entries(faults).map(([name, value]) => [`pinch-test-${name}`, value]);
  return service.client({ metadata: Object.fromEntries(named) as Record<string, string>, ...options });
}

for (const form of ["body", "text", "typed"]) {
  test(`C9: without a fault the conversation is trimmed: ${form}`, async () => {
    const { pruned, edits, reason, error } =
      (await FORMS[form]?.(service.client(), { limits: LIMITS })) ?? {};
    assert.deepEqual([pruned, edits?.length, reason, error], [true, 2, undefined, undefined]);
  });

  const kinds = ["wrong-range", "negative", "overflow", "nothing", "overlapping", "descending"];
  for (const kind of [...kinds, "wrong-hash", "short-hash", "no-hash", "no-replacement"]) {
    test(`C1, C6: spoiled edits give back the original, strict an error: ${kind}, ${form}`, async () => {
      const call = FORMS[form];
      assert.ok(call);
      isOriginal(await call(faulty({ edits: kind }), { limits: LIMITS }), OWN[form], "invalid_reply");
      await assert.rejects(call(faulty({ edits: kind }, { strict: true }), { limits: LIMITS }), ReplyError);
    });
  }

  for (const kind of ["truncated", "noise"]) {
    test(`C1: a reply that cannot be decoded gives back the original: ${kind}, ${form}`, async () => {
      const result = await FORMS[form]?.(faulty({ reply: kind }), { limits: LIMITS });
      assert.ok(result);
      isOriginal(result, OWN[form], "invalid_reply");
    });
  }

  test(`C1: a dry run that is answered with edits is refused: ${form}`, async () => {
    const options = { limits: LIMITS, dryRun: true };
    const dry = await FORMS[form]?.(service.client(), options);
    assert.deepEqual([dry?.body, dry?.reason, dry?.stats?.pruned], [OWN[form], "dry_run", true]);
    const result = await FORMS[form]?.(faulty({ edits: "made-up" }), options);
    assert.ok(result);
    isOriginal(result, OWN[form], "invalid_reply");
  });
}

for (const kind of ["not-json", "not-utf8"]) {
  test(`C1, C6: a replacement that is no JSON value gives back the original: ${kind}`, async () => {
    isOriginal(await faulty({ edits: kind }).pruneOpenAI(BODY, { limits: LIMITS }), BODY, "invalid_reply");
    isOriginal(
      await faulty({ edits: kind }).pruneOpenAI(OBJECT, { limits: LIMITS }),
      OBJECT,
      "invalid_reply",
    );
  });
}

const CODES = Object.entries(status).filter(
  (entry): entry is [string, status] => typeof entry[1] === "number" && entry[0] !== "OK",
);
for (const [name, code] of CODES) {
  test(`C1: ${name} gives back the original with its slug, strict an error with its code`, async () => {
    isOriginal(await faulty({ status: name }).pruneOpenAI(BODY), BODY, name.toLowerCase());
    const strict = faulty({ status: name }, { strict: true });
    await assert.rejects(
      strict.pruneOpenAI(BODY),
      (error) => error instanceof CallError && error.code === code,
    );
    await assert.rejects(strict.reportOutcome("d", Outcome.FAILED), CallError);
    assert.equal(await faulty({ status: name }).reportOutcome("d", Outcome.FAILED), false);
  });
}

test("C3: UNAVAILABLE once is pruned, twice fails open; INTERNAL once fails open", async () => {
  const asks = { status: "UNAVAILABLE", times: "1", key: "once" };
  assert.equal((await faulty(asks).pruneOpenAI(BODY, { limits: LIMITS })).pruned, true);
  isOriginal(await faulty({ ...asks, times: "2", key: "twice" }).pruneOpenAI(BODY), BODY, "unavailable");
  isOriginal(await faulty({ ...asks, status: "INTERNAL", key: "other" }).pruneOpenAI(BODY), BODY, "internal");
});

test("C1: a server that is down gives back the original", async () => {
  const listening = createServer((peer) => peer.resume()).listen(0, "127.0.0.1");
  await once(listening, "listening");
  // The near end of a connection has a port that is bound and not listened on.
  const taken: Socket = connect((listening.address() as { port: number }).port, "127.0.0.1");
  await once(taken, "connect");
  await using client = new PinchClient(`127.0.0.1:${taken.localPort ?? 0}`);
  isOriginal(await client.pruneOpenAI(BODY), BODY, "unavailable");
  taken.destroy();
  listening.close();
});

test("C1, C2: a server that hangs costs the deadline and gives back the original", async () => {
  const result = await faulty({ "delay-ms": "3600000" }, { timeoutMs: SHORT_MS }).pruneOpenAI(BODY);
  isOriginal(result, BODY, "deadline_exceeded");
});

test("C1: a peer that accepts and says nothing gives back the original", async () => {
  const peers: Socket[] = [];
  const silent = createServer((peer) => void peers.push(peer)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const client = new PinchClient(`127.0.0.1:${port}`, { timeoutMs: SHORT_MS });
  isOriginal(await client.pruneOpenAI(BODY), BODY, "deadline_exceeded");
  await client.close();
  for (const peer of peers) {
    peer.destroy();
  }
  silent.close();
});

test("C1: a body that is no JSON is INVALID_ARGUMENT and comes back", async () => {
  const body = "no JSON";
  isOriginal(await service.client().pruneOpenAI(body), body, "invalid_argument");
});

test("C4: a body over 64 MiB, and a reply over 64 MiB, give back the original", async () => {
  const large = Buffer.alloc(64 * 1024 * 1024 + 1, " ");
  isOriginal(await service.client().pruneOpenAI(large), large, "resource_exhausted");
  isOriginal(await faulty({ reply: "oversized" }).pruneOpenAI(BODY), BODY, "resource_exhausted");
});

test("C4: a body over gRPC's own bound of 4 MiB is trimmed", async () => {
  const messages = OBJECT.messages.map((message) =>
    message.role === "user" ? { ...message, content: "word ".repeat(1_000_000) } : message,
  );
  const body = JSON.stringify({ ...OBJECT, messages });
  const result = await service.client().pruneOpenAI(body, { limits: LIMITS });
  assert.ok(result.pruned && result.body.length < body.length, result.error?.message);
});

const CIRCULAR: Record<string, unknown> = {};
CIRCULAR["itself"] = CIRCULAR;
const UNSENDABLE: Record<string, object | string> = {
  NaN: { n: NaN },
  infinity: { n: [Infinity] },
  BigInt: { n: 1n },
  "a cycle": CIRCULAR,
  "a function": () => 1,
  "half a surrogate pair in a text": '"\ud800"',
};
for (const [what, body] of Object.entries(UNSENDABLE)) {
  test(`C9: a body that cannot be sent comes back, strict an error: ${what}`, async () => {
    isOriginal(await service.client().pruneOpenAI(body), body, "invalid_request");
    await assert.rejects(service.client({ strict: true }).pruneOpenAI(body), RequestError);
  });
}

test("C1: limits that cannot be encoded give back the original", async () => {
  const result = await service.client().pruneOpenAI(BODY, { limits: { budgetTokens: 1.5 } });
  isOriginal(result, BODY, "invalid_request");
});

test("C9: the empty decision id of a failure is reported without a question: nothing is sent", async () => {
  assert.equal(await service.client().reportOutcome("", Outcome.FAILED), false);
  await assert.rejects(service.client({ strict: true }).reportOutcome("", Outcome.FAILED), RequestError);
});

test("C9: what became of a decision is held safely", async () => {
  const { decisionId } = await service.client().pruneOpenAI(BODY, { limits: LIMITS });
  assert.equal(await service.client().reportOutcome(decisionId, Outcome.DISPATCHED), true);
});
