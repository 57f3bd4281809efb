// Numbers, times and slugs in words. Money is text from start to end: no binary fraction touches it.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat("en-US", { style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2 });
const round = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 0 });

const halves = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

// A median may lie between two counts.
export const middle = (value) => halves.format(value);
export const count = (value) => whole.format(value);
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
export const brief = (value) => short.format(value);
export const percent = (value) => share.format(value);
export const roughly = (value) => round.format(value);

// "-1234.567890" as its sign and whole dollars with separators, and its decimals.
export function money(text) {
  const [dollars, decimals = ""] = text.replace("-", "").split(".");
  const sign = text.startsWith("-") ? "−" : "";
  return [`${sign}$${dollars.replace(/\B(?=(\d{3})+$)/g, ",")}`, decimals ? `.${decimals}` : ""];
}

export function milliseconds(value) {
  if (value == null) return "–";
  if (value >= 1000) return `${(value / 1000).toFixed(value >= 10000 ? 0 : 1)} s`;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ms`;
}

export function duration(seconds) {
  const minutes = Math.round(Math.abs(seconds) / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

export function moment(micros, now = Date.now()) {
  const date = new Date(micros / 1000);
  const isToday = new Date(now).toDateString() === date.toDateString();
  return isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

export const momentInFull = (micros) => full.format(new Date(micros / 1000));

export const slug = (name) => (name ?? "").toLowerCase().replaceAll("_", " ");

const FORMATS = {
  OPENAI_CHAT: "OpenAI Chat", ANTHROPIC_MESSAGES: "Anthropic Messages", OPENAI_RESPONSES: "OpenAI Responses",
  GEMINI: "Gemini", BEDROCK_CONVERSE: "Bedrock Converse",
};
export const formatName = (name) => FORMATS[name] ?? "typed messages, or not understood";

// Makes an element; text is always text, never markup.
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}
