/**
 * Checks the edits of a reply and applies them to a copy (C6, C8).
 *
 * Every edit is checked before any is applied: a reply is used whole or not at all.
 */

import { createHash } from "node:crypto";

import type { ChatMessageInit, ContentPartInit } from "./conversations.js";
import { ReplyError } from "./errors.js";
import type { Edit } from "./generated/pinch/v1/prune.js";

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Replaces byte ranges of a request body.
 *
 * @param body - The request body as it was sent; never changed.
 * @param edits - Edits in the body form, ascending by offset and not overlapping.
 * @returns The edited body; every byte outside the edits is the same.
 * @throws ReplyError when an edit is out of order, overlaps the one before, leaves the body, was made for
 * other bytes than these, replaces none, or puts anything but one JSON value there.
 */
export function applyByteEdits(body: Uint8Array, edits: readonly Edit[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let position = 0;
  for (const [number, edit] of edits.entries()) {
    const end = edit.offset + edit.length;
    if (edit.length <= 0 || edit.offset < 0 || end > body.length) {
      throw new ReplyError(`edit ${number} replaces nothing, or leaves the body of ${body.length} bytes`);
    }
    if (edit.offset < position) {
      throw new ReplyError(`edit ${number} is out of order or overlaps the one before`);
    }
    if (!hasHash(body.subarray(edit.offset, end), edit.replacedSha256)) {
      throw new ReplyError(`edit ${number} was made for other bytes`);
    }
    if (!isJson(edit.replacement)) {
      throw new ReplyError(`edit ${number} puts something there that is no JSON value`);
    }
    pieces.push(body.subarray(position, edit.offset), edit.replacement);
    position = end;
  }
  pieces.push(body.subarray(position));
  return Buffer.concat(pieces);
}

/**
 * Replaces content parts of typed messages.
 *
 * @param messages - The messages as they were sent; never changed.
 * @param edits - Edits in the typed form, ascending by message and part.
 * @returns A new list, which shares the untouched messages with the old one.
 * @throws ReplyError when an edit is out of order, names no existing part, carries no replacement or an
 * empty one, or was made for another part than this.
 */
export function applyPartEdits(
  messages: readonly ChatMessageInit[],
  edits: readonly Edit[],
): ChatMessageInit[] {
  const edited = [...messages];
  let lastMessage = -1;
  let lastPart = -1;
  for (const [number, edit] of edits.entries()) {
    const { messageIndex, partIndex, replacementPart } = edit;
    if (partIndex === undefined || replacementPart === undefined || isEmpty(replacementPart)) {
      throw new ReplyError(`edit ${number} names no part or no replacement`);
    }
    if (messageIndex < lastMessage || (messageIndex === lastMessage && partIndex <= lastPart)) {
      throw new ReplyError(`edit ${number} is out of order or repeats a part`);
    }
    const message = edited[messageIndex];
    const part = message?.content?.[partIndex];
    if (message?.content === undefined || part === undefined) {
      throw new ReplyError(`edit ${number} leaves the conversation of ${messages.length} messages`);
    }
    if (!hasHash(identity(part), edit.replacedSha256)) {
      throw new ReplyError(`edit ${number} was made for another part`);
    }
    edited[messageIndex] = { ...message, content: message.content.with(partIndex, replacementPart) };
    lastMessage = messageIndex;
    lastPart = partIndex;
  }
  return edited;
}

function hasHash(bytes: Uint8Array, sha256: Uint8Array): boolean {
  return createHash("sha256").update(bytes).digest().equals(sha256);
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(UTF8.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

function isEmpty(part: ContentPartInit): boolean {
  return part.text === undefined && part.image === undefined && part.opaqueJson === undefined;
}

/** The bytes by which an edit recognises a part; of several fields the last one counts, as on the wire. */
function identity(part: ContentPartInit): Uint8Array {
  if (part.opaqueJson !== undefined) {
    return part.opaqueJson;
  }
  if (part.image !== undefined) {
    // An image whose data is empty is known by its address.
    const data = part.image.data;
    return data !== undefined && data.length > 0 ? data : Buffer.from(part.image.url ?? "");
  }
  return Buffer.from(part.text ?? "");
}
