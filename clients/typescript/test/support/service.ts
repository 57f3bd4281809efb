/** A real `pinch serve --testing`, in a process of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

import { type ClientOptions, PinchClient } from "../../src/index.js";

/** Time for what a test wants to succeed, in milliseconds: the machine may be busy. */
export const PATIENT_MS = 60_000;

const COMMAND = process.env["PINCHTEST_COMMAND"] ?? "pinch serve --testing";

/** The server of one test file. */
export interface Service {
  /** Where it is; known once the tests run. */
  address: string;
  /** A client of it that waits as long as a busy machine takes. */
  client: (options?: ClientOptions) => PinchClient;
}

/** Starts a server before the tests of a file and stops it, and every client of it, after them. */
export function startsService(): Service {
  const [command = "", ...words] = COMMAND.split(" ");
  const clients: PinchClient[] = [];
  const service: Service = {
    address: "",
    client: (options) => {
      const client = new PinchClient(service.address, { timeoutMs: PATIENT_MS, ...options });
      clients.push(client);
      return client;
    },
  };
  let stop = (): Promise<void> => Promise.resolve();
  before(async () => {
    const child = spawn(command, words, { stdio: ["ignore", "pipe", "ignore"] });
    stop = async (): Promise<void> => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      child.stdout.resume(); // what is not read to its end keeps this process
      await ended;
    };
    for await (const line of createInterface(child.stdout)) {
      service.address = (JSON.parse(line) as { grpc: string }).grpc;
      return;
    }
    throw new Error(`${COMMAND} ended before it was ready`);
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await stop();
  });
  return service;
}
