// What a cheap model's filters did, and whether they were worth their money.
import { bars } from "./plots.js";
import { brief, count, counted, el, milliseconds, money, slug } from "./words.js";

const MOST_ROWS = 6;
const GATES = {
  non_text_blocks: "not one text", empty_or_marker_present: "empty, or trimmed before it came",
  kept_verbatim_after_expand: "the whole was asked for", cached_prefix: "sent as an excerpt before",
  cached_prefix_above_floor: "sent as an excerpt before, large", below_output_floor: "too small",
  request_trigger_not_fired: "far from the budget", no_model_this_request: "not the call’s turn, or under way",
  per_output_disabled: "no cold sweep", no_goal_keywords: "no words to look for", skip_file_read: "a file that was read",
  over_model_context: "larger than the model’s window", cannot_fit_the_elision: "too long for its excerpt",
  refused_before: "refused before", economic_gate: "would cost more than it saves",
  over_cold_sweep_cap: "cap of a cold sweep", over_per_request_cap: "cap of a request", over_per_session_cap: "cap of a session",
};
const REASONS = {
  "suppressed: disabled by default on caching backends (measured net-negative)": "the provider caches prompts",
  "cache-aware, saving below call cost": "saves less than it costs, warm cache",
};
const at = (id) => document.getElementById(`extraction-${id}`);
const sum = (counts) => Object.values(counts).reduce((total, value) => total + value, 0);
const ordered = (counts) => Object.entries(counts).sort(([, one], [, other]) => other - one);

export function show(found) {
  document.getElementById("extraction").hidden = !found;
  if (!found) return;
  at("sent").textContent = count(found.sent_fresh + found.sent_replayed);
  at("sent-aside").textContent = `${count(found.sent_fresh)} for the first time, ${count(found.sent_replayed)} again`;
  at("calls").textContent = count(found.calls);
  at("calls-aside").textContent = calls(found);
  for (const name of ["cost", "value", "net"]) {
    const [dollars, decimals] = money(found[`${name}_usd`]);
    at(name).replaceChildren(dollars, el("small", {}, decimals));
  }
  at("net").classList.toggle("problem", found.net_usd.startsWith("-"));
  at("net-aside").textContent = `against results sent whole; ${money(found.net_beyond_excerpt_usd).join("")} against the excerpts`;
  at("value-aside").textContent = `${counted(found.saved_tokens, "token")} shorter than they came`;
  rows("extraction-suppressed", found.suppressed, GATES);
  rows("extraction-reasons", found.reasons, REASONS);
  rows("extraction-filters", found.filters, {});
}

function calls(found) {
  const parts = [`${count(found.calls_avoided)} spared`, `median ${milliseconds(found.median_call_seconds == null ? null : found.median_call_seconds * 1000)}`, `${count(found.truncated)} truncated`];
  const [worst] = ordered(found.call_faults);
  if (sum(found.repairs)) parts.push(`${count(found.repairs.fixed ?? 0)} of ${count(sum(found.repairs))} repaired`);
  if (worst) parts.push(`${count(sum(found.call_faults))} not answered (${slug(worst[0])})`);
  return parts.join(", ");
}

function rows(id, counts, words) {
  const all = ordered(counts);
  const rest = all.slice(MOST_ROWS);
  const made = all.slice(0, MOST_ROWS).map(([name, value]) => ({ words: words[name] ?? slug(name), value, told: brief(value), title: `${name}: ${count(value)}` }));
  if (rest.length) {
    const value = sum(Object.fromEntries(rest));
    made.push({ words: "others", value, told: brief(value), title: rest.map(([name, one]) => `${name}: ${count(one)}`).join(", ") });
  }
  if (made.length) bars(id, made);
  else document.getElementById(id).replaceChildren(el("p", { class: "empty" }, "None yet."));
}
