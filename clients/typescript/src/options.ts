/** What a caller may choose for one call, and the check that it chose nothing else. */

import type { DeepPartial, Format, Limits, RequestContext, TokenUsage } from "./generated/pinch/v1/prune.js";

/** {@link Limits} as a caller writes them: any of them, the others being the server's settings. */
export type LimitsInit = DeepPartial<Limits>;

/** {@link RequestContext} as a caller writes it. */
export type RequestContextInit = DeepPartial<RequestContext>;

/** What every method takes. */
export interface CallOptions {
  /** Time for this call, its retry included, in milliseconds, instead of the client's. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the call: its promise is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What every prune method takes. */
export interface PruneOptions extends CallOptions {
  /** Limits for this call; absent fields take the server's settings. */
  readonly limits?: LimitsInit | undefined;
  /** What the router knows about the call. */
  readonly context?: RequestContextInit | undefined;
  /** Only count: nothing changes, and `stats` tells what would have been saved. */
  readonly dryRun?: boolean | undefined;
}

/** What {@link PinchClient.pruneBody} takes. */
export interface PruneBodyOptions extends PruneOptions {
  /** The body's dialect; left out, the server recognises it. */
  readonly format?: Format | undefined;
}

/** What {@link PinchClient.reportOutcome} takes. */
export interface OutcomeOptions extends CallOptions {
  /** Name of the model that was called. */
  readonly selectedModel?: string | undefined;
  /** What the provider counted. */
  readonly usage?: DeepPartial<TokenUsage> | undefined;
  /** What the call cost, in US dollars, as plain decimal text such as `0.0123`: at most 12 digits on each side. */
  readonly costUsd?: string | undefined;
}

/**
 * Refuses a name that is not one of a closed set; types alone do not stop it in JavaScript.
 *
 * @param what - What the names are of.
 * @param given - The object whose names are looked at, or nothing.
 * @param names - The names that there are.
 * @throws TypeError for the first name that is not among them.
 */
export function onlyKnown(what: string, given: object | undefined, names: readonly string[]): void {
  for (const name of Object.keys(given ?? {})) {
    if (!names.includes(name)) {
      throw new TypeError(`${what} has no ${JSON.stringify(name)}`);
    }
  }
}

/** No call takes as long as a day, and gRPC ends the process for a time that its header cannot hold. */
const LONGEST_MS = 24 * 60 * 60 * 1_000;

/**
 * The moment at which a call must have ended (C2).
 *
 * @param timeoutMs - Time from now, in milliseconds.
 * @returns Milliseconds on the clock of `performance.now`.
 * @throws RangeError when the time has no end, or is no number.
 */
export function deadlineAfter(timeoutMs: number): number {
  if (!Number.isFinite(timeoutMs)) {
    throw new RangeError(`timeoutMs must be a number of milliseconds, not ${timeoutMs}`);
  }
  return performance.now() + Math.min(timeoutMs, LONGEST_MS);
}
