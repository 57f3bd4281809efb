import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createInterface } from "node:readline";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { MODELS, router } from "../examples/router.js";
import { Outcome, PinchClient, Route } from "../src/index.js";
import { accepts, asked, replies, reported, ScriptedServer, type Step } from "./support/scripted.js";
import { PATIENT_MS, startsService } from "./support/service.js";

const service = startsService();

async function listening(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` };
}

/** A body whose old result has so many lines; it may name a model. */
function body(lines: number, model?: string): string {
  const call = { id: "1", type: "function", function: { name: "read", arguments: "{}" } };
  return JSON.stringify({
    model,
    messages: [
      { role: "user", content: "read it" },
      { role: "assistant", tool_calls: [call] },
      ...[{ role: "tool", tool_call_id: "1", content: "a line of the file\n".repeat(lines) }],
      { role: "assistant", content: "done" },
      ...Array.from({ length: 9 }, () => ({ role: "user", content: "next" })),
    ],
  });
}

/** What reaches the upstream, and what comes back, of some bodies. */
async function routed(pinch: PinchClient, bodies: readonly string[], answers = 200) {
  const seen: string[] = [];
  const upstream = await listening((request, response) => {
    void buffer(request).then((bytes) => {
      seen.push(bytes.toString());
      response.writeHead(answers, { "content-type": "application/json" }).end('{"choices":[]}');
    });
  });
  const ours = await listening(router(pinch, upstream.url));
  const responses = [];
  for (const each of bodies) {
    const response = await fetch(ours.url, { method: "POST", body: each });
    responses.push([response.status, response.headers.get("x-model"), await response.text()]);
  }
  for (const { server } of [ours, upstream]) {
    server.closeAllConnections();
    server.close();
  }
  return { seen, responses };
}

test("the example forwards a small body as it is, a long one shortened, each to the model that fits", async () => {
  const [small, long] = [body(100), body(20_000)];
  const { seen, responses } = await routed(service.client(), [small, long]);
  assert.equal(seen[0], small);
  assert.ok(seen[1] !== undefined && seen[1].length < long.length / 10);
  assert.deepEqual(responses, [
    [200, MODELS.small.name, '{"choices":[]}'],
    [200, MODELS.small.name, '{"choices":[]}'],
  ]);
});

/** The records of one request to a router whose Pinch measures it so: what was asked, and what was reported. */
async function recorded(measures: Step, sent: string, answers = 200) {
  await using pinch = await ScriptedServer.start([measures, accepts]);
  const both = new Promise<void>((resolve) => {
    pinch.arrived = () => {
      if (pinch.calls.length === 2) resolve();
    };
  });
  const client = new PinchClient(pinch.address, { timeoutMs: PATIENT_MS });
  const { seen, responses } = await routed(client, [sent], answers);
  await both; // the router answers without waiting for its report
  await client.close();
  const [pruning, report] = pinch.calls;
  return { seen, responses, route: asked(pruning).context?.route, report: reported(report) };
}

/** A step that leaves a conversation as it is and measures it. */
function measures(tokens: number, errorBound = 0.1): Step {
  return replies({ unchangedReason: "within_budget", decisionId: "d", measured: { tokens, errorBound } });
}

test("the example passes a request through to the model that it names, pruned, though a smaller one holds it", async () => {
  const long = body(20_000, MODELS.large.name);
  const { seen, responses } = await routed(service.client(), [long]);
  assert.ok(seen[0] !== undefined && seen[0].length < long.length / 10);
  assert.deepEqual(responses, [[200, MODELS.large.name, '{"choices":[]}']]);

  const { route, report } = await recorded(measures(10), body(1, MODELS.large.name));
  assert.equal(route, Route.PASSTHROUGH);
  assert.equal(report.outcome, Outcome.DISPATCHED);
  assert.equal(report.selectedModel, MODELS.large.name);
});

test("the example refuses what the named model cannot hold, and reports it as rejected", async () => {
  const { seen, responses, route, report } = await recorded(measures(19_000), body(1, MODELS.small.name));
  assert.deepEqual([seen, responses], [[], [[413, null, ""]]]);
  assert.equal(route, Route.PASSTHROUGH);
  assert.equal(report.outcome, Outcome.REJECTED);
});

test("the example routes what names no model of its own to the smallest that holds it, or refuses it", async () => {
  for (const [tokens, status, model, outcome] of [
    [17_000, 200, MODELS.small.name, Outcome.DISPATCHED],
    [19_000, 200, MODELS.large.name, Outcome.DISPATCHED],
    [1_000_000, 413, null, Outcome.REJECTED],
  ] as const) {
    const { responses, route, report } = await recorded(measures(tokens), body(1, "auto"));
    assert.deepEqual(responses[0]?.slice(0, 2), [status, model]);
    assert.equal(route, Route.ROUTED);
    assert.equal(report.outcome, outcome);
  }
});

test("the example reports what the upstream refused as failed, and forwards what is no JSON", async () => {
  for (const sent of ["{", "null", body(1)]) {
    const { responses, report } = await recorded(measures(10), sent, 500);
    assert.deepEqual(responses[0]?.slice(0, 2), [500, MODELS.small.name]);
    assert.equal(report.outcome, Outcome.FAILED);
  }
});

test("the example forwards the original, to the large model, when nobody prunes it", async () => {
  const pinch = new PinchClient("127.0.0.1:1", { timeoutMs: 500 });
  const long = body(20_000);
  const { seen, responses } = await routed(pinch, [long], 500);
  assert.deepEqual(seen, [long]);
  assert.deepEqual(responses, [[500, MODELS.large.name, '{"choices":[]}']]);
  await pinch.close();
});

test("the example is a command that tells how it is used, and where it listens", async () => {
  const script = fileURLToPath(new URL("../examples/router.js", import.meta.url));
  const untold = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "pipe"] });
  assert.match(await text(untold.stderr), /^usage: .*PINCH_ADDRESS UPSTREAM_URL/);

  const running = spawn(process.execPath, [script, "127.0.0.1:1", "http://127.0.0.1:1/", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const url of createInterface(running.stdout)) {
    assert.equal((await fetch(url, { method: "POST", body: "{}" })).status, 502);
    running.kill();
  }
});
