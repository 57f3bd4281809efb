// Lines over time by uPlot, and bars of plain elements: both take their colours from the style sheet.
/* global uPlot */
import { brief, count, counted, el, milliseconds, roughly } from "./words.js";

const drawn = new Map();
let library;

// Run when there is something to draw, not before the first paint: it is half of all scripts.
function loaded() {
  library ??= new Promise((done, failed) => {
    const script = el("script", { src: "/assets/uPlot.js" });
    script.addEventListener("load", done);
    script.addEventListener("error", failed);
    document.head.append(script);
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

function axis(format, size = 52) {
  return {
    stroke: colour("muted"), size, gap: 6, font: "12px system-ui, sans-serif",
    grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
    values: (_plot, values) => values.map((value) => (value == null ? "" : format(value))),
  };
}

// A line of one hour has no length: its hours are drawn as points while they are few.
const isShort = (_plot, _series, first, last) => last - first < 3;

function line(label, stroke, fill, format) {
  return { label, stroke: colour(stroke), fill: fill && colour(fill), width: 1.75, points: { size: 6, show: isShort },
    // Hours without calls say nothing, and are no fall to zero.
    spanGaps: true, value: (_plot, value) => (value == null ? "–" : format(value)) };
}

const hour = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

function lines(id, summary, data, series, format, range) {
  const place = document.getElementById(id);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", summary);
  drawn.get(id)?.destroy();
  drawn.delete(id);
  place.replaceChildren();
  if (!data[0].length || data.slice(1).every((column) => column.every((value) => value == null))) {
    place.append(el("p", { class: "empty" }, "Nothing to draw in this window."));
    return;
  }
  const hours = axis(String, 28);
  hours.values = (_plot, values, _axis, _space, step) => values.map((value) => (step >= 86400 ? date : time).format(value * 1000));
  const plot = new uPlot({
    width: place.clientWidth, height: place.clientHeight - 30, padding: [8, 18, 0, 0],
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { range: hoursAround }, y: { range } },
    axes: [hours, axis(format)],
    series: [{ label: "hour", value: (_plot, value) => (value == null ? "–" : hour.format(value * 1000)) }, ...series],
  }, data, place);
  drawn.set(id, plot);
}

const LEAST_SECONDS = 6 * 3600;
// Without this a window of one hour would be drawn as some years.
const hoursAround = (_plot, low, high) => [Math.min(low, high - LEAST_SECONDS), high - low < LEAST_SECONDS ? high + 1800 : high];

const fromZero = (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1];

export async function drawActivity(activity) {
  await loaded();
  const { start } = activity;
  const sum = (column) => column.reduce((total, value) => total + value, 0);
  lines("plot-tokens",
    `Tokens per hour: ${count(sum(activity.tokens_before))} before pruning, ${count(sum(activity.tokens_after))} after, over ${counted(start.length, "hour")}.`,
    [start, activity.tokens_before, activity.tokens_after],
    [line("before", "before", "before-fill", count), line("after", "after", "after-fill", count)], brief, fromZero);
  lines("plot-latency", "Time to a decision per hour, its median and 95th percentile.",
    [start, activity.latency_median_ms, activity.latency_p95_ms],
    [line("median", "after", null, milliseconds), line("95th percentile", "before", null, milliseconds)], (value) => `${value} ms`, fromZero);
  lines("plot-prefix", "Share of a session's last payload that stands unchanged in the next, per hour.",
    [start, activity.prefix_match],
    [line("unchanged", "after", "after-fill", roughly)], roughly, () => [0, 1.02]);
  const total = sum(activity.calls);
  const rankings = [["hybrid", "vectors, words"], ["cosine", "vectors"], ["lexical", "words"], ["uniform", "all alike"], ["not_needed", "not needed"]];
  bars("bars-ranking", rankings.map(([name, words]) => {
    const calls = sum(activity[`ranking_${name}`]);
    return { words, value: calls, told: total ? roughly(calls / total) : "–", title: counted(calls, "call") };
  }));
  const tools = Object.entries(activity.tools ?? {}).sort(([, one], [, other]) => other - one).slice(0, 6);
  const acts = [["elided", "shortened"], ["omitted", "placeholder"], ["capped", "capped"]];
  const trimmed = tools.length
    ? tools.map(([words, value]) => ({ words, value, told: brief(value), title: counted(value, "result") }))
    : acts.map(([name, words]) => ({ words, value: sum(activity[name]), told: brief(sum(activity[name])), title: "" }));
  bars("bars-trimmed", trimmed);
}

export function drawStages(stages) {
  const most = Math.max(...stages.map((one) => one.p95_seconds ?? 0));
  bars("bars-stages", stages.map((one) => ({
    words: one.stage, value: one.median_seconds ?? 0, mark: one.p95_seconds ?? 0,
    told: one.count ? `${milliseconds(one.median_seconds * 1000)} · ${milliseconds(one.p95_seconds * 1000)}` : "–",
    title: `${counted(one.count, "time")}; median · 95th percentile`,
  })), most);
}

export function bars(id, rows, most = Math.max(...rows.map((row) => row.value))) {
  const place = document.getElementById(id);
  const made = rows.map((row) => {
    const fill = el("span", { class: "fill" });
    fill.style.width = `${most ? (100 * row.value) / most : 0}%`;
    const track = el("span", { class: "track", "aria-hidden": "true" }, fill);
    if (row.mark !== undefined && most) {
      const mark = el("span", { class: "mark" });
      mark.style.left = `${(100 * row.mark) / most}%`;
      track.append(mark);
    }
    return el("li", { title: row.title }, el("span", { class: "name" }, row.words), track, el("span", { class: "told" }, row.told));
  });
  place.replaceChildren(el("ul", {}, ...made));
}

export function resize() {
  for (const [id, plot] of drawn) {
    const place = document.getElementById(id);
    plot.setSize({ width: place.clientWidth, height: place.clientHeight - 30 });
  }
}
