/** A real gRPC server whose PruneService answers what a test tells it to, and remembers what it was asked. */

import { createHash } from "node:crypto";

import {
  type Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type status,
} from "@grpc/grpc-js";

import {
  type DeepPartial,
  Edit,
  PruneRequest,
  PruneResponse,
  PruneServiceService,
  ReportOutcomeRequest,
  ReportOutcomeResponse,
} from "../../src/generated/pinch/v1/prune.js";

/** One call as the server saw it. */
export interface Seen {
  readonly request: Uint8Array;
  readonly metadata: Metadata;
  /** Time that was left, in milliseconds. */
  readonly left: number;
}

/** What a server does with a call; undefined: it never answers. */
export type Step = (request: Uint8Array) => Uint8Array | { code: status; details: string } | undefined;

/** A server that is listening. */
export class ScriptedServer implements AsyncDisposable {
  readonly calls: Seen[] = [];
  readonly #steps: Step[];
  readonly #server = new Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
  });
  address = "";
  /** Called when a call has arrived. */
  arrived: () => void = () => undefined;

  private constructor(steps: readonly Step[]) {
    this.#steps = [...steps];
    const bytes = (value: Buffer): Buffer => value;
    const raw = {
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    } as const;
    const { prune, reportOutcome } = PruneServiceService;
    const service = { prune: { ...raw, path: prune.path }, report: { ...raw, path: reportOutcome.path } };
    this.#server.addService(service, { prune: this.#serve, report: this.#serve });
  }

  /** Starts one that answers each call with the next step, and repeats the last for ever. */
  static async start(
    steps: Step | readonly Step[],
    address = "127.0.0.1:0",
    credentials = ServerCredentials.createInsecure(),
  ): Promise<ScriptedServer> {
    const scripted = new ScriptedServer([steps].flat());
    const port = await new Promise<number>((resolve, reject) => {
      scripted.#server.bindAsync(address, credentials, (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    scripted.address = address.startsWith("unix:")
      ? address
      : `${address.slice(0, address.lastIndexOf(":"))}:${port}`;
    return scripted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    await Promise.resolve();
  }

  readonly #serve = (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>): void => {
    this.calls.push({
      request: call.request,
      metadata: call.metadata,
      left: Number(call.getDeadline()) - Date.now(),
    });
    const step = this.#steps.length > 1 ? this.#steps.shift() : this.#steps[0];
    const answer = step?.(call.request);
    this.arrived();
    if (answer instanceof Uint8Array) {
      reply(null, Buffer.from(answer));
    } else if (answer !== undefined) {
      reply(answer);
    }
  };
}

/** A step that never answers. */
export const hangs: Step = () => undefined;

/** A step that ends the call with a status. */
export function fails(code: status, details = ""): Step {
  return () => ({ code, details });
}

/** A step that answers with one response, whatever was asked. */
export function replies(response: DeepPartial<PruneResponse>): Step {
  return () => PruneResponse.encode(PruneResponse.fromPartial(response)).finish();
}

/** A step that changes nothing. */
export const withinBudget = replies({ unchangedReason: "within_budget", decisionId: "d", persisted: true });

/** A step that accepts a report. */
export const accepts: Step = () => ReportOutcomeResponse.encode({ persisted: true }).finish();

/** The SHA-256 of some text's UTF-8, or of some bytes. */
export function sha256(of: string | Uint8Array): Buffer {
  return createHash("sha256").update(of).digest();
}

/** The edit that replaces the first place where `old` stands in a body. */
export function byteEdit(body: Uint8Array, old: string, replacement: string): Edit {
  const offset = Buffer.from(body).indexOf(old);
  return Edit.fromPartial({
    offset,
    length: Buffer.byteLength(old),
    replacement: Buffer.from(replacement),
    replacedSha256: sha256(old),
  });
}

/** A step that replaces `old` in the body that it was sent. */
export function trims(old: string, replacement: string): Step {
  return (request) => {
    const body = PruneRequest.decode(request).body?.json ?? new Uint8Array();
    return replies({ edits: [byteEdit(body, old, replacement)], decisionId: "d", persisted: true })(request);
  };
}

/** The request of a call to Prune. */
export function asked(call: Seen | undefined): PruneRequest {
  return PruneRequest.decode(call?.request ?? new Uint8Array());
}

/** The request of a call to ReportOutcome. */
export function reported(call: Seen | undefined): ReportOutcomeRequest {
  return ReportOutcomeRequest.decode(call?.request ?? new Uint8Array());
}
