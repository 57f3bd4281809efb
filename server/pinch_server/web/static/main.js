// The page: asks, shows, and asks again.
import { ask, send } from "./ask.js";
import * as decisions from "./decisions.js";
import { show as showExtraction } from "./extraction.js";
import * as knobs from "./knobs.js";
import { notices, show as showNotices } from "./notices.js";
import { drawActivity, drawStages, resize } from "./plots.js";
import { show as showReceipt } from "./receipt.js";
import { count, counted, el, middle, momentInFull, money, percent } from "./words.js";

const EVERY_MS = 1200;
const SLOWLY = 10;
const at = (id) => document.getElementById(id);
const shown = { state: null, problem: null, savings: null, activity: null, days: 30 };
let newest;
let round = 0;

const windowWords = () => (shown.days === 1 ? "24 hours" : `${shown.days} days`);

function showSavings() {
  const saved = shown.savings;
  const cards = [
    ["share", saved && percent(saved.share_pruned), saved && `${count(saved.pruned_calls_30d)} of ${counted(saved.calls_30d, "call")}`],
    ["tokens", saved && count(saved.total_tokens_saved), `in the last ${windowWords()}`],
    ["median", saved && (saved.median_tokens_saved === undefined ? "–" : middle(saved.median_tokens_saved)), "tokens, of each pruned call"],
  ];
  for (const [id, figure, aside] of cards) {
    at(id).textContent = figure ?? "–";
    at(`${id}-aside`).textContent = figure == null ? "Pinch is disabled" : aside;
  }
  if (saved?.dollars_saved_usd_30d !== undefined) {
    const [dollars, decimals] = money(saved.dollars_saved_usd_30d);
    at("dollars").replaceChildren(dollars, el("small", {}, decimals));
    const resets = saved.next_reset_date ? `; billing resets ${saved.next_reset_date}` : "";
    at("dollars-aside").textContent = (saved.unpriced_calls ? `${counted(saved.unpriced_calls, "pruned call")} without a known price` : `in the last ${windowWords()}`) + resets;
  } else {
    at("dollars").textContent = "–";
    at("dollars-aside").textContent = saved ? "no price is known for these calls" : "Pinch is disabled";
  }
}

function showStanding() {
  const { state, problem } = shown;
  if (!state) return;
  const embedding = Object.values(state.embedder_faults).reduce((sum, value) => sum + value, 0);
  const standing = [
    [state.is_enabled ? "good" : "off", state.is_enabled ? "pruning" : "disabled"],
    [state.database.problem ? "bad" : "good", state.database.kind],
    state.embeddings_asked ? [embedding ? "off" : "good", embedding ? `embedder: ${count(embedding)} failed` : "embedder"] : null,
    state.journal_pending > 100 ? ["off", `${count(state.journal_pending)} in the journal`] : null,
  ].filter(Boolean);
  at("standing").replaceChildren(...standing.map(([kind, words]) => el("li", { class: kind }, el("span", { class: "dot", "aria-hidden": "true" }), words)));
  at("version").textContent = `Pinch ${state.version}, up since ${momentInFull(state.started_at_unix_micros)}`;
  at("sign-out").hidden = !state.caller;
  drawStages(state.stages);
  showExtraction(state.extraction);
  at("live").className = `live ${problem ? "bad" : "good"}`;
  at("live-words").textContent = problem ? "not answered" : decisions.isFirstPage() ? "live" : "live on the first page";
}

const failed = (error) => { shown.problem = error; showNotices(at("notices"), notices(shown)); };

async function refreshSavings() {
  const days = shown.days;
  const found = await ask("savings", { window_days: days });
  if (days !== shown.days) return;
  shown.savings = found.savings ?? null;
  showSavings();
  performance.mark("savings");
}

async function refreshActivity() {
  const days = shown.days;
  const found = await ask("activity", { window_days: days });
  if (days !== shown.days) return;
  shown.activity = found;
  await drawActivity(found);
}

async function everything() {
  await Promise.all([refreshSavings(), decisions.refresh(), refreshActivity()]);
}

async function look() {
  round += 1;
  try {
    const state = await ask("state");
    const isNew = newest !== state.newest_decision_unix_micros || shown.state?.is_enabled !== state.is_enabled;
    newest = state.newest_decision_unix_micros;
    // To whom they are refused they are not shown: asking would only be refused again.
    if (!shown.state && (!state.caller || state.caller.roles.includes("admin"))) knobs.refresh(look);
    shown.state = state;
    shown.problem = null;
    showStanding();
    // Outcomes come without a new decision, and hours pass without one.
    if (!state.database.problem && (isNew || round % SLOWLY === 0)) {
      if (decisions.isFirstPage()) await decisions.refresh();
      await refreshSavings();
      if (round % SLOWLY === 0) await refreshActivity();
    }
  } catch (error) {
    shown.problem = error;
    showStanding();
  }
  showNotices(at("notices"), notices(shown));
}

async function keepLooking() {
  if (!document.hidden) await look();
  setTimeout(keepLooking, EVERY_MS);
}

function startOverview() {
  decisions.start(failed);
  for (const button of document.querySelectorAll("[data-days]")) {
    button.addEventListener("click", () => {
      shown.days = Number(button.dataset.days);
      for (const one of document.querySelectorAll("[data-days]")) one.setAttribute("aria-pressed", String(one === button));
      Promise.all([refreshSavings(), refreshActivity()]).catch(failed);
    });
  }
  everything().catch(failed).finally(() => { performance.mark("drawn"); document.body.dataset.drawn = "true"; });
  keepLooking();
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(resize); });
}

const THEMES = ["system", "light", "dark"];
function startTheme() {
  const button = at("theme");
  const tell = () => { button.setAttribute("aria-label", `Colours: ${document.documentElement.dataset.theme ?? "as the system has them"}`); };
  const redraw = () => { if (shown.activity) drawActivity(shown.activity); };
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "system";
    const then = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    if (then === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = then;
    try { localStorage.setItem("pinch-theme", then); } catch { /* then it lasts as long as the page */ }
    tell();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  tell();
}

// The bare page is painted first, then filled.
await new Promise((painted) => { requestAnimationFrame(() => setTimeout(painted)); });
startTheme();
at("sign-out").addEventListener("click", async () => { await send("POST", "/logout", {}).catch(() => null); location.assign("/"); });
const path = location.pathname.match(/^\/decisions\/([^/]+)$/);
if (path) {
  at("overview").hidden = true;
  at("receipt").hidden = false;
  showReceipt(at("receipt"), path[1]).finally(() => { document.body.dataset.drawn = "true"; });
  ask("state").then((state) => { shown.state = state; showStanding(); }, () => null);
} else {
  startOverview();
}
