import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { test } from "node:test";

import { connection, targetOf } from "../src/connection.js";
import { type ClientOptions, PinchClient, VERSION } from "../src/index.js";
import { PACKAGE } from "./support/repository.js";

for (const [addresses, target] of [
  ["127.0.0.1:50051", "127.0.0.1:50051"],
  ["[::1]:50051", "[::1]:50051"],
  ["unix:/run/pinch.sock", "unix:/run/pinch.sock"],
  ["dns:///pinch:50051", "dns:///pinch:50051"],
  [" 127.0.0.1:1 , 127.0.0.2:2 ", "ipv4:127.0.0.1:1,127.0.0.2:2"],
  [["[::1]:1", "[::2]:2"], "ipv6:[::1]:1,[::2]:2"],
  ["ipv4:127.0.0.1:1,127.0.0.1:2", "ipv4:127.0.0.1:1,127.0.0.1:2"],
] as const) {
  test(`C5: addresses are one target: ${inspect(addresses)}`, () => {
    assert.equal(targetOf(addresses), target);
  });
}

for (const addresses of [
  "",
  [],
  "a:1,",
  ["pinch-1:50051", "pinch-2:50051"],
  ["127.0.0.1:1", "[::1]:1"],
  ["127.0.0.1:1", "127.0.0.1"],
  ["unix:/a", "unix:/b"],
]) {
  test(`C5: addresses that cannot share a channel are refused at once: ${inspect(addresses)}`, () => {
    assert.throws(() => new PinchClient(addresses), TypeError);
  });
}

for (const address of [
  "localhost",
  "127.0.0.1",
  "[::1]",
  "http://127.0.0.1:50051",
  "https://pinch.internal",
]) {
  test(`C5: an address that is never reached is refused at once: ${address}`, () => {
    assert.throws(() => new PinchClient(address), /address .* host:port/);
  });
}

const UNUSABLE: Record<string, ClientOptions> = {
  "C2: a time of 0": { timeoutMs: 0 },
  "C2: a time without an end": { timeoutMs: Infinity },
  "C2: a time that is no number": { timeoutMs: NaN },
  "C7: an empty token": { token: "" },
  "C7: a token of two lines": { token: "a\nb" },
  "C7: half an identity": { tls: { privateKey: "x" } },
  "C7: an unknown TLS setting": { tls: { roots: "x" } as object },
  "C9: an unknown option": { timeout: 2 } as object,
  "C10: the client's own name": { metadata: { "pinch-client": "x" } },
  "C10: the token's name": { metadata: { authorization: "x" } },
  "C10: a name of gRPC": { metadata: { "grpc-timeout": "1S" } },
  "C10: a name that HTTP/2 does not have": { metadata: { connection: "close" } },
  "C10: an upper-case name": { metadata: { Route: "x" } },
  "C10: a value of two lines": { metadata: { route: "a\nb" } },
};

for (const [what, options] of Object.entries(UNUSABLE)) {
  test(`${what} is the caller's error`, () => {
    assert.throws(
      () => new PinchClient("127.0.0.1:1", options),
      (error) => error instanceof TypeError || error instanceof RangeError,
    );
  });
}

test("C4, C5: the channel takes 64 MiB, pings, spreads calls, and has no deadline or retries of its own", () => {
  const { options } = connection("127.0.0.1:1", {});
  assert.equal(options["grpc.max_send_message_length"], 67_108_864);
  assert.equal(options["grpc.max_receive_message_length"], 67_108_864);
  assert.equal(options["grpc.keepalive_time_ms"], 30_000);
  assert.equal(options["grpc.keepalive_timeout_ms"], 5_000);
  assert.equal(options["grpc.keepalive_permit_without_calls"], 1);
  assert.equal(options["grpc.max_reconnect_backoff_ms"], 5_000);
  assert.equal(options["grpc.initial_reconnect_backoff_ms"], 100);
  assert.equal(options["grpc.default_compression_algorithm"], undefined);
  assert.deepEqual(JSON.parse(options["grpc.service_config"] ?? ""), {
    loadBalancingConfig: [{ round_robin: {} }],
  });
});

test("C7: no token and no key shows in a printed client", async () => {
  const client = new PinchClient("127.0.0.1:1", { token: "s3cret" });
  assert.ok(!inspect(client, { depth: Infinity, showHidden: true }).includes("s3cret"));
  await client.close();
});

test("C10: the version is that of the package", () => {
  const said = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8")) as { version: string };
  assert.equal(VERSION, said.version);
});
