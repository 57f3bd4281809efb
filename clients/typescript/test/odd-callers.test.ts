/** What a caller's program does to a client: odd bodies, times, addresses and names. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";

import { PinchClient, type PruneOptions, RequestError, type Stability } from "../src/index.js";
import { asked, ScriptedServer, trims, withinBudget } from "./support/scripted.js";
import { PATIENT_MS } from "./support/service.js";

const TEXT = '{"messages":[{"role":"tool","content":"old text"}]}';
const TRIMMED = TEXT.replace("old text", "new");
const TRIMS = trims('"old text"', '"new"');

test("C9: bytes of another realm, as a test runner's, are bytes", async () => {
  await using server = await ScriptedServer.start(TRIMS);
  await using client = new PinchClient(server.address, { timeoutMs: PATIENT_MS });
  const copy = runInNewContext("(bytes) => new Uint8Array(bytes)") as (bytes: Uint8Array) => Uint8Array;
  const result = await client.pruneOpenAI(copy(Buffer.from(TEXT)));
  assert.equal(Buffer.from(result.body).toString(), TRIMMED);
  assert.equal(Buffer.from(asked(server.calls[0]).body?.json ?? "").toString(), TEXT);
});

for (const body of [
  new ArrayBuffer(2),
  new DataView(new ArrayBuffer(2)),
  new Uint16Array(2),
  [],
  new Date(0),
]) {
  test(`C9: what is no JSON object is not sent as one: ${inspect(body)}`, async () => {
    await using server = await ScriptedServer.start(withinBudget);
    await using client = new PinchClient(server.address);
    const result = await client.pruneOpenAI(body);
    assert.equal(result.body, body);
    assert.ok(result.error instanceof RequestError);
    assert.equal(server.calls.length, 0);
  });
}

for (const timeoutMs of [2 ** 31, 1e12, 1e300]) {
  test(`C2: a time that gRPC cannot hold is a long one, and ends neither call nor process: ${timeoutMs}`, async () => {
    await using server = await ScriptedServer.start(TRIMS);
    await using client = new PinchClient(server.address);
    assert.equal((await client.pruneOpenAI(TEXT, { timeoutMs })).body, TRIMMED);
  });
}

test("C9: a name that a closed set of limits or context does not have is the caller's error", async () => {
  await using server = await ScriptedServer.start(withinBudget);
  await using client = new PinchClient(server.address);
  const stability = "REPLAY_ALL" as Stability;
  const wrong = [
    { limits: { stability } },
    { context: { route: "x" } },
    { context: { cache: { state: "x" } } },
  ];
  for (const options of wrong as PruneOptions[]) {
    await assert.rejects(client.pruneOpenAI(TEXT, options), TypeError);
  }
  assert.equal(server.calls.length, 0);
});

test("C5, C7: an IPv6 address, and a unix socket whose path has blanks", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinch socket "));
  try {
    for (const address of ["[::1]:0", `unix:${folder}/a socket`]) {
      await using server = await ScriptedServer.start(TRIMS, address);
      await using client = new PinchClient(server.address, { timeoutMs: PATIENT_MS });
      assert.equal((await client.pruneOpenAI(TEXT)).body, TRIMMED);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
