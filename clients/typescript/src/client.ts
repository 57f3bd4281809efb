/** The client. */

import { Channel } from "./channel.js";
import { type ClientOptions, connection, DEFAULT_TIMEOUT_MS } from "./connection.js";
import {
  type Body,
  type ChatMessageInit,
  checkPruneOptions,
  prepareBody,
  prepareChat,
  type PreparedPrune,
  type SameKind,
} from "./conversations.js";
import { PinchError } from "./errors.js";
import { Format, PruneServiceService } from "./generated/pinch/v1/prune.js";
import {
  type CallOptions,
  deadlineAfter,
  onlyKnown,
  type OutcomeOptions,
  type PruneBodyOptions,
  type PruneOptions,
} from "./options.js";
import { checkOutcome, prepareOutcome, readOutcome, type ReportedOutcome } from "./outcomes.js";
import { type Pruned, unpruned } from "./pruned.js";

const OPTIONS = ["timeoutMs", "strict", "token", "tls", "metadata"];

/**
 * Shortens conversations through a Pinch service, and never stands in the way when it cannot.
 *
 * Unless `strict`, no call is rejected for what the server, the network or the conversation does: the result
 * is then the caller's own conversation with `pruned` false and the reason. What the caller's code gets
 * wrong (an unknown option, a time without an end) is always an error, and an aborted signal rejects with its
 * reason. One client holds one channel; share it, and close it at the end.
 *
 * @example
 * ```ts
 * const client = new PinchClient("127.0.0.1:50051");
 * const result = await client.pruneOpenAI(body, { limits: { budgetTokens: 50_000 } });
 * sendOn(result.body);
 * ```
 */
export class PinchClient implements AsyncDisposable {
  readonly #channel: Channel;
  readonly #timeoutMs: number;
  readonly #strict: boolean;

  /**
   * @param addresses - `host:port`, `unix:/path`, or several of the form `IP:port`, as a list or separated by
   * commas; calls go to several in turn.
   * @param options - Time, TLS, token and the like.
   * @throws TypeError or RangeError when an argument is not usable; it names which.
   */
  constructor(addresses: string | readonly string[], options: ClientOptions = {}) {
    onlyKnown("options", options, OPTIONS);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    if (!(this.#timeoutMs > 0 && this.#timeoutMs < Infinity)) {
      throw new RangeError(`timeoutMs must be a number of milliseconds above 0, not ${this.#timeoutMs}`);
    }
    this.#strict = options.strict ?? false;
    this.#channel = new Channel(connection(addresses, options));
  }

  /**
   * Closes the channel: calls in flight fail open, and so does every later one. Closing twice is harmless.
   *
   * @returns A promise that is resolved when every call has ended.
   */
  async close(): Promise<void> {
    await this.#channel.close();
  }

  /** The same as {@link PinchClient.close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Shortens an OpenAI Chat Completions body.
   *
   * @param body - The body; see {@link PinchClient.pruneBody}.
   * @param options - Limits, context and the like.
   * @returns The body to send on, of the kind that came in, and the account of it.
   * @throws PinchError only when the client is strict.
   */
  async pruneOpenAI<B extends Body>(body: B, options: PruneOptions = {}): Promise<Pruned<SameKind<B>>> {
    checkPruneOptions(options);
    return await this.pruneBody(body, { ...options, format: Format.OPENAI_CHAT });
  }

  /**
   * Shortens an Anthropic Messages body.
   *
   * @param body - The body; see {@link PinchClient.pruneBody}.
   * @param options - Limits, context and the like.
   * @returns The body to send on, of the kind that came in, and the account of it.
   * @throws PinchError only when the client is strict.
   */
  async pruneAnthropic<B extends Body>(body: B, options: PruneOptions = {}): Promise<Pruned<SameKind<B>>> {
    checkPruneOptions(options);
    return await this.pruneBody(body, { ...options, format: Format.ANTHROPIC_MESSAGES });
  }

  /**
   * Shortens a provider's request body.
   *
   * @param body - The JSON as UTF-8 bytes or as text, or the object that it was read into. Never changed. With
   * bytes or text, everything outside the trimmed texts stays the same. Bytes must not be changed before the
   * promise is settled.
   * @param options - The format (left out, the server recognises it), limits, context and the like.
   * @returns The body to send on, of the kind that came in, and the account of it.
   * @throws PinchError only when the client is strict.
   */
  async pruneBody<B extends Body>(body: B, options: PruneBodyOptions = {}): Promise<Pruned<SameKind<B>>> {
    checkPruneOptions(options, ["format"]);
    return await this.#prune(body as SameKind<B>, options, () => prepareBody(body, options));
  }

  /**
   * Shortens typed messages; set `limits.extraFixedTokens` to what ships beside them.
   *
   * @param messages - The messages, oldest first. Never changed.
   * @param options - Limits, context and the like.
   * @returns The caller's own messages, or a new list that shares the untouched ones, and the account of it.
   * @throws PinchError only when the client is strict.
   */
  async pruneChat(
    messages: readonly ChatMessageInit[],
    options: PruneOptions = {},
  ): Promise<Pruned<readonly ChatMessageInit[]>> {
    checkPruneOptions(options);
    return await this.#prune(messages, options, () => prepareChat(messages, options));
  }

  /**
   * Tells the service what became of a pruned request; the last report for a decision wins.
   *
   * @param decisionId - From the result. When it is empty, as after a failure, nothing is sent.
   * @param outcome - What became of it.
   * @param options - The model, what the provider counted, what it cost.
   * @returns Whether the service holds the report safely.
   * @throws PinchError only when the client is strict.
   */
  async reportOutcome(
    decisionId: string,
    outcome: ReportedOutcome,
    options: OutcomeOptions = {},
  ): Promise<boolean> {
    checkOutcome(outcome, options);
    return await this.#failOpen(
      options,
      async (call) => {
        const request = prepareOutcome(decisionId, outcome, options);
        return readOutcome(await call(PruneServiceService.reportOutcome.path, request));
      },
      () => false,
    );
  }

  async #prune<T>(
    conversation: T,
    options: PruneOptions,
    prepare: () => PreparedPrune<T>,
  ): Promise<Pruned<T>> {
    return await this.#failOpen(
      options,
      async (call) => {
        const prepared = prepare();
        return prepared.finish(await call(PruneServiceService.prune.path, prepared.request));
      },
      (error) => unpruned(conversation, error),
    );
  }

  /** The one place where a failure becomes a result (C1). */
  async #failOpen<T>(
    options: CallOptions,
    work: (call: (path: string, request: Uint8Array) => Promise<Uint8Array>) => Promise<T>,
    original: (error: PinchError) => T,
  ): Promise<T> {
    const deadline = deadlineAfter(options.timeoutMs ?? this.#timeoutMs);
    const { signal } = options;
    signal?.throwIfAborted();
    try {
      return await work((path, request) => this.#channel.call({ path, request, deadline, signal }));
    } catch (error) {
      if (this.#strict || !(error instanceof PinchError)) {
        throw error;
      }
      return original(error);
    }
  }
}
