/**
 * A router in one file: takes an OpenAI body, prunes it, picks a model by what ships, and forwards.
 *
 *     node build/examples/router.js PINCH_ADDRESS UPSTREAM_URL [PORT]
 *
 * It listens on this machine alone, on port 8080 unless told otherwise.
 */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";

import { Outcome, PinchClient, type Pruned } from "../src/index.js";

/** Up to this size, in tokens, the small model answers. */
const SMALL_MODEL_TOKENS = 20_000;

/** Names of the models. */
export const MODELS = { small: "small-model", large: "large-model" } as const;

/**
 * Makes the router's request handler.
 *
 * @param pinch - The client, shared by all requests.
 * @param upstream - Where a request goes on to.
 */
export function router(pinch: PinchClient, upstream: string): RequestListener {
  return (request, response) => {
    route(pinch, upstream, request, response).catch(() => {
      response.destroy();
    });
  };
}

async function route(
  pinch: PinchClient,
  upstream: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const hungUp = new AbortController();
  response.on("close", () => {
    hungUp.abort();
  });
  const pruned = await pinch.pruneOpenAI(await buffer(request), {
    limits: { budgetTokens: 50_000 },
    signal: hungUp.signal,
  });
  const model = modelFor(pruned);
  let answer: Response;
  try {
    answer = await fetch(upstream, {
      method: "POST",
      headers: { "content-type": "application/json", "x-model": model },
      body: new Uint8Array(pruned.body),
      signal: hungUp.signal,
    });
  } catch {
    await pinch.reportOutcome(pruned.decisionId, Outcome.FAILED, { selectedModel: model });
    response.writeHead(502).end();
    return;
  }
  const outcome = answer.ok ? Outcome.DISPATCHED : Outcome.FAILED;
  const reported = pinch.reportOutcome(pruned.decisionId, outcome, { selectedModel: model });
  response.writeHead(answer.status, { "content-type": "application/json", "x-model": model });
  await Promise.all([reported, answer.body === null ? response.end() : pipeline(answer.body, response)]);
}

/** The model for a conversation; without a measure, its bytes must do, at three to a token. */
function modelFor(pruned: Pruned<Uint8Array>): string {
  const { tokens, errorBound } = pruned.measured ?? { tokens: pruned.body.length / 3, errorBound: 0.5 };
  return tokens * (1 + errorBound) <= SMALL_MODEL_TOKENS ? MODELS.small : MODELS.large;
}

const [, script, address, upstream, port = "8080"] = process.argv;
if (script === fileURLToPath(import.meta.url)) {
  if (address === undefined || upstream === undefined) {
    console.error("usage: node build/examples/router.js PINCH_ADDRESS UPSTREAM_URL [PORT]");
    process.exit(2);
  }
  const server = createServer(router(new PinchClient(address), upstream));
  server.listen(Number(port), "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  });
}
