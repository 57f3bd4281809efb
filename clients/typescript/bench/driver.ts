/**
 * What the client adds to a bare stub call: the driver of `python -m bench.clients`, which says what it prints.
 *
 *     node driver.js ADDRESS BODY_FILE CALLS
 */

import { readFileSync } from "node:fs";

import { credentials, Metadata } from "@grpc/grpc-js";

import { PruneRequest, PruneServiceClient, ReplyForm } from "../src/generated/pinch/v1/prune.js";
import { MESSAGE_LIMIT_BYTES, PinchClient } from "../src/index.js";

const TIMEOUT_MS = 600_000;
const [, , address = "", file = "", calls = "1"] = process.argv;

const stub = new PruneServiceClient(address, credentials.createInsecure(), {
  "grpc.max_receive_message_length": MESSAGE_LIMIT_BYTES,
});
const client = new PinchClient(address, { timeoutMs: TIMEOUT_MS, strict: true });
const body = readFileSync(file);
const object = JSON.parse(body.toString()) as object;

function bare(): Promise<boolean> {
  const request = PruneRequest.fromPartial({ body: { json: body }, replyForm: ReplyForm.EDITS });
  return new Promise((resolve, reject) => {
    stub.prune(request, new Metadata(), { deadline: Date.now() + TIMEOUT_MS }, (error, reply) => {
      if (error === null) resolve(reply.edits.length > 0);
      else reject(error);
    });
  });
}

/** Times of both calls, in turns; the first pair only opens the channels. */
async function paired(byClient: () => Promise<boolean>) {
  if (!((await bare()) && (await byClient()))) {
    throw new Error("the body was not shortened");
  }
  const times = {
    stub_cpu_ms: [] as number[],
    stub_wall_ms: [] as number[],
    client_cpu_ms: [] as number[],
    client_wall_ms: [] as number[],
  };
  for (let pair = 0; pair < Number(calls); pair += 1) {
    for (const [name, call] of [
      ["stub", bare],
      ["client", byClient],
    ] as const) {
      const [wall, cpu] = [performance.now(), process.cpuUsage()];
      await call();
      const { user, system } = process.cpuUsage(cpu);
      times[`${name}_cpu_ms`].push((user + system) / 1_000);
      times[`${name}_wall_ms`].push(performance.now() - wall);
    }
  }
  return times;
}

const forms: Record<string, Awaited<ReturnType<typeof paired>>> = {
  bytes: await paired(async () => (await client.pruneBody(body)).pruned),
};
// Only what is sent as the same bytes can be answered by a server that repeats itself.
if (JSON.stringify(object) === body.toString()) {
  forms["object"] = await paired(async () => (await client.pruneBody(object)).pruned);
}
console.log(JSON.stringify({ language: "TypeScript", forms }));
stub.close();
await client.close();
