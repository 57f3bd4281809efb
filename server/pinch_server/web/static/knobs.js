// The runtime knobs, for whoever may turn them.
import { ask, send } from "./ask.js";
import { el } from "./words.js";

const MEANING = {
  "enabled": ["Pruning", "Whether conversations are pruned at all."],
  "relevance.enabled": ["Relevance", "Whether candidates are ranked by relevance."],
  "prefix_probe": ["Prefix probe", "Measurement only: compares each payload with the session’s last one, and changes no reply."],
};
const section = document.getElementById("knobs");
const place = document.getElementById("knob-list");
const aside = document.getElementById("knobs-aside");

export async function refresh(changed) {
  let found;
  try {
    found = await ask("knobs");
  } catch {
    // Not for this token: then there is nothing to see.
    section.hidden = true;
    return;
  }
  section.hidden = false;
  aside.textContent = found.may_turn ? "in every process, until the service stops" : "read only: without tokens an open port turns nothing";
  place.replaceChildren(...Object.entries(found.knobs).map(([key, isOn]) => {
    const [title, words] = MEANING[key] ?? [key, ""];
    const button = el("button", { type: "button", role: "switch", "aria-checked": String(isOn), "aria-label": title, "data-knob": key, disabled: !found.may_turn }, el("span", { class: "thumb" }));
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await send("PUT", "/api/v1/knobs", { knobs: { [key]: !isOn } });
        aside.classList.remove("problem");
        await refresh(changed);
        changed();
      } catch (error) {
        aside.textContent = error.message;
        aside.classList.add("problem");
        button.disabled = false;
      }
    });
    return el("div", { class: "knob" }, el("div", {}, el("h3", {}, title, " ", el("code", {}, key)), el("p", { class: "aside" }, words)), button);
  }));
}
