/** The result of one call: what to send on, and what is known about it. */

import type { PinchError } from "./errors.js";
import type {
  Economics,
  Edit,
  ExtractionDecision,
  Measured,
  PrefixProbe,
  PruneStats,
  TurnFrame,
} from "./generated/pinch/v1/prune.js";

/**
 * A conversation that is ready to be sent to a model.
 *
 * @typeParam T - The kind of conversation that the caller gave.
 */
export interface Pruned<T> {
  /** The conversation, as it came in: bytes, text, object or messages. Unless pruned, the caller's own. */
  readonly body: T;
  /** Whether `body` differs from what came in. */
  readonly pruned: boolean;
  /**
   * Why nothing changed, as a slug made for metric labels: the server's (such as `within_budget`) or that of
   * the failure (such as `deadline_exceeded`). Absent when something changed.
   */
  readonly reason: string | undefined;
  /** The failure that made the client return the conversation as it came. */
  readonly error: PinchError | undefined;
  /** The server's account. Absent after a failure, like everything below that may be absent. */
  readonly stats: PruneStats | undefined;
  /** Estimated prompt tokens of what ships, with method and relative error bound. */
  readonly measured: Measured | undefined;
  /** Identifier for `reportOutcome`; empty after a failure. */
  readonly decisionId: string;
  /** Whether the server holds the decision safely. */
  readonly persisted: boolean;
  /** What was changed, in order. */
  readonly edits: readonly Edit[];
  /** Zero-based index of the first changed message. */
  readonly firstChangedMessage: number | undefined;
  /** The newest user turn with a little context, for the router's own classifier. */
  readonly turnFrame: TurnFrame | undefined;
  /** What the trims are worth, when rates are known. */
  readonly economics: Economics | undefined;
  /** How much of the session's previous payload repeats, when the probe ran. */
  readonly prefix: PrefixProbe | undefined;
  /** What became of each result that a filter was thought of for; empty while extraction is off. */
  readonly extractions: readonly ExtractionDecision[];
}

/**
 * The fail-open result (C1).
 *
 * @param conversation - The caller's own conversation.
 * @param error - Why it comes back as it is.
 */
export function unpruned<T>(conversation: T, error: PinchError): Pruned<T> {
  return {
    body: conversation,
    pruned: false,
    reason: error.reason,
    error,
    stats: undefined,
    measured: undefined,
    decisionId: "",
    persisted: false,
    edits: [],
    firstChangedMessage: undefined,
    turnFrame: undefined,
    economics: undefined,
    prefix: undefined,
    extractions: [],
  };
}
