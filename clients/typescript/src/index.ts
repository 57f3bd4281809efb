/**
 * The client of the Pinch service, which shortens agent conversations before they are sent to a model.
 *
 * Whatever goes wrong, the result's `body` can be sent on: it is then the caller's own, and `reason` says why.
 *
 * @packageDocumentation
 */

export { PinchClient } from "./client.js";
export { type ClientOptions, DEFAULT_TIMEOUT_MS, MESSAGE_LIMIT_BYTES, type Tls } from "./connection.js";
export type { Body, ChatMessageInit, ContentPartInit, SameKind } from "./conversations.js";
export { CallError, PinchError, ReplyError, RequestError } from "./errors.js";
export {
  CacheState,
  Format,
  Outcome,
  Ranking,
  Route,
  Stability,
  TrimAction,
  TrimStyle,
} from "./generated/pinch/v1/prune.js";
export type {
  CacheContext,
  ChatMessage,
  ContentPart,
  DeepPartial,
  Economics,
  Edit,
  ExtractionDecision,
  Image,
  Limits,
  Measured,
  PrefixProbe,
  PruneStats,
  Rates,
  RequestContext,
  TokenUsage,
  ToolCall,
  ToolGlobs,
  TurnFrame,
} from "./generated/pinch/v1/prune.js";
export type {
  CallOptions,
  LimitsInit,
  OutcomeOptions,
  PruneBodyOptions,
  PruneOptions,
  RequestContextInit,
} from "./options.js";
export type { ReportedOutcome } from "./outcomes.js";
export type { Pruned } from "./pruned.js";
export { VERSION } from "./version.js";
