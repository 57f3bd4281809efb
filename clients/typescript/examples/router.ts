/**
 * A router in one file: takes an OpenAI body, prunes it, picks a model by what ships, and forwards.
 *
 *     node router.js PINCH_ADDRESS UPSTREAM_URL
 */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
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

const [, script, address, upstream] = process.argv;
if (script === fileURLToPath(import.meta.url) && address !== undefined && upstream !== undefined) {
  createServer(router(new PinchClient(address), upstream)).listen(8080);
}
