/** The request that reports what became of a pruned conversation. */

import { ReplyError, RequestError } from "./errors.js";
import { Outcome, ReportOutcomeRequest, ReportOutcomeResponse } from "./generated/pinch/v1/prune.js";
import { onlyKnown, type OutcomeOptions } from "./options.js";

const OPTIONS = ["selectedModel", "usage", "costUsd", "timeoutMs", "signal"];

/** What can be reported: the request was answered, refused by the router, or failed on the way. */
export type ReportedOutcome = Outcome.DISPATCHED | Outcome.REJECTED | Outcome.FAILED;

/**
 * Refuses an outcome or options that there are not.
 *
 * @throws TypeError naming it.
 */
export function checkOutcome(outcome: ReportedOutcome, options: OutcomeOptions): void {
  const reported: readonly string[] = [Outcome.DISPATCHED, Outcome.REJECTED, Outcome.FAILED];
  if (!reported.includes(outcome)) {
    throw new TypeError(`outcome must be one of ${reported.join(", ")}, not ${JSON.stringify(outcome)}`);
  }
  onlyKnown("options", options, OPTIONS);
}

/**
 * Makes the request.
 *
 * @throws RequestError when there is no decision id, since the conversation was returned after a failure, or
 * the usage cannot be encoded.
 */
export function prepareOutcome(
  decisionId: string,
  outcome: ReportedOutcome,
  { selectedModel = "", usage, costUsd = "" }: OutcomeOptions,
): Uint8Array {
  if (decisionId === "") {
    throw new RequestError("there is no decision to report on");
  }
  try {
    const request = ReportOutcomeRequest.fromPartial({ decisionId, outcome, selectedModel, usage, costUsd });
    return ReportOutcomeRequest.encode(request).finish();
  } catch (error) {
    throw new RequestError("the report cannot be encoded", { cause: error });
  }
}

/**
 * Reads the reply.
 *
 * @returns Whether the service holds the report safely.
 * @throws ReplyError when it cannot be decoded.
 */
export function readOutcome(reply: Uint8Array): boolean {
  try {
    return ReportOutcomeResponse.decode(reply).persisted;
  } catch (error) {
    throw new ReplyError("the reply cannot be decoded", { cause: error });
  }
}
