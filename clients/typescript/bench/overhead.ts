/**
 * The client's own time beside a bare stub call, as one line of JSON:
 *
 *     node overhead.js ADDRESS ROUNDS FILE...
 *
 * Each file is an OpenAI body. In every round each way of calling takes its turn, so that a busy machine slows
 * all alike. Times are this process's CPU time for one call, in milliseconds: the median of the rounds.
 */

import { readFileSync } from "node:fs";

import { credentials, Metadata } from "@grpc/grpc-js";

import {
  Format,
  PruneRequest,
  type PruneResponse,
  PruneServiceClient,
  ReplyForm,
} from "../src/generated/pinch/v1/prune.js";
import { MESSAGE_LIMIT_BYTES, PinchClient } from "../src/index.js";

const TIMEOUT_MS = 600_000;
const [, , address = "", rounds = "1", ...files] = process.argv;

const limit = MESSAGE_LIMIT_BYTES;
const stub = new PruneServiceClient(address, credentials.createInsecure(), {
  "grpc.max_send_message_length": limit,
  "grpc.max_receive_message_length": limit,
});
const client = new PinchClient(address, { timeoutMs: TIMEOUT_MS, strict: true });

function bare(json: Uint8Array): Promise<PruneResponse> {
  const body = { format: Format.OPENAI_CHAT, json };
  const request = PruneRequest.fromPartial({ body, replyForm: ReplyForm.EDITS });
  return new Promise((resolve, reject) => {
    stub.prune(request, new Metadata(), { deadline: Date.now() + TIMEOUT_MS }, (error, reply) => {
      if (error === null) resolve(reply);
      else reject(error);
    });
  });
}

async function cpuMs(call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;
}

async function measured(file: string) {
  const bytes = readFileSync(file);
  const object = JSON.parse(bytes.toString()) as object;
  const ways = {
    stub: () => bare(bytes),
    bytes: () => client.pruneOpenAI(bytes),
    object: () => client.pruneOpenAI(object),
  };
  const times: Record<keyof typeof ways, number[]> = { stub: [], bytes: [], object: [] };
  for (let round = -1; round < Number(rounds); round += 1) {
    for (const way of ["stub", "bytes", "object"] as const) {
      const spent = await cpuMs(ways[way]);
      if (round >= 0) times[way].push(spent); // the first one warms up
    }
  }
  const { stats } = await client.pruneOpenAI(bytes);
  const medians = Object.entries(times).map(([way, spent]) => [`${way}_cpu_ms`, median(spent)]);
  return { file, bytes: bytes.length, tokens: stats?.originalTokens, ...Object.fromEntries(medians) };
}

const results = [];
for (const file of files) {
  results.push(await measured(file));
}
console.log(JSON.stringify({ client: "typescript", rounds: Number(rounds), results }));
stub.close();
await client.close();
