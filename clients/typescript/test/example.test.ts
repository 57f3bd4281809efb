import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createInterface } from "node:readline";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { MODELS, router } from "../examples/router.js";
import { PinchClient } from "../src/index.js";
import { startsService } from "./support/service.js";

const service = startsService();

async function listening(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` };
}

/** A body whose old result has so many lines. */
function body(lines: number): string {
  const call = { id: "1", type: "function", function: { name: "read", arguments: "{}" } };
  return JSON.stringify({
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
    [200, MODELS.small, '{"choices":[]}'],
    [200, MODELS.small, '{"choices":[]}'],
  ]);
});

test("the example forwards the original, to the large model, when nobody prunes it", async () => {
  const pinch = new PinchClient("127.0.0.1:1", { timeoutMs: 500 });
  const long = body(20_000);
  const { seen, responses } = await routed(pinch, [long], 500);
  assert.deepEqual(seen, [long]);
  assert.deepEqual(responses, [[500, MODELS.large, '{"choices":[]}']]);
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
