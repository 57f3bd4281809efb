/** The one channel of a client, and a call over it: one deadline, at most two attempts (C2, C3, C5). */

import { Client, type ClientUnaryCall, Metadata, type ServiceError, status } from "@grpc/grpc-js";

import type { Connection } from "./connection.js";
import { CallError } from "./errors.js";

/** A call that is ready to be sent. */
export interface Call {
  /** Path of the method. */
  readonly path: string;
  /** The encoded request. */
  readonly request: Uint8Array;
  /** When it must have ended, in milliseconds on the clock of `performance.now`. */
  readonly deadline: number;
  /** The caller's own wish to stop. */
  readonly signal: AbortSignal | undefined;
}

/** A channel, which is opened by its first call. */
export class Channel {
  readonly #client: Client;
  readonly #metadata: Metadata;
  readonly #inFlight = new Set<ClientUnaryCall>();
  #allEnded: () => void = () => undefined;
  #isClosed = false;

  constructor(connection: Connection) {
    this.#client = new Client(connection.target, connection.credentials, connection.options);
    this.#metadata = connection.metadata;
  }

  /**
   * Makes a call.
   *
   * @param call - The call.
   * @returns The encoded reply.
   * @throws CallError for any status but OK; the signal's reason when it says stop.
   */
  async call(call: Call): Promise<Uint8Array> {
    try {
      return await this.#attempt(call);
    } catch (error) {
      // By any other status the server says that trying again is of no use.
      if (!(error instanceof CallError) || error.code !== status.UNAVAILABLE) {
        throw error;
      }
    }
    return await this.#attempt(call);
  }

  /** Cancels the calls in flight, closes the channel, and waits until the calls have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const sent of this.#inFlight) {
      sent.cancel();
    }
    this.#client.close();
    if (this.#inFlight.size > 0) {
      await new Promise<void>((resolve) => {
        const others = this.#allEnded;
        this.#allEnded = () => {
          others();
          resolve();
        };
      });
    }
  }

  #attempt({ path, request, deadline, signal }: Call): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const left = deadline - performance.now();
      if (this.#isClosed) {
        throw closed();
      }
      if (left <= 0) {
        throw new CallError(status.DEADLINE_EXCEEDED, "no time left");
      }
      const stop = (): void => {
        sent.cancel();
      };
      const ended = (error: ServiceError | null, reply: Uint8Array | undefined): void => {
        signal?.removeEventListener("abort", stop);
        this.#inFlight.delete(sent);
        if (signal?.aborted === true) {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason
          reject(signal.reason);
        } else if (this.#isClosed && error !== null) {
          reject(closed());
        } else if (error !== null) {
          reject(new CallError(error.code, error.details));
        } else {
          resolve(reply ?? new Uint8Array());
        }
        if (this.#inFlight.size === 0) {
          this.#allEnded();
        }
      };
      const sent: ClientUnaryCall = this.#client.makeUnaryRequest(
        path,
        asBuffer,
        asItIs,
        request,
        this.#metadata.clone(),
        { deadline: new Date(Date.now() + left) },
        ended,
      );
      this.#inFlight.add(sent);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}

function closed(): CallError {
  return new CallError(status.CANCELLED, "the client is closed");
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Replies are decoded outside gRPC, which would turn what cannot be decoded into a status. */
function asItIs(bytes: Buffer): Uint8Array {
  return bytes;
}
