/** Turns a caller's conversation into a request, and a reply back into the caller's kind of conversation. */

import { isAnyArrayBuffer, isUint8Array } from "node:util/types";

import { applyByteEdits, applyPartEdits } from "./edits.js";
import { oneLine, ReplyError, RequestError } from "./errors.js";
import {
  CacheState,
  type ChatMessage,
  type ContentPart,
  type DeepPartial,
  type Edit,
  Format,
  Limits,
  PruneRequest,
  PruneResponse,
  ReplyForm,
  RequestContext,
  Route,
  Stability,
  TrimStyle,
} from "./generated/pinch/v1/prune.js";
import { onlyKnown, type PruneBodyOptions, type PruneOptions } from "./options.js";
import type { Pruned } from "./pruned.js";

/** A provider's request body: its JSON as UTF-8 bytes or as text, or the object that it was read into. */
export type Body = Uint8Array | string | object;

/** The kind of body that comes back for one that came in: bytes for bytes, text for text, else the object. */
export type SameKind<B extends Body> = B extends string ? string : B extends Uint8Array ? Uint8Array : B;

/** A {@link ChatMessage} as a caller writes it; absent fields are empty. */
export type ChatMessageInit = DeepPartial<ChatMessage>;

/** A {@link ContentPart} as a caller writes it: with exactly one of its fields. */
export type ContentPartInit = DeepPartial<ContentPart>;

/** A request that is ready to be sent, with what it takes to read its reply. */
export interface PreparedPrune<T> {
  /** The encoded request. */
  readonly request: Uint8Array;
  /**
   * Reads the reply.
   *
   * @throws ReplyError when it cannot be decoded, or its edits do not fit the conversation.
   */
  readonly finish: (reply: Uint8Array) => Pruned<T>;
}

const OPTIONS = ["limits", "context", "dryRun", "timeoutMs", "signal"];
const LIMITS = Object.keys(Limits.create());
const CONTEXT = Object.keys(RequestContext.create());

/**
 * Refuses options that there are not.
 *
 * @throws TypeError naming the first.
 */
export function checkPruneOptions(options: PruneBodyOptions, further: readonly string[] = []): void {
  onlyKnown("options", options, [...OPTIONS, ...further]);
  onlyKnown("limits", options.limits, LIMITS);
  onlyKnown("context", options.context, CONTEXT);
  const { limits, context } = options;
  oneOf("format", options.format, Format);
  oneOf("limits.stability", limits?.stability, Stability);
  oneOf("limits.trimStyle", limits?.trimStyle, TrimStyle);
  oneOf("context.route", context?.route, Route);
  oneOf("context.cache.state", context?.cache?.state, CacheState);
}

function oneOf(what: string, given: string | undefined, names: Readonly<Record<string, string>>): void {
  if (given !== undefined && !Object.values(names).includes(given)) {
    throw new TypeError(`${what} has no ${JSON.stringify(given)}`);
  }
}

/**
 * Makes the request for a provider's body.
 *
 * @throws RequestError when the body is no JSON that can be sent.
 */
export function prepareBody<B extends Body>(body: B, options: PruneBodyOptions): PreparedPrune<SameKind<B>> {
  const isBytes = isUint8Array(body);
  const sent: Uint8Array = isBytes ? body : Buffer.from(asText(body));
  const form = { body: { format: options.format ?? Format.UNSPECIFIED, json: sent } };
  return prepare<SameKind<B>>(body as SameKind<B>, form, options, (edits) => {
    const edited = applyByteEdits(sent, edits);
    return (isBytes ? edited : backFrom(edited, typeof body === "string")) as SameKind<B>;
  });
}

/**
 * Makes the request for typed messages.
 *
 * @throws RequestError when they cannot be encoded.
 */
export function prepareChat(
  messages: readonly ChatMessageInit[],
  options: PruneOptions,
): PreparedPrune<readonly ChatMessageInit[]> {
  return prepare(messages, { chat: { messages } }, options, (edits) => applyPartEdits(messages, edits));
}

function prepare<T>(
  original: T,
  form: DeepPartial<Pick<PruneRequest, "body" | "chat">>,
  { limits, context, dryRun = false }: PruneOptions,
  apply: (edits: readonly Edit[]) => T,
): PreparedPrune<T> {
  const request = encoded({ ...form, limits, context, replyForm: ReplyForm.EDITS, dryRun });
  return {
    request,
    finish: (bytes) => {
      const reply = decoded(bytes);
      const { edits } = reply;
      const isPruned = edits.length > 0;
      if (isPruned && dryRun) {
        throw new ReplyError("a dry run was answered with edits");
      }
      return {
        body: isPruned ? apply(edits) : original,
        pruned: isPruned,
        reason: isPruned ? undefined : oneLine(reply.unchangedReason) || "unchanged",
        error: undefined,
        stats: reply.stats,
        measured: reply.measured,
        decisionId: reply.decisionId,
        persisted: reply.persisted,
        edits,
        firstChangedMessage: reply.firstChangedMessage,
        turnFrame: reply.turnFrame,
        economics: reply.economics,
        prefix: reply.prefix,
        extractions: reply.extractions,
      };
    },
  };
}

function encoded(request: DeepPartial<PruneRequest>): Uint8Array {
  try {
    return PruneRequest.encode(PruneRequest.fromPartial(request)).finish();
  } catch (error) {
    throw new RequestError("the request cannot be encoded", { cause: error });
  }
}

function decoded(reply: Uint8Array): PruneResponse {
  try {
    return PruneResponse.decode(reply);
  } catch (error) {
    throw new ReplyError("the reply cannot be decoded", { cause: error });
  }
}

function asText(body: string | object): string {
  if (typeof body === "string") {
    // Half a surrogate pair has no UTF-8: what was sent would be other words than these.
    if (!body.isWellFormed()) {
      throw new RequestError("the body is no well-formed text");
    }
    return body;
  }
  // JSON would have these, and what else holds bytes, as an empty object or one with a key for each byte.
  if (isAnyArrayBuffer(body) || ArrayBuffer.isView(body)) {
    throw new RequestError("the body must be a Uint8Array where it is bytes");
  }
  let text: unknown;
  try {
    text = JSON.stringify(body, refuseWhatIsNoJson);
  } catch (error) {
    // The cause is left out, since its text may quote the conversation.
    throw new RequestError(`the body cannot be written as JSON (${(error as Error).name})`);
  }
  if (typeof text !== "string" || !text.startsWith("{")) {
    throw new RequestError("the body is no JSON object");
  }
  return text;
}

/** JSON has no number for these; JSON.stringify would write null in their place. */
function refuseWhatIsNoJson(_: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError("no JSON number");
  }
  return value;
}

function backFrom(edited: Uint8Array, isText: boolean): string | object {
  let text: string;
  let body: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(edited);
    body = isText ? undefined : JSON.parse(text);
  } catch (error) {
    throw new ReplyError(`the edited body is no JSON (${(error as Error).name})`);
  }
  if (isText) {
    return text;
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new ReplyError("the edited body is no JSON object");
  }
  return body;
}
