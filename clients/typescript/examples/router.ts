/**
 * A router in one file: takes an OpenAI body, prunes it, picks a model by what ships unless one is named, and forwards.
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

import { Outcome, PinchClient, type Pruned, Route } from "../src/index.js";

/** A model that the upstream serves. */
interface Model {
  readonly name: string;
  /** How much it can hold, in tokens. */
  readonly window: number;
}

/** The models. */
export const MODELS = {
  small: { name: "small-model", window: 20_000 },
  large: { name: "large-model", window: 1_000_000 },
} as const satisfies Record<string, Model>;

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
  const body = await buffer(request);
  // A request that names a model of ours passes through to it, when it holds what is left; any other is routed.
  // Either way it is pruned once, before it is measured.
  const asked = named(body);
  const only = Object.values(MODELS).find(({ name }) => name === asked);
  const pruned = await pinch.pruneOpenAI(body, {
    limits: { budgetTokens: 50_000 },
    context: { route: only === undefined ? Route.ROUTED : Route.PASSTHROUGH },
    signal: hungUp.signal,
  });
  const picked = pick(only === undefined ? [MODELS.small, MODELS.large] : [only], pruned);
  if (picked === undefined) {
    await pinch.reportOutcome(pruned.decisionId, Outcome.REJECTED);
    response.writeHead(413).end();
    return;
  }
  const model = picked.name;
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

/** The model that a body names, if it names one. */
function named(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString()) as { model?: unknown } | null)?.model;
  } catch {
    return undefined;
  }
}

/** The smallest of some models that holds a conversation. Not measured, as after a failure, it gets the largest. */
function pick(models: readonly Model[], { measured }: Pruned<Uint8Array>): Model | undefined {
  if (measured === undefined) {
    return models.at(-1);
  }
  // The true size is at most the estimate / (1 - bound), and has no upper end where the bound is 1.
  const most = measured.tokens / (1 - measured.errorBound);
  return models.find(({ window }) => most <= window);
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
