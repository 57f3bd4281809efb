import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ServerCredentials, status } from "@grpc/grpc-js";

import { type ClientOptions, Format, Outcome, PinchClient, VERSION } from "../src/index.js";
import { ReplyForm } from "../src/generated/pinch/v1/prune.js";
import { authority } from "./support/certificates.js";
import {
  accepts,
  asked,
  fails,
  hangs,
  replies,
  reported,
  ScriptedServer,
  sha256,
  type Step,
  trims,
  withinBudget,
} from "./support/scripted.js";
import { PATIENT_MS } from "./support/service.js";

const TEXT = '{"messages": [{"role":"tool","content":"old text"},{"role":"user","content":"é 1.0"}]}';
const BODY = Buffer.from(TEXT);
const TRIMMED = TEXT.replace("old text", "new");
const TRIMS = trims('"old text"', '"new"');

/** Runs something with a client of a scripted server. */
async function withServer<T>(
  steps: Step | readonly Step[],
  use: (client: PinchClient, server: ScriptedServer) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  await using server = await ScriptedServer.start(steps);
  await using client = new PinchClient(server.address, { timeoutMs: PATIENT_MS, ...options });
  return await use(client, server);
}

test("C9: a body comes back as the kind that it came in as: bytes, text or object", async () => {
  await withServer(TRIMS, async (client) => {
    const bytes = await client.pruneOpenAI(BODY);
    assert.equal(Buffer.from(bytes.body).toString(), TRIMMED);
    assert.equal((await client.pruneOpenAI(TEXT)).body, TRIMMED);
    const { body, pruned, reason, error } = await client.pruneOpenAI(JSON.parse(TEXT) as object);
    assert.deepEqual(body, JSON.parse(TRIMMED));
    assert.deepEqual([pruned, reason, error], [true, undefined, undefined]);
  });
});

test("C8: neither the caller's body nor its limits and context are changed", async () => {
  await withServer(TRIMS, async (client) => {
    const body = JSON.parse(TEXT) as object;
    const limits = { budgetTokens: 1, protectedTools: { globs: ["memory_*"] } };
    const context = { sessionId: "s", labels: { team: "x" }, rates: { prompt: "0.30" } };
    const before = structuredClone({ body, limits, context, bytes: new Uint8Array(BODY) });
    await client.pruneOpenAI(body, { limits, context });
    await client.pruneOpenAI(BODY, { limits, context });
    assert.deepEqual({ body, limits, context, bytes: new Uint8Array(BODY) }, before);
  });
});

test("C8: when nothing was changed, the result holds the caller's own object", async () => {
  await withServer(withinBudget, async (client) => {
    const object = { messages: [] };
    for (const body of [BODY, object]) {
      const result = await client.pruneBody(body);
      assert.equal(result.body, body);
      assert.deepEqual([result.pruned, result.reason, result.error], [false, "within_budget", undefined]);
      assert.deepEqual([result.decisionId, result.persisted], ["d", true]);
    }
  });
});

test("C6, C9: a request asks for edits, names its format, and leaves absent limits absent", async () => {
  await withServer(withinBudget, async (client, server) => {
    await client.pruneOpenAI(BODY, { limits: { keepLastTurns: 0 }, dryRun: true });
    await client.pruneAnthropic(TEXT);
    await client.pruneBody({ n: "é" }, { format: Format.GEMINI });
    await client.pruneBody({ half: "\ud800" });
    const requests = server.calls.map(asked);
    assert.deepEqual(
      requests.map(({ body }) => body?.format),
      [Format.OPENAI_CHAT, Format.ANTHROPIC_MESSAGES, Format.GEMINI, Format.UNSPECIFIED],
    );
    assert.deepEqual(
      requests.map(({ body }) => Buffer.from(body?.json ?? []).toString()),
      [TEXT, TEXT, '{"n":"é"}', '{"half":"\\ud800"}'],
    );
    assert.ok(requests.every(({ replyForm }) => replyForm === ReplyForm.EDITS));
    assert.deepEqual([requests[0]?.dryRun, requests[1]?.dryRun], [true, false]);
    const { keepLastTurns, budgetTokens } = requests[0]?.limits ?? {};
    assert.deepEqual([keepLastTurns, budgetTokens], [0, undefined]);
    assert.equal(requests[1]?.limits, undefined);
  });
});

test("C9: the account and the turn frame of a reply are in the result", async () => {
  const turnFrame = { message: "now", previousContext: "", framed: "now" };
  const reply = { turnFrame, measured: { tokens: 7 }, stats: { tokensSaved: 3 }, firstChangedMessage: 0 };
  const told = { economics: { expectedSavingUsd: "1.5" }, extractions: [{ gate: "economic_gate" }] };
  await withServer(replies({ ...reply, ...told }), async (client) => {
    const result = await client.pruneOpenAI(BODY);
    assert.deepEqual(
      result.extractions.map(({ gate }) => gate),
      ["economic_gate"],
    );
    assert.deepEqual(result.turnFrame, turnFrame);
    assert.deepEqual([result.measured?.tokens, result.stats?.tokensSaved], [7, 3]);
    assert.deepEqual([result.firstChangedMessage, result.prefix], [0, undefined]);
    assert.equal(result.economics?.expectedSavingUsd, "1.5");
    assert.equal(result.reason, "unchanged");
  });
});

test("C9: typed messages go out as they are, and their edits come back in a new list", async () => {
  const edit = { messageIndex: 1, partIndex: 0, replacedSha256: sha256("old") };
  const step = replies({ edits: [{ ...edit, replacementPart: { text: "new" } }] });
  await withServer(step, async (client, server) => {
    const messages = [
      { role: "user", content: [{ text: "q" }] },
      { role: "tool", toolCallId: "1", content: [{ text: "old" }] },
    ];
    const { body } = await client.pruneChat(messages);
    assert.deepEqual([body[1]?.role, body[1]?.toolCallId], ["tool", "1"]);
    assert.equal(body[1]?.content?.[0]?.text, "new");
    assert.equal(body[0], messages[0]);
    assert.equal(messages[1]?.content[0]?.text, "old");
    assert.equal(asked(server.calls[0]).chat?.messages[1]?.content[0]?.text, "old");
  });
});

test("C9: an outcome is reported with model, usage and cost", async () => {
  await withServer(accepts, async (client, server) => {
    const usage = { promptTokens: 10, cachedTokens: 0 };
    const options = { selectedModel: "m", usage, costUsd: "0.0123" };
    assert.equal(await client.reportOutcome("d", Outcome.DISPATCHED, options), true);
    const { usage: said, ...rest } = reported(server.calls[0]);
    assert.deepEqual(rest, {
      decisionId: "d",
      outcome: Outcome.DISPATCHED,
      selectedModel: "m",
      costUsd: "0.0123",
    });
    assert.deepEqual([said?.promptTokens, said?.cachedTokens, said?.completionTokens], [10, 0, undefined]);
  });
});

test("C9: unknown options, limits, formats and outcomes are the caller's error", async () => {
  await withServer(withinBudget, async (client, server) => {
    const wrong = [{ timeout: 1 }, { limits: { budget_tokens: 1 } }, { context: { session: "s" } }];
    for (const options of wrong as object[]) {
      await assert.rejects(client.pruneOpenAI(BODY, options), TypeError);
    }
    await assert.rejects(client.pruneBody(BODY, { format: "openai" as Format }), TypeError);
    await assert.rejects(client.reportOutcome("d", Outcome.PENDING as typeof Outcome.FAILED), TypeError);
    assert.equal(server.calls.length, 0);
  });
});

test("C2: a call has two seconds unless it is told otherwise", async () => {
  await using server = await ScriptedServer.start(withinBudget);
  await using client = new PinchClient(server.address);
  await client.pruneOpenAI(BODY);
  await client.pruneOpenAI(BODY, { timeoutMs: 90_000 });
  const [own, told] = server.calls.map(({ left }) => left);
  assert.ok(own !== undefined && own <= 2_000, `${own}`);
  assert.ok(told !== undefined && told > 2_000 && told <= 90_000, `${told}`);
});

test("C2: a time of zero or less fails open and sends nothing; one without an end is the caller's error", async () => {
  await withServer(withinBudget, async (client, server) => {
    for (const timeoutMs of [0, -1]) {
      assert.equal((await client.pruneOpenAI(BODY, { timeoutMs })).reason, "deadline_exceeded");
    }
    for (const timeoutMs of [Infinity, NaN]) {
      await assert.rejects(client.pruneOpenAI(BODY, { timeoutMs }), RangeError);
    }
    assert.equal(server.calls.length, 0);
  });
});

test("C2: the second attempt has only the time that the first one left", async () => {
  await withServer([fails(status.UNAVAILABLE), withinBudget], async (client, server) => {
    await client.pruneOpenAI(BODY);
    const [first, second] = server.calls.map(({ left }) => left);
    assert.ok(first !== undefined && second !== undefined && second <= first);
  });
});

test("C2: an aborted signal rejects with its reason, before the call and during it", async () => {
  await withServer(hangs, async (client, server) => {
    const reason = new Error("the caller hung up");
    await assert.rejects(client.pruneOpenAI(BODY, { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(server.calls.length, 0);
    const abort = new AbortController();
    server.arrived = () => {
      abort.abort(reason);
    };
    await assert.rejects(client.pruneOpenAI(BODY, { signal: abort.signal }), reason);
    await assert.rejects(
      client.reportOutcome("d", Outcome.FAILED, { signal: AbortSignal.abort(reason) }),
      reason,
    );
  });
});

test("C3: after one UNAVAILABLE the second attempt's reply is used, and there is no third", async () => {
  await withServer([fails(status.UNAVAILABLE), TRIMS], async (client, server) => {
    assert.equal((await client.pruneOpenAI(BODY)).pruned, true);
    assert.equal(server.calls.length, 2);
  });
  await withServer(fails(status.UNAVAILABLE, "draining"), async (client, server) => {
    const { reason, error } = await client.pruneOpenAI(BODY);
    assert.deepEqual([reason, error?.message], ["unavailable", "UNAVAILABLE: draining"]);
    assert.equal(server.calls.length, 2);
    assert.equal(await client.reportOutcome("d", Outcome.FAILED), false);
    assert.equal(server.calls.length, 4);
  });
});

test("C3: no other status is retried", async () => {
  const codes = Object.values(status).filter((code): code is status => typeof code === "number");
  for (const code of codes.filter((each) => each !== status.OK && each !== status.UNAVAILABLE)) {
    await withServer(fails(code), async (client, server) => {
      await client.pruneOpenAI(BODY);
      assert.equal(server.calls.length, 1);
    });
  }
});

test("C5: calls go to several addresses in turn, and around a dead one", async () => {
  await using first = await ScriptedServer.start(withinBudget);
  await using second = await ScriptedServer.start(withinBudget);
  const gone = await ScriptedServer.start(withinBudget);
  const addresses = [first.address, second.address, gone.address];
  await gone[Symbol.asyncDispose]();
  await using client = new PinchClient(addresses, { timeoutMs: PATIENT_MS });
  while (first.calls.length === 0 || second.calls.length === 0) {
    assert.equal((await client.pruneOpenAI(BODY)).reason, "within_budget");
  }
});

test("C5: a server that comes back at its address is found again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinch-socket-"));
  try {
    const address = `unix:${folder}/pinch.sock`;
    const first = await ScriptedServer.start(withinBudget, address);
    await using client = new PinchClient(address, { timeoutMs: PATIENT_MS });
    assert.equal((await client.pruneOpenAI(BODY)).reason, "within_budget");
    await first[Symbol.asyncDispose]();
    assert.equal((await client.pruneOpenAI(BODY)).reason, "unavailable");
    await using second = await ScriptedServer.start(withinBudget, address);
    while ((await client.pruneOpenAI(BODY)).reason !== "within_budget") {
      assert.equal(second.calls.length, 0);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("C5: closing fails the calls in flight and every later one open, and twice is harmless", async () => {
  await using server = await ScriptedServer.start(hangs);
  const client = new PinchClient(server.address, { timeoutMs: PATIENT_MS });
  server.arrived = () => void client.close();
  for (const result of [await client.pruneOpenAI(BODY), await client.pruneOpenAI(BODY)]) {
    assert.equal(result.body, BODY);
    assert.deepEqual(
      [result.reason, result.error?.message],
      ["cancelled", "CANCELLED: the client is closed"],
    );
  }
  await client.close();
  assert.equal(server.calls.length, 1);
});

test("C7: TLS with given roots and a name, mutual TLS, and a token", async () => {
  const { root, server, client } = authority();
  const pair = { private_key: server.key, cert_chain: server.certificate };
  const serverName = "pinch.test";
  const ours = { privateKey: client.key, certificateChain: client.certificate };
  for (const mutual of [false, true]) {
    const credentials = ServerCredentials.createSsl(root, [pair], mutual);
    await using secure = await ScriptedServer.start(withinBudget, "127.0.0.1:0", credentials);
    const tls = { rootCertificates: root.toString(), serverName, ...(mutual ? ours : {}) };
    await using known = new PinchClient(secure.address, { tls, token: "s3cret", timeoutMs: PATIENT_MS });
    assert.equal((await known.pruneOpenAI(BODY)).reason, "within_budget");
    assert.deepEqual(secure.calls[0]?.metadata.get("authorization"), ["Bearer s3cret"]);
  }
});

test("C7, C1: a certificate of another authority or name, and a missing one of ours, fail open", async () => {
  const [trusted, other] = [authority(), authority()];
  const pair = { private_key: trusted.server.key, cert_chain: trusted.server.certificate };
  const serverName = "pinch.test";
  for (const [mutual, tls] of [
    [false, { rootCertificates: other.root, serverName }],
    [false, { rootCertificates: trusted.root, serverName: "elsewhere.test" }],
    [false, {}],
    [true, { rootCertificates: trusted.root, serverName }],
  ] as const) {
    const credentials = ServerCredentials.createSsl(trusted.root, [pair], mutual);
    await using secure = await ScriptedServer.start(withinBudget, "127.0.0.1:0", credentials);
    await using client = new PinchClient(secure.address, { tls, timeoutMs: PATIENT_MS });
    const result = await client.pruneOpenAI(BODY);
    assert.equal(result.body, BODY);
    assert.equal(result.reason, "unavailable");
    assert.equal(secure.calls.length, 0);
  }
});

test("C7: a unix socket", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pinch-socket-"));
  try {
    await using server = await ScriptedServer.start(TRIMS, `unix:${folder}/pinch.sock`);
    await using client = new PinchClient(server.address, { timeoutMs: PATIENT_MS });
    assert.equal((await client.pruneOpenAI(TEXT)).body, TRIMMED);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("C10: every call tells the client's version, and the caller's own metadata", async () => {
  await withServer(
    accepts,
    async (client, server) => {
      await client.pruneOpenAI(BODY);
      await client.reportOutcome("d", Outcome.FAILED);
      for (const { metadata } of server.calls) {
        assert.deepEqual(metadata.get("pinch-client"), [`typescript/${VERSION}`]);
        assert.match(String(metadata.get("user-agent")[0]), new RegExp(`^pinch-typescript/${VERSION} `));
        assert.deepEqual(metadata.get("route"), ["a"]);
      }
      assert.equal(server.calls.length, 2);
    },
    { metadata: { route: "a" } },
  );
});
