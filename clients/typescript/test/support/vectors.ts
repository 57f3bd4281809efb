/** The vectors that every client runs, and the reported cases beside the checkout, as this client says them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Format, type LimitsInit, type PruneBodyOptions, type Pruned } from "../../src/index.js";
import { REPOSITORY } from "./repository.js";

/** A message's index, and a block's or null for the whole message. */
type Place = readonly [number, number | null];

/** What must come out, by the names of the files. */
interface Expectation {
  readonly output?: string;
  readonly pruned?: boolean;
  readonly budget_met?: boolean;
  readonly must_change?: readonly Place[];
  readonly must_keep?: readonly Place[];
  readonly min_changed?: number;
  readonly no_partial_ansi?: boolean;
}

/** One file's content. */
interface Said {
  readonly format: string;
  readonly input?: string;
  readonly input_base64?: string;
  readonly limits: Record<string, unknown>;
  readonly expect: Expectation;
}

/** A body, how to prune it, and what must come out. */
export interface Vector {
  readonly name: string;
  readonly body: Uint8Array;
  readonly options: PruneBodyOptions;
  readonly expect: Expectation;
}

const FORMATS: Record<string, Format> = {
  "openai-chat": Format.OPENAI_CHAT,
  anthropic: Format.ANTHROPIC_MESSAGES,
  "openai-responses": Format.OPENAI_RESPONSES,
  gemini: Format.GEMINI,
  bedrock: Format.BEDROCK_CONVERSE,
};

/** Every vector of the repository. */
export function vectors(): Vector[] {
  const folder = join(REPOSITORY, "tests", "vectors");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => /[\\/].+\.json$/.test(name))
    .sort()
    .map((name) => {
      const said = JSON.parse(readFileSync(join(folder, name), "utf8")) as Said;
      const { input, input_base64: base64 = "" } = said;
      return vector(name, said, input === undefined ? Buffer.from(base64, "base64") : Buffer.from(input));
    });
}

/** Every reported case, or none where their folder does not lie beside the checkout. */
export function cases(): Vector[] {
  const folder = join(REPOSITORY, "..", "shared", "cases");
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    return [];
  }
  return names.map((name) => {
    const said = JSON.parse(readFileSync(join(folder, name, "case.json"), "utf8")) as Said;
    return vector(name, said, readFileSync(join(folder, name, "body.json")));
  });
}

function vector(name: string, said: Said, body: Uint8Array): Vector {
  const format = FORMATS[said.format];
  if (format === undefined) {
    throw new Error(`${name}: unknown format ${said.format}`);
  }
  return { name, body, options: { format, limits: limitsOf(said.limits) }, expect: said.expect };
}

function limitsOf(said: Record<string, unknown>): LimitsInit {
  const limits = Object.entries(said).map(([name, value]) => {
    const ours = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    if (name === "protected_tools") return [ours, { globs: value }];
    // Enum values are said by the end of their names.
    return [ours, typeof value === "string" ? `${name}_${value}`.toUpperCase() : value];
  });
  return Object.fromEntries(limits) as LimitsInit;
}

/** What of an expectation does not hold of a result; an expectation of an unknown kind is one too. */
export function violations({ body, expect }: Vector, result: Pruned<Uint8Array>): string[] {
  const out = Buffer.from(result.body);
  const isChanged = ([message, block]: Place): boolean =>
    result.edits.some(
      ({ messageIndex, blockIndex }) =>
        messageIndex === message && (block === null || (blockIndex ?? null) === block),
    );
  const changed = new Set(
    result.edits.map(({ messageIndex, blockIndex }) => `${messageIndex}/${blockIndex}`),
  );
  const holds: Record<keyof Expectation, boolean> = {
    output: expect.output === undefined || out.equals(Buffer.from(expect.output)),
    pruned:
      expect.pruned === undefined || (result.pruned === expect.pruned && !out.equals(body) === expect.pruned),
    budget_met: expect.budget_met === undefined || result.stats?.budgetMet === expect.budget_met,
    must_change: (expect.must_change ?? []).every(isChanged),
    must_keep: !(expect.must_keep ?? []).some(isChanged),
    min_changed: changed.size >= (expect.min_changed ?? 0),
    no_partial_ansi: true, // the server's own tests look at it
  };
  const unknown = Object.keys(expect).filter((name) => !(name in holds));
  const broken = Object.entries(holds).filter(([, isHeld]) => !isHeld);
  return [...unknown, ...broken.map(([name]) => name)];
}
