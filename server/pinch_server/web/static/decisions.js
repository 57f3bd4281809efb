// The table of decisions: filters, pages, and new rows at the top as they come.
import { ask } from "./ask.js";
import { count, el, milliseconds, moment, momentInFull, slug } from "./words.js";

const SIZE = 25;
const form = document.getElementById("filters");
const rows = document.getElementById("rows");
const empty = document.getElementById("rows-empty");
const newer = document.getElementById("newer");
const older = document.getElementById("older");
const words = document.getElementById("page-words");

// Tokens of the pages up to the one that is shown; the first page has none.
let pages = [""];
let next = "";
let known = new Set();
let asked = 0;

const chosen = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

export const isFirstPage = () => pages.length === 1;

export async function refresh() {
  const mine = ++asked;
  const found = await ask("decisions", { ...chosen(), page_size: SIZE, page_token: pages.at(-1) });
  // A later question was asked meanwhile, and its answer is the one that counts.
  if (mine !== asked) return;
  next = found.next_page_token;
  const isFirst = known.size === 0;
  rows.replaceChildren(...found.decisions.map((one) => row(one, !isFirst && isFirstPage() && !known.has(one.decision_id))));
  known = new Set(found.decisions.map((one) => one.decision_id));
  const isFiltered = Object.values(chosen()).some(Boolean);
  empty.hidden = found.decisions.length > 0;
  empty.textContent = next ? "None of these here; older ones may be." : isFiltered ? "No decision is like that." : "No decisions yet.";
  newer.disabled = isFirstPage();
  older.disabled = !next;
  words.textContent = isFirstPage() ? "newest first" : `page ${pages.length}`;
}

function row(one, isNew) {
  const hasSizes = one.pinch_original_tokens !== undefined;
  const saved = hasSizes ? Math.max(one.pinch_original_tokens - one.pinch_final_tokens, 0) : 0;
  const trimmed = one.elided + one.omitted + one.capped;
  const fill = el("span", { class: "fill" });
  fill.style.width = `${hasSizes && one.pinch_original_tokens ? (100 * saved) / one.pinch_original_tokens : 0}%`;
  const link = el("a", { href: `/decisions/${one.decision_id}`, title: `${momentInFull(one.created_at_unix_micros)}, ${one.decision_id}` }, moment(one.created_at_unix_micros));
  return el("tr", { class: isNew ? "new" : null },
    el("td", {}, link),
    el("td", { class: "model" }, one.selected_model || one.model || "–"),
    el("td", { class: "number" }, hasSizes ? count(one.pinch_original_tokens) : "–"),
    el("td", { class: "number" }, hasSizes ? count(one.pinch_final_tokens) : "–"),
    el("td", { class: "saved" }, el("span", { class: "told" }, saved ? count(saved) : "–"), el("span", { class: "track", "aria-hidden": "true" }, fill)),
    el("td", { class: "number" }, trimmed ? count(trimmed) : "–"),
    el("td", { title: one.ranking_reason || null }, one.ranking === "NOT_NEEDED" ? "–" : slug(one.ranking)),
    el("td", { class: "number" }, milliseconds(one.latency_micros / 1000)),
    el("td", {}, el("span", { class: `outcome ${one.outcome.toLowerCase()}` }, one.dry_run ? "dry run" : slug(one.outcome))));
}

export function start(failed) {
  const again = () => refresh().catch(failed);
  const fromTheNewest = () => { pages = [""]; known = new Set(); again(); };
  let typing = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", fromTheNewest);
  form.addEventListener("input", (event) => {
    if (event.target.tagName !== "INPUT") return;
    clearTimeout(typing);
    typing = setTimeout(fromTheNewest, 250);
  });
  form.addEventListener("reset", () => setTimeout(fromTheNewest));
  older.addEventListener("click", () => { pages.push(next); again(); });
  newer.addEventListener("click", () => { pages.pop(); again(); });
}
