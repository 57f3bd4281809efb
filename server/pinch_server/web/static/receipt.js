// One decision and its receipt: what was trimmed, why, and how large it was before and after.
import { ask } from "./ask.js";
import { count, counted, el, formatName, milliseconds, momentInFull, percent, slug } from "./words.js";

const REASONS = {
  outside_window: "older than the protected turns", contraction: "older than the protected rounds",
  outsized: "outsized", fresh_outsized: "outsized, though among the newest",
  duplicate: "the same as another result", superseded: "a newer result took its place", arrival: "outsized on arrival",
};
const ACTIONS = { elided: "shortened", omitted: "placeholder", capped: "capped" };

export async function show(place, id) {
  let found;
  try {
    found = await ask(`decisions/${encodeURIComponent(id)}`);
  } catch (error) {
    place.replaceChildren(back(), el("h1", {}, "Decision"), el("p", { class: "notice bad" }, error.message));
    return;
  }
  const { decision: one, trims } = found;
  document.title = `Decision ${id.slice(0, 8)} · Pinch`;
  place.replaceChildren(back(), el("h1", {}, "Decision"), el("p", { class: "id" }, one.decision_id), sizes(one),
    el("div", { class: "panels" }, facts(one), outcome(one)), receipt(one, trims));
}

const back = () => el("p", {}, el("a", { href: "/" }, "← All decisions"));

function sizes(one) {
  if (one.pinch_original_tokens === undefined) {
    return el("p", { class: "notice note" }, el("strong", {}, "Pruning was switched off."), " The conversation passed as it came.");
  }
  const before = one.pinch_original_tokens, after = one.pinch_final_tokens;
  const fill = el("span", { class: "fill" });
  fill.style.width = `${before ? (100 * after) / before : 0}%`;
  return el("section", { class: "panel sizes" },
    el("p", { class: "figure" }, `${count(before)} → ${counted(after, "token")}`),
    el("span", { class: "track", "aria-hidden": "true" }, fill),
    el("p", { class: "aside" }, before > after
      ? `${count(before - after)} saved, ${percent((before - after) / before)}${one.dry_run ? "; a dry run: the conversation passed as it came" : ""}`
      : "Nothing was taken away."));
}

function facts(one) {
  const made = [
    ["Made", momentInFull(one.created_at_unix_micros)], ["Model", one.model || "–"], ["Format", formatName(one.format)],
    ["Route", slug(one.route)], ["Request", one.request_id || "–"], ["Session", one.session_hash ? `${one.session_hash.slice(0, 16)}…` : "–"],
    ["Messages", count(one.messages)], ["Open to trimming", counted(one.candidates, "result")],
    ["Budget", one.budget_met ? "met" : "not met"],
    ["Ordered by", slug(one.ranking) + (one.ranking_reason ? ` (${slug(one.ranking_reason)})` : "")],
    ["Decided in", milliseconds(one.latency_micros / 1000)], ["Settings", one.settings_fingerprint],
  ];
  if (one.prefix && !one.prefix.previous_messages) made.push(["Prefix", "the first payload of its session"]);
  else if (one.prefix) made.push(["Prefix", `${count(one.prefix.matching_messages)} of ${counted(one.prefix.previous_messages, "message")} unchanged`]);
  return list("The call", made);
}

function outcome(one) {
  const made = [["Outcome", slug(one.outcome)]];
  if (one.outcome_at_unix_micros) made.push(["Reported", momentInFull(one.outcome_at_unix_micros)]);
  if (one.selected_model) made.push(["Model called", one.selected_model]);
  const usage = one.usage ?? {};
  for (const [name, words] of [["prompt_tokens", "Prompt"], ["cached_tokens", "From the cache"], ["cache_write_tokens", "Into the cache"], ["completion_tokens", "Answer"]]) {
    if (usage[name] !== undefined) made.push([words, counted(usage[name], "token")]);
  }
  if (one.cost_usd) made.push(["Cost", `$${one.cost_usd}`]);
  if (one.rates) made.push(["Price of a million", `$${one.rates.prompt}${one.rates.cached_prompt ? `, cached $${one.rates.cached_prompt}` : ""}`]);
  else made.push(["Price", "not known: counted in tokens alone"]);
  return list("What became of it", made);
}

const list = (title, pairs) => el("section", { class: "panel" }, el("h2", {}, title),
  el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));

function receipt(one, trims) {
  const section = el("section", { class: "panel list", "aria-labelledby": "receipt-title" }, el("h2", { id: "receipt-title" }, "Receipt"));
  const first = one.elided + one.omitted + one.capped;
  if (!trims?.length) {
    section.append(el("p", { class: "empty" }, first
      ? `${counted(one.elided, "result")} shortened, ${count(one.omitted)} replaced by a placeholder, ${count(one.capped)} capped. Which ones is not kept.`
      : "No result was trimmed, or which ones is not kept."));
    return section;
  }
  const fresh = trims.filter((trim) => trim.is_new).length;
  section.append(el("p", { class: "aside" }, `${counted(trims.length, "result")} other than what came${fresh ? `, ${count(fresh)} of them for the first time in this call` : ""}.`));
  const body = el("tbody", {}, ...trims.map((trim) => {
    const fill = el("span", { class: "fill" });
    fill.style.width = `${trim.tokens_before ? (100 * trim.tokens_after) / trim.tokens_before : 0}%`;
    return el("tr", {},
      el("td", { class: "number" }, String(trim.message_index)),
      el("td", { class: "model" }, trim.tool || "–"),
      el("td", {}, trim.extracted ? "filtered" : ACTIONS[trim.action.toLowerCase()] ?? slug(trim.action)),
      el("td", {}, REASONS[trim.reason] ?? slug(trim.reason)),
      el("td", { class: "number" }, count(trim.tokens_before)),
      el("td", { class: "number" }, count(trim.tokens_after)),
      el("td", { class: "saved" }, el("span", { class: "track", "aria-hidden": "true" }, fill)),
      el("td", {}, trim.is_new ? "now" : `before message ${trim.event_message_index}`));
  }));
  const head = ["Message", "Tool", "What", "Why", "Before", "After", "Left", "Decided"];
  const numbers = new Set(["Message", "Before", "After"]);
  section.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of trimmed results" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col", class: numbers.has(name) ? "number" : null }, name)))), body)));
  return section;
}
