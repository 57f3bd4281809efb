/** What can go wrong with a call, drawn as one small tree (C1). */

import { status } from "@grpc/grpc-js";

/** Words of the server come from the network; a message is meant for one log line. */
const LONGEST_WORDS = 300;

/**
 * Words of the server as one line.
 *
 * @param words - Any text.
 * @returns The text with its blanks collapsed, cut at 300 characters.
 */
export function oneLine(words: string): string {
  const line = words
    .slice(0, 10 * LONGEST_WORDS)
    .trim()
    .replaceAll(/\s+/g, " ");
  return line.slice(0, LONGEST_WORDS);
}

/**
 * Any failure of a call. A client throws it only when it is strict, and else puts it into its result.
 *
 * The message is one line, and never quotes the conversation.
 */
export abstract class PinchError extends Error {
  /** The failure as a slug, made for metric labels. */
  abstract readonly reason: string;
}

/** The conversation could not be put into a request, so nothing was sent. */
export class RequestError extends PinchError {
  override readonly name = "RequestError";
  /** Always `invalid_request`. */
  readonly reason = "invalid_request";
}

/** The server's reply cannot be read, or does not fit what was sent, so none of it was used. */
export class ReplyError extends PinchError {
  override readonly name = "ReplyError";
  /** Always `invalid_reply`. */
  readonly reason = "invalid_reply";
}

/** The server answered with another status than OK, or not at all, or not in time. */
export class CallError extends PinchError {
  override readonly name = "CallError";
  /** The status code's name in lower case, such as `deadline_exceeded`. */
  readonly reason: string;
  /** The gRPC status code; 4 (DEADLINE_EXCEEDED) when time ran out, 14 (UNAVAILABLE) when nobody answered. */
  readonly code: status;
  /** The server's own words, shortened to one line. */
  readonly details: string;

  /**
   * @param code - The gRPC status code.
   * @param details - The words that came with it.
   */
  constructor(code: status, details: string) {
    // A server may send a number that gRPC gives no name.
    const named = Object.hasOwn(status, code) ? code : status.UNKNOWN;
    const line = oneLine(details);
    super(line === "" ? status[named] : `${status[named]}: ${line}`);
    this.code = named;
    this.details = line;
    this.reason = status[named].toLowerCase();
  }
}
