// Formats text and numbers for people, in their language.

/** The language of the page, as the gateway chose it. */
const language = document.documentElement.lang || "en";
/** English text → text in that language. English needs no table; without its table, the page is in English. */
const { default: texts = {}, phrases = {} } =
  language === "en" ? {} : await import(`./${language}.js`).catch(() => ({}));

/** Translate a text: t`${done} of ${all}` is "{0} of {1}" in the table. */
export function t(parts, ...values) {
  const text = parts.reduce((all, part, at) => `${all}{${at - 1}}${part}`);
  return (texts[text] ?? text).replace(/\{(\d)\}/g, (_, at) => values[at]);
}

// A reason begins at the first place where it can.
const value = (english) => (english.includes("{reason}") ? "(?<$1>.+?)" : "(?<$1>.+)");
const patterns = Object.entries(phrases).map(([english, shown]) => [
  new RegExp(`^${english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, value(english))}$`, "s"),
  shown,
]);

/** A text of the gateway about an approval request, which it sends in English; unknown ones stay as they are. */
export function phrase(text) {
  if (text.length > 4000) return text; // the time that the patterns take may grow with its square
  for (const [pattern, shown] of patterns) {
    const found = text.match(pattern);
    const said = (_, name) => (name === "reason" ? reasons(found.groups[name]) : found.groups[name]);
    if (found) return shown.replace(/\{(\w+)\}/g, said);
  }
  return text;
}

const reasons = (text) => phrases[text] ?? text.split("; ").map(phrase).join("；");

/** Where an element stands in a text. */
export const MARK = "\u0001";

/** A translated text with elements in place of its marks. */
export function around(text, ...elements) {
  return text.split(MARK).flatMap((part, at) => (at ? [elements[at - 1], part] : [part]));
}

// The same as in gateway/markdown.py; a test compares them.
const HIDDEN_CHARACTERS = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]|\\udb40[\\udc00-\\udc7f]",
  "g",
);
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/** Make text safe to show: remove terminal sequences, and show hidden or reordering characters as codes. */
export function visible(text) {
  return String(text)
    .replace(TERMINAL, "")
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN_CHARACTERS, (found) => `⟨U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Return the text, or its start and how much more there is. */
export function clipped(text, limit) {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit)} … ${t`${number(text.length - limit)} more characters`}`;
}

export const number = (value) => Math.round(value).toLocaleString(language);

/** 340 ms, 1.2 s, 2:05. */
export function duration(ms) {
  if (ms < 1000) return t`${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return t`${(ms / 1000).toFixed(1)} s`;
  return clock(ms);
}

/** 0:07, 12:30, 1:02:03. */
export function clock(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60];
  if (seconds >= 3600) parts.unshift(Math.floor(seconds / 3600));
  return parts.map((part, place) => (place ? String(part).padStart(2, "0") : part)).join(":");
}

/** Today, Yesterday, This week, or the month. */
export function day(seconds, now = new Date()) {
  const then = new Date(seconds * 1000);
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (then >= midnight) return t`Today`;
  if (then >= midnight - 86_400_000) return t`Yesterday`;
  if (then >= midnight - 6 * 86_400_000) return t`This week`;
  return then.toLocaleDateString(language, { month: "long", year: "numeric" });
}

export function time(seconds) {
  const then = new Date(seconds * 1000);
  const place = language === "en" ? [] : language;
  const today = then.toDateString() === new Date().toDateString();
  return today
    ? then.toLocaleTimeString(place, { hour: "2-digit", minute: "2-digit" })
    : then.toLocaleDateString(place, { day: "numeric", month: "short" });
}

/** Summarise a call's arguments in one line. */
export function brief(args) {
  if (typeof args === "string") return clipped(visible(args).replace(/\s+/g, " "), 200);
  if (Array.isArray(args.items)) return t`${args.items.length} items`;
  const main = args.command ?? args.path ?? args.pattern ?? args.query ?? args.url ?? args.description ?? args.content;
  const pair = ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  const shown = typeof main === "string" ? main : Object.entries(args).map(pair).join(" ");
  return clipped(visible(shown).replace(/\s+/g, " ").trim(), 200);
}

/** Write a value as people write lists: `name: value`, one per line, deeper ones indented. */
export function outline(value, indent = "") {
  if (value === null || typeof value !== "object") {
    const text = value === null ? t`none` : value === true ? t`yes` : value === false ? t`no` : visible(value);
    return text.replaceAll("\n", `\n${indent}`);
  }
  const list = Array.isArray(value);
  const entries = Object.entries(value).map(([key, one]) => {
    const deep = one !== null && typeof one === "object" && Object.keys(one).length;
    const head = list ? "-" : `${visible(key)}:`;
    const inner = outline(one, `${indent}  `);
    return deep && !list ? `${indent}${head}\n${inner}` : `${indent}${head} ${list ? inner.trimStart() : inner}`;
  });
  return entries.join("\n") || t`none`;
}

/** The last lines of a text. */
export function tail(text, count) {
  const lines = text.replace(/\n$/, "").split("\n");
  return { shown: lines.slice(-count).join("\n"), left: Math.max(0, lines.length - count) };
}

/** How many lines are left out above. */
export function earlier(lines) {
  return lines === 1 ? t`1 earlier line` : t`${number(lines)} earlier lines`;
}
