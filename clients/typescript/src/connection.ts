/** Where the servers are and how to reach them: addresses, TLS, token, channel options (C4, C5, C7, C10). */

import { isIPv4, isIPv6 } from "node:net";

import { type ChannelCredentials, type ChannelOptions, credentials, Metadata } from "@grpc/grpc-js";

import { onlyKnown } from "./options.js";
import { VERSION } from "./version.js";

/** Largest request and largest reply, in bytes. */
export const MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Time for a whole call, its retry included, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 2_000;

/** How to speak TLS; when empty, with the roots that Node trusts. */
export interface Tls {
  /** Trusted roots in PEM. */
  readonly rootCertificates?: Uint8Array | string | undefined;
  /** The client's key in PEM, for mutual TLS. */
  readonly privateKey?: Uint8Array | string | undefined;
  /** The client's certificate in PEM, for mutual TLS. */
  readonly certificateChain?: Uint8Array | string | undefined;
  /** Name to expect in the server's certificate, needed when addresses are plain IPs. */
  readonly serverName?: string | undefined;
}

/** What a client may be told when it is made. */
export interface ClientOptions {
  /** Time for a whole call, its retry included, in milliseconds. 2,000 unless told otherwise. */
  readonly timeoutMs?: number | undefined;
  /** Throw {@link PinchError} where a call would else return the conversation as it came. */
  readonly strict?: boolean | undefined;
  /** Bearer token, sent with every call; use it with TLS, a unix socket or loopback only. */
  readonly token?: string | undefined;
  /** TLS settings; without them, plain text. */
  readonly tls?: Tls | undefined;
  /** Further metadata for every call: lower-case names, printable ASCII. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Everything that opening a channel takes, checked once. */
export interface Connection {
  /** The gRPC target. */
  readonly target: string;
  /** Channel credentials. */
  readonly credentials: ChannelCredentials;
  /** Channel options by name. */
  readonly options: ChannelOptions;
  /** Metadata of every call. */
  readonly metadata: Metadata;
}

const CHANNEL_OPTIONS: ChannelOptions = {
  "grpc.max_send_message_length": MESSAGE_LIMIT_BYTES,
  "grpc.max_receive_message_length": MESSAGE_LIMIT_BYTES,
  // A peer that vanished is found out between calls, not by the next call's deadline.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.keepalive_permit_without_calls": 1,
  // gRPC's own bound is two minutes: too long to run unpruned after a server has come back.
  "grpc.max_reconnect_backoff_ms": 5_000,
  // And its first pause is a second, which a restart would cost each of its callers.
  "grpc.initial_reconnect_backoff_ms": 100,
  // Also for one address, which may be a name with several records.
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // Else a name's TXT records would be asked for another one.
  "grpc.service_config_disable_resolution": 1,
  "grpc.primary_user_agent": `pinch-typescript/${VERSION}`,
};

const PRINTABLE = /^[\x20-\x7e]+$/;
// HTTP/2 has no such headers: a server refuses the whole call, or gRPC sends it again and again.
const OF_HTTP1 = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
const METADATA_NAME = /^[a-z0-9_.-]+$/;
const TLS_OPTIONS = ["rootCertificates", "privateKey", "certificateChain", "serverName"];

/**
 * Checks a client's arguments.
 *
 * @param addresses - One or more addresses.
 * @param options - What the client was told.
 * @throws TypeError when there is no address, the addresses cannot share a channel, only one half of the
 * client's identity is given, or a token or metadata cannot be sent.
 */
export function connection(addresses: string | readonly string[], options: ClientOptions): Connection {
  const { tls } = options;
  onlyKnown("tls", tls, TLS_OPTIONS);
  const named = tls?.serverName;
  return {
    target: targetOf(addresses),
    credentials: tls === undefined ? credentials.createInsecure() : secure(tls),
    options:
      named === undefined
        ? CHANNEL_OPTIONS
        : { ...CHANNEL_OPTIONS, "grpc.ssl_target_name_override": named, "grpc.default_authority": named },
    metadata: metadataOf(options),
  };
}

function secure(tls: Tls): ChannelCredentials {
  if ((tls.privateKey === undefined) !== (tls.certificateChain === undefined)) {
    throw new TypeError("mutual TLS needs both privateKey and certificateChain");
  }
  return credentials.createSsl(pem(tls.rootCertificates), pem(tls.privateKey), pem(tls.certificateChain));
}

function pem(text: Uint8Array | string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}

function metadataOf(options: ClientOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(options.metadata ?? {})) {
    const isOurs = name === "pinch-client" || name === "authorization" || name.startsWith("grpc-");
    if (isOurs || OF_HTTP1.includes(name) || name.endsWith("-bin") || !METADATA_NAME.test(name)) {
      throw new TypeError(`metadata cannot be named ${JSON.stringify(name)}`);
    }
    if (!PRINTABLE.test(value)) {
      throw new TypeError(`metadata ${name} must be printable ASCII and not empty`);
    }
    metadata.set(name, value);
  }
  if (options.token !== undefined) {
    if (!PRINTABLE.test(options.token)) {
      throw new TypeError("token must be printable ASCII and not empty");
    }
    metadata.set("authorization", `Bearer ${options.token}`);
  }
  metadata.set("pinch-client", `typescript/${VERSION}`);
  return metadata;
}

/**
 * The gRPC target for one address or several.
 *
 * @param addresses - One or more `host:port`, `unix:/path` or any other gRPC target; a text may hold several,
 * separated by commas.
 * @throws TypeError when none is given, one is a URL or has no port, or several are not all IPv4 or all IPv6:
 * gRPC cannot join those.
 */
export function targetOf(addresses: string | readonly string[]): string {
  const isWhole = typeof addresses === "string" && /^ipv[46]:/.test(addresses);
  const separate = typeof addresses === "string" && !isWhole ? addresses.split(",") : [addresses].flat();
  const given = separate.map((address) => address.trim());
  const [first] = given;
  if (first === undefined || given.includes("")) {
    throw new TypeError("at least one address is needed, and none may be empty");
  }
  if (given.length === 1) {
    return reachable(first);
  }
  if (given.every((address) => /^[^[\]]+:\d+$/.test(address) && isIPv4(hostOf(address)))) {
    return `ipv4:${given.join(",")}`;
  }
  if (given.every((address) => /^\[.+\]:\d+$/.test(address) && isIPv6(hostOf(address).slice(1, -1)))) {
    return `ipv6:${given.join(",")}`;
  }
  throw new TypeError(
    "several addresses must all be IPv4:port or all [IPv6]:port; " +
      `for several hosts use one DNS name with a record for each, not ${given.join(", ")}`,
  );
}

/** Refuses what gRPC would take for a name to look up, or for port 443, and never reach. */
function reachable(address: string): string {
  if (/^https?:\/\//.test(address)) {
    throw new TypeError(`address ${address} is a URL: give host:port, and tls for TLS`);
  }
  if (!address.includes(":") || address.endsWith("]")) {
    throw new TypeError(`address ${address} has no port: give host:port`);
  }
  return address;
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":"));
}
