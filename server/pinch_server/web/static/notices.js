// What is the matter, in the words of whoever has to mend it.
import { count, counted, duration, el, momentInFull } from "./words.js";

const MOST_SKEW_SECONDS = 300;

export function notices({ state, problem, savings, days }) {
  const found = [];
  if (problem?.status === 0) {
    found.push(["bad", "The service does not answer.", "What is shown is the last that it said; the page goes on asking."]);
    return found;
  }
  if (problem?.status === 403) {
    found.push(["bad", "This token may not see savings and decisions.", "They need a token of the role insight."]);
    return found;
  }
  if (!state) return found;
  if (state.database.problem) {
    const waiting = state.journal_pending
      ? ` Waiting in the journal: ${counted(state.journal_pending, "record")}, to be stored when it is back.`
      : " New decisions wait in the journal, and are stored when it is back.";
    found.push(["bad", `The database does not answer (${state.database.kind}: ${state.database.problem}).`,
      `Calls are pruned as before.${waiting}`]);
  }
  if (!state.is_enabled) {
    found.push(["note", "Pinch is disabled.", "Conversations pass as they come, and there are no savings to show. The knob “enabled” turns it on."]);
  }
  if (!state.is_ready) {
    found.push(["note", "The service takes no calls at the moment.", "It is starting or stopping."]);
  }
  const skew = state.now_unix_micros / 1e6 - Date.now() / 1000;
  if (Math.abs(skew) > MOST_SKEW_SECONDS) {
    found.push(["bad", `The clock of the service is ${duration(skew)} ${skew > 0 ? "ahead of" : "behind"} this computer’s.`,
      `There it is ${momentInFull(state.now_unix_micros)}. Windows and hours are those of the service: set the clock that is wrong.`]);
  }
  const ahead = (state.newest_decision_unix_micros ?? 0) / 1e6 - state.now_unix_micros / 1e6;
  if (ahead > MOST_SKEW_SECONDS) {
    found.push(["bad", `Decisions are dated up to ${duration(ahead)} ahead of the clock of the service.`,
      "Another replica’s clock is wrong, or this one’s was. They count once their time has come."]);
  }
  if (!state.database.problem && state.newest_decision_unix_micros === null) {
    found.push(["note", "No decisions yet.",
      "The first call of Prune shows up here within two seconds. “make demo” makes one; a client needs the address of the gRPC port."]);
  }
  const age = (state.now_unix_micros - (state.newest_decision_unix_micros ?? 0)) / 1e6;
  if (savings && savings.calls_30d === 0 && age < state.outcome_grace_seconds) {
    found.push(["note", "The newest decisions do not count yet.",
      `One counts once its outcome is reported, else ${count(state.outcome_grace_seconds)} s after it was made.`]);
  }
  if (savings && savings.pruned_calls_30d > 0 && savings.unpriced_calls === savings.pruned_calls_30d) {
    found.push(["note", `No price is known for any call of the last ${days === 1 ? "24 hours" : `${days} days`}.`,
      "Tokens are counted, money is not. Send rates with the requests, or set objective.prompt_rate."]);
  }
  if (state.journal_dropped > 0) {
    found.push(["bad", `${counted(state.journal_dropped, "record")} could not be journalled.`, "The calls were answered with persisted = false; the disk is full or refuses writes."]);
  }
  return found;
}

export function show(place, found) {
  const key = JSON.stringify(found);
  // The same words again would be read out again.
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.replaceChildren(...found.map(([kind, title, words]) =>
    el("p", { class: `notice ${kind}` }, el("strong", {}, title), " ", words)));
}
