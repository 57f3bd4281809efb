import assert from "node:assert/strict";
import { test } from "node:test";

import {
  PruneRequest,
  PruneResponse,
  PruneServiceService,
  ReplyForm,
} from "../src/generated/pinch/v1/prune.js";
import { Channel } from "../src/channel.js";
import { connection } from "../src/connection.js";
import type { PinchClient, Pruned } from "../src/index.js";
import { PATIENT_MS, startsService } from "./support/service.js";
import { cases, type Vector, vectors, violations } from "./support/vectors.js";

const service = startsService();
const VECTORS = vectors();
const CASES = cases();

/** Prunes a vector's body, and holds what every result of one must hold. */
async function prune(client: PinchClient, vector: Vector): Promise<Pruned<Uint8Array>> {
  const before = Buffer.from(vector.body);
  const result = await client.pruneBody(vector.body, vector.options);
  assert.equal(result.error, undefined);
  assert.ok(before.equals(vector.body), "the input was changed");
  assert.equal(result.body === vector.body, !result.pruned);
  return result;
}

test("the vectors are there", () => {
  assert.ok(VECTORS.length > 0);
});

for (const vector of VECTORS) {
  test(`C6, C8, C9: vector ${vector.name}`, async () => {
    assert.deepEqual(violations(vector, await prune(service.client(), vector)), []);
  });
}

const skip = CASES.length === 0 && "the folder shared/cases does not lie beside the checkout";
test("C6, C8, C9: reported cases", { skip }, async (context) => {
  for (const reported of CASES) {
    await context.test(`case ${reported.name}`, async () => {
      assert.deepEqual(violations(reported, await prune(service.client(), reported)), []);
    });
  }
});

test("C6: the body that the client makes of the edits is the server's own, byte for byte", async () => {
  const channel = new Channel(connection(service.address, {}));
  for (const vector of [...VECTORS, ...CASES]) {
    const { format, limits } = vector.options;
    const asked = { body: { format, json: vector.body }, limits, replyForm: ReplyForm.FULL };
    const reply = await channel.call({
      path: PruneServiceService.prune.path,
      request: PruneRequest.encode(PruneRequest.fromPartial(asked as object)).finish(),
      deadline: performance.now() + PATIENT_MS,
      signal: undefined,
    });
    const { body } = await prune(service.client(), vector);
    assert.ok(Buffer.from(PruneResponse.decode(reply).body?.json ?? []).equals(body), vector.name);
  }
  await channel.close();
});

test("C5, C8: 1,000 calls at once through one client each get their own conversation back", async () => {
  const client = service.client();
  const limits = { budgetTokens: 1, keepLastTurns: 1, keepLastRounds: 0, minTokensSaved: 0, minGain: 0 };
  const calls = Array.from({ length: 1_000 }, async (_, number) => {
    const body = JSON.stringify({
      messages: [
        { role: "user", content: `question ${number}` },
        {
          role: "assistant",
          tool_calls: [{ id: "1", type: "function", function: { name: "read", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "1", content: `line of ${number}\n`.repeat(100) },
        { role: "assistant", content: "done" },
        { role: "user", content: `next ${number}` },
      ],
    });
    const result = await client.pruneOpenAI(body, { limits });
    assert.equal(result.reason, undefined, result.error?.message);
    const { messages } = JSON.parse(result.body) as { messages: { content: string }[] };
    const own = (JSON.parse(body) as { messages: { content: string }[] }).messages;
    assert.deepEqual([messages[0], messages[1], messages[4]], [own[0], own[1], own[4]]);
    assert.ok((messages[2]?.content.length ?? Infinity) < (own[2]?.content.length ?? 0));
    return result.decisionId;
  });
  assert.equal(new Set(await Promise.all(calls)).size, 1_000);
});
